"""CMSIS-NN's LSTM and SVDF, which are taken where bounds prove them equal to TFLite Micro's reference kernels."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from tests.support.measured_operators import imported
from tests.support.recurrent_models import Layer, lstm_model, svdf_model
from tests.support.shared import shared_file
from tests.support.stateful import assert_calls, compiled_model
from tests.support.tflm import needs_tflm, tflm_calls
from tests.support.tools import requires_cmsis, requires_host_cc, requires_qemu
from tinygen.build.toolchain import Sanitizer
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.types import Array, Quant
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.cmsis_nn import lstm, svdf
from tinygen.kernels.select import variants
from tinygen.ops.lstm import Lstm
from tinygen.ops.svdf import Svdf
from tinygen.options import Kernels
from tinygen.targets.isa import Isa

_EDGE = 8 / 127 * 32767 / 32768  # as scale of the weights of one unit: products with the state reach 32767 in Q3.12
_OPENING = (-127, -127, 127, -127)  # states below 0 open gates and make cells smaller: they get as small as they can
_BOARDS = ("mps2-an386", "mps3-an547")
_LAYERS = (
    Layer(units=7, inputs=21, steps=4, weight_scale=0.01),
    Layer(units=4, inputs=16, steps=5, batches=2, weight_scale=_EDGE / 4, recurrent=_OPENING),
    Layer(units=9, inputs=5, batches=2, is_time_major=True, weight_scale=_EDGE / 9, recurrent=_OPENING),
    Layer(units=6, inputs=19, batches=2, is_wide=True, weight_scale=_EDGE / 6, recurrent=_OPENING),
    Layer(units=13, inputs=530, is_wide=True, is_time_major=True, weight_scale=0.001),
)


def _places(all: Sequence[object], some: Sequence[object]) -> list[ParameterSet]:
    """All on the host, some on boards, where each takes longer."""
    return [
        *(pytest.param("host", each, marks=requires_host_cc) for each in all),
        *(pytest.param(board, each, marks=[pytest.mark.qemu, requires_qemu]) for board in _BOARDS for each in some),
    ]


def _lstm(layer: Layer | None, seed: int = 1, bias: int | None = None) -> Lstm:
    [op] = imported(lstm_model(seed, layer=layer, bias=bias)[0])
    assert isinstance(op, Lstm)
    return op


def _svdf(seed: int) -> Svdf:
    [op] = imported(svdf_model(seed)[0])
    assert isinstance(op, Svdf)
    return op


@pytest.mark.parametrize(("units", "is_wide", "more"), [(1, False, 2e-5), (5, False, 2e-5), (3, True, 1e-4)])
def test_item_17_lstm_is_exact_up_to_the_edge(units: int, is_wide: bool, more: float) -> None:
    """With weights that are a little larger, products with the state leave 16 bits."""
    layer = Layer(units=units, is_wide=is_wide, weight_scale=_EDGE / units, recurrent=_OPENING)
    assert lstm.is_exact(_lstm(layer))
    assert not lstm.is_exact(_lstm(replace(layer, weight_scale=layer.weight_scale * (1 + more))))


def test_item_17_other_bounds_of_lstm() -> None:
    """Biases beyond 32 bits, of which CMSIS-NN with MVE drops the rest; orders that it has not; the first states."""
    layer = Layer(is_wide=True, weight_scale=0.001)
    op = _lstm(layer, bias=1 << 30)
    assert lstm.is_exact(op)
    assert not lstm.is_exact(_lstm(layer, bias=1 << 31))
    assert not lstm.is_exact(replace(op, is_reversed=True))
    assert not lstm.is_exact(replace(op, lengths=op.hidden))
    halved = replace(op.hidden, type=replace(op.hidden.type, quant=Quant((1 / 8192,), (0,))))
    limited = replace(_lstm(replace(layer, weight_scale=0.003, units=32)), hidden=halved)
    assert lstm.is_exact(limited), "steps give no state beyond 1, whatever else the type holds"
    assert not lstm.is_exact(replace(limited, is_kept=False)), "the first state may be any"


def test_item_17_svdf_without_zero_points_and_overflow() -> None:
    found = {seed: svdf.is_exact(_svdf(seed)) for seed in range(12)}
    assert set(found.values()) == {True, False}
    for seed, is_exact in found.items():
        assert not is_exact or _svdf(seed).state.type.zero_point == 0
    wide = next(op for op in map(_svdf, found) if svdf.is_exact(op))
    assert wide.bias is not None and wide.bias.data is not None
    largest = np.full(wide.bias.shape, (1 << 31) - 1, np.int32)
    assert not svdf.is_exact(replace(wide, bias=replace(wide.bias, data=largest)))


def _exact_layers(folder: str) -> tuple[list[bool], list[bool]]:
    """Of all LSTM and SVDF on integers of a folder's TFLite models that have them, whether they are exact."""
    files = [*shared_file(folder).glob("lstm_*.tflite"), *shared_file(folder).glob("svdf_*.tflite")]
    files += [*shared_file(folder).glob("*_lstm_*.tflite"), *shared_file(folder).glob("*_keyword_*.tflite")]
    ops = [op for file in files for op in import_tflite(file).ops]
    layers = [op for op in ops if isinstance(op, Lstm)], [op for op in ops if isinstance(op, Svdf)]
    return [lstm.is_exact(op) for op in layers[0]], [svdf.is_exact(op) for op in layers[1]]


def test_item_17_how_often() -> None:
    """docs/recurrent.md has these numbers."""
    assert sum(lstm.is_exact(_lstm(None, seed)) for seed in range(40)) == 26
    assert sum(svdf.is_exact(_svdf(seed)) for seed in range(40)) == 19
    assert [sum(found) for found in _exact_layers("golden/stateful")] == [7, 2]
    assert _exact_layers("models/open") == ([False], [False] * 14)


@pytest.mark.parametrize(
    ("is_wide", "units", "isa", "expected"),
    [
        (False, 16, Isa.DSP, ["tg_lstm_s8"]),
        (False, 16, Isa.MVE, ["tg_lstm_s8"]),
        (False, 128, Isa.MVE, ["arm_lstm_unidirectional_s8", "tg_lstm_s8"]),
        (True, 16, Isa.DSP, ["arm_lstm_unidirectional_s16", "tg_lstm_s16"]),
        (True, 128, Isa.DSP, ["tg_lstm_s16"]),
        (True, 128, Isa.MVE, ["arm_lstm_unidirectional_s16", "tg_lstm_s16"]),
    ],
)
def test_item_17_choice_of_library_or_own(is_wide: bool, units: int, isa: Isa, expected: list[str]) -> None:
    """CMSIS-NN's alone where it is asked for; else the cheaper one, tinygen's behind it for those without scratch."""
    op = _lstm(Layer(units=units, inputs=units, is_wide=is_wide, weight_scale=0.05 / units))
    size, library = 16 if is_wide else 8, Toolbox(Library.CMSIS_NN, isa)
    mixed = replace(library, has_native_kernels=True, chooses_by_cost=True)
    assert [kernel.function for kernel in variants(op, library)] == [f"arm_lstm_unidirectional_s{size}"]
    portable = variants(op, replace(mixed, library=Library.PORTABLE))
    assert [kernel.function for kernel in portable] == [f"tg_lstm_s{size}"]
    assert [kernel.function for kernel in variants(op, mixed)] == expected


@requires_cmsis
@needs_tflm
@pytest.mark.parametrize(("target", "layer"), _places(_LAYERS, _LAYERS[1::2] + _LAYERS[-1:]), ids=str)
def test_item_17_library_lstm(target: str, layer: Layer, tmp_path: Path) -> None:
    """At the edge of the proof and within, against TFLM's own interpreter."""
    model, calls = _model_and_calls(layer)
    _assert_runs(tmp_path, model, target, calls, f"arm_lstm_unidirectional_s{16 if layer.is_wide else 8}")


@requires_cmsis
@needs_tflm
@requires_host_cc
def test_item_17_library_lstm_beyond_the_edge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Products with the state that leave 16 bits are not what TFLM makes of them: the proof is needed."""
    monkeypatch.setattr(lstm, "is_exact", lambda _: True)
    model, calls = _model_and_calls(replace(_LAYERS[1], weight_scale=2 * _LAYERS[1].weight_scale))
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        _assert_runs(tmp_path, model, "host", calls, "arm_lstm_unidirectional_s8")


@requires_cmsis
@needs_tflm
@pytest.mark.parametrize(("target", "seed"), _places((0, 1, 4, 6, 7, 12), (4, 12)))
def test_item_17_library_svdf(target: str, seed: int, tmp_path: Path) -> None:
    model, shape = svdf_model(seed, state_zero_point=0)
    calls = np.random.default_rng(seed).integers(-128, 128, (25, *shape)).astype(np.int8)
    is_wide = _svdf(seed).state.type.dtype.bytes == 2
    _assert_runs(tmp_path, model, target, calls, "arm_svdf_state_s16_s8" if is_wide else "arm_svdf_s8")


def _model_and_calls(layer: Layer) -> tuple[bytes, Array]:
    """The layer as a model, and calls of random inputs and of the smallest and largest ones."""
    model, shape, kind = lstm_model(2, layer=layer, cell_scale=2.0**-12)
    limits = np.iinfo(kind)
    calls = np.random.default_rng(3).integers(limits.min, limits.max + 1, (12, *shape)).astype(kind)
    calls[::3] = np.where(calls[::3] < 0, limits.min, limits.max)
    return model, calls


def _assert_runs(folder: Path, model: bytes, target: str, calls: Array, function: str) -> None:
    compiled = compiled_model(folder, model, target, Kernels.CMSIS_NN)
    assert [call.kernel.function for call in compiled.schedule.calls] == [function]
    expected = [[y] for y in tflm_calls(model, calls)]
    assert_calls(compiled, [[x] for x in calls], expected, folder, (Sanitizer.ADDRESS,))  # CMSIS-NN shifts below 0
