"""Operators with the chosen kernels beside those of a reference."""

from dataclasses import replace

from tinygen.report.bench import Bench, OperatorBench
from tinygen.report.gain import operator_gains

_CONV = OperatorBench("conv", "CONV_2D", "tg_native_convolve_s8", 400, 500, 0.08, 100, {})
_POOL = OperatorBench("pool", "AVERAGE_POOL_2D", "arm_avgpool_s8", 50, 60, 0.3, 0, {})
_BENCH = Bench(450, 560, 0.08, 0, 0, 0, 0, 0, 0, 0, 0, 0, None, None, (_CONV, _POOL), ())


def test_gain_of_each_operator() -> None:
    slower = replace(_CONV, kernel="arm_convolve_s8", instructions=1000, cycles_model=1200, cycles_band=0.3)
    gains = operator_gains(_BENCH, replace(_BENCH, per_op=(slower, _POOL)))
    assert [(gain.name, gain.kernel, gain.reference_kernel, gain.gain) for gain in gains] == [
        ("conv", "tg_native_convolve_s8", "arm_convolve_s8", 2.5),
        ("pool", "arm_avgpool_s8", "arm_avgpool_s8", 1.0),
    ]
    assert (gains[0].cycles_model, gains[0].cycles_band) == (500, 0.08)
    assert (gains[0].reference_cycles_model, gains[0].reference_cycles_band) == (1200, 0.3)


def test_nothing_was_counted() -> None:
    """As on the host: kernels are shown, gains are not."""
    uncounted = replace(_CONV, instructions=None)
    (gain,) = operator_gains(replace(_BENCH, per_op=(uncounted,)), _BENCH)
    assert (gain.instructions, gain.reference_instructions, gain.gain) == (None, 400, None)
    assert operator_gains(replace(_BENCH, per_op=()), _BENCH) == ()
