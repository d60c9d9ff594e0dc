"""Policies against brute force that is written here, from their definitions, and against onnxruntime's collector."""

import numpy as np
import numpy.typing as npt
import pytest

from tinygen.errors import UsageError
from tinygen.ir.types import DType
from tinygen.ops.quantize import stored
from tinygen.quant.entropy import kld_bin, kld_ort_bin, kld_sophon_bin
from tinygen.quant.histogram import Floats
from tinygen.quant.policy import Policy, choose
from tinygen.quant.scheme import Scheme, affine
from tinygen.quant.statistics import Statistics

Reals = npt.NDArray[np.float64]


def _tensor(kind: str) -> Floats:
    generator = np.random.default_rng(7)
    values = {
        "laplace": generator.laplace(0, 1, 20000),
        "outliers": np.append(generator.normal(0, 1, 20000), [40.0, -55.0]),
        "relu": np.maximum(generator.normal(0.5, 1, 20000), 0),
        "sparse": np.where(generator.random(20000) < 0.98, 0, generator.normal(0, 3, 20000)),
        "constant": np.full(50, 0.75),
        "negative": -np.abs(generator.normal(0, 2, 5000)),
    }[kind]
    return values.astype(np.float32)


KINDS = ["laplace", "outliers", "relu", "sparse", "constant", "negative"]


def _statistics(values: Floats) -> Statistics:
    statistics = Statistics()
    for part in np.array_split(values, 3):
        statistics.add(part)
    return statistics


def _threshold(policy: str, values: Floats) -> float:
    return choose(Policy.parse(policy), _statistics(values), DType.INT8, Scheme.SYMMETRIC).threshold


def _histogram(values: Floats) -> tuple[list[int], float]:
    """2048 bins below the power of two above the largest magnitude."""
    largest, end = float(np.abs(values).max()), 1.0
    while end <= largest:
        end *= 2
    while end / 2 > largest:
        end /= 2
    counts, _ = np.histogram(np.abs(values.astype(np.float64)), 2048, range=(0, end))
    return [int(count) for count in counts], end / 2048


@pytest.mark.parametrize("kind", KINDS)
def test_s0_08_max_is_the_largest_magnitude(kind: str) -> None:
    assert _threshold("max", _tensor(kind)) == float(np.abs(_tensor(kind)).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [1, 2])
def test_s0_10_s0_11_l1_and_l2_take_the_best_of_2048_candidates(kind: str, power: int) -> None:
    values = _tensor(kind)
    counts, width = _histogram(values)
    occupied = [(count, (bin + 0.5) * width) for bin, count in enumerate(counts) if count]
    best, least = 0.0, float("inf")
    for i in range(1, 2049):
        threshold = i * float(np.abs(values).max()) / 2048
        scale = threshold / 127
        levels = np.minimum(np.rint(np.array([centre for _, centre in occupied]) / scale), 127)
        differences = np.abs(levels * scale - [centre for _, centre in occupied])
        error = float(differences**power @ np.array([float(count) for count, _ in occupied]))
        if error < least:
            best, least = threshold, error
    assert _threshold(f"l{power}", values) == best


def _brute_kld(counts: list[int], i: int) -> float:
    reference = [float(count) for count in counts[:i]]
    reference[-1] += sum(counts[i:])
    per_level = i // 128
    candidate = [0.0] * i
    for level in range(128):
        bins = range(level * per_level, i if level == 127 else (level + 1) * per_level)
        occupied = [bin for bin in bins if reference[bin]]
        for bin in occupied:
            candidate[bin] = sum(counts[b] for b in bins) / len(occupied)
    if not any(candidate):
        return float("inf")
    p, q = _smoothed(reference), _smoothed(candidate)
    return float(np.sum(p * np.log(p / q)))


def _smoothed(counts: list[float]) -> Reals:
    empty = sum(count == 0 for count in counts)
    taken = 1e-4 * empty / (len(counts) - empty)
    smooth = np.array([1e-4 if count == 0 else count - taken for count in counts])
    return np.asarray(smooth / smooth.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_kld_is_the_brute_force(kind: str) -> None:
    counts, width = _histogram(_tensor(kind))
    used = max(bin for bin, count in enumerate(counts) if count) + 1
    divergences = {i: _brute_kld(counts, i) for i in range(128, used + 1)}
    found = kld_bin(np.array(counts), 8)
    assert divergences[found] == pytest.approx(min(divergences.values()), rel=1e-9, abs=1e-12)
    if kind in ("laplace", "outliers", "relu"):  # without ties
        assert found == min(divergences, key=divergences.__getitem__)
    assert _threshold("kld", _tensor(kind)) == min(found * width, float(np.abs(_tensor(kind)).max()))
    sophon = [i for i in divergences if i % 128 == 0]
    assert kld_sophon_bin(np.array(counts), 8) == min(sophon, key=divergences.__getitem__) + 0.5


@pytest.mark.parametrize("kind", ["laplace", "outliers", "relu", "sparse"])
def test_s0_09_kld_ort_is_within_a_bin_of_onnxruntime(kind: str) -> None:
    reason = "onnxruntime missing: kld:ort is not compared with its collector"
    calibrate = pytest.importorskip("onnxruntime.quantization.calibrate", reason=reason)
    values = _tensor(kind)
    statistics = _statistics(values)
    signed, width = statistics.histogram.signed[1024:-1024], statistics.histogram.width
    if kind == "outliers":
        signed = statistics.histogram.signed.reshape(-1, 2).sum(axis=1)
        width *= 2
    edges = (np.arange(signed.size + 1) - signed.size // 2) * width
    collector = calibrate.HistogramCollector("entropy", False, signed.size, 128, 99.99, "same")
    low, high = collector.get_entropy_threshold((signed, edges, np.float64(-1e9), np.float64(1e9)), 128)
    found = kld_ort_bin(signed, 128)
    assert abs(found * width - high) <= width * 1.001
    assert abs(-found * width - low) <= width * 1.001


@pytest.mark.parametrize("policy", ["max", "kld", "kld:ort", "l1", "l2", "percentile:99.9", "mse"])
@pytest.mark.parametrize("scheme", list(Scheme))
def test_ranges_lie_within_the_values_and_all_zero_is_a_range_of_1(policy: str, scheme: Scheme) -> None:
    for kind in KINDS:
        values = _tensor(kind)
        chosen = choose(Policy.parse(policy), _statistics(values), DType.INT8, scheme)
        assert min(float(values.min()), 0.0) <= chosen.range.low <= 0 <= chosen.range.high <= max(values.max(), 0.0)
        assert 0 < chosen.threshold <= np.abs(values).max()
    zeros = choose(Policy.parse(policy), _statistics(np.zeros(30, np.float32)), DType.INT8, scheme)
    quant = affine(zeros.range, DType.INT8, scheme)
    steps = {Scheme.ASYMMETRIC: 255, Scheme.POW2: 128}.get(scheme, 127)
    assert quant.scale == np.float32(1 / steps)


def _squared_error(values: Floats, policy: str) -> float:
    chosen = choose(Policy.parse(policy), _statistics(values), DType.INT8, Scheme.ASYMMETRIC)
    quant = affine(chosen.range, DType.INT8, Scheme.ASYMMETRIC)
    centered = stored(values, quant, DType.INT8).astype(np.float64) - quant.zero_point
    return float(((centered * quant.scale - values) ** 2).mean())


@pytest.mark.parametrize("kind", ["laplace", "outliers", "relu", "negative"])
def test_searches_lose_less_than_the_whole_range(kind: str) -> None:
    whole = _squared_error(_tensor(kind), "max")
    assert _squared_error(_tensor(kind), "l2") <= whole * 1.001
    assert _squared_error(_tensor(kind), "mse") <= whole * 1.001
    if kind == "outliers":
        assert _squared_error(_tensor(kind), "l2") < whole


def test_percentile_is_that_of_numpy_within_a_bin() -> None:
    values = _tensor("laplace")
    width = _statistics(values).histogram.width
    expected = np.percentile(np.abs(values), 99.5)
    assert _threshold("percentile:99.5", values) == pytest.approx(expected, abs=2 * width)


def test_unknown_policies_are_refused() -> None:
    known = "max, kld, kld:ort, kld:sophon, l1, l2, percentile, mse"
    with pytest.raises(UsageError, match=f"--policy: is 'entropy', one of {known} was expected. Choose one of them."):
        Policy.parse("entropy")
    with pytest.raises(UsageError, match="its parameter is '120', a number above 0, at most 100, was expected"):
        Policy.parse("percentile:120")
