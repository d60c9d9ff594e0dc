"""Operators that copy stored integers, whatever scales stand beside them: as LiteRT and TFLite Micro do."""

from typing import Any

import numpy as np
import pytest

from tests.support import reference
from tests.support.litert import needs_litert, run_reference
from tests.support.recurrent_models import lstm_model
from tests.support.tflite_writer import ModelWriter
from tests.support.tflm import needs_tflm, tflm_calls
from tinygen.errors import UnsupportedModelError
from tinygen.verify.reference import evaluate_calls

_SHAPE = (1, 4, 4, 4)
_BEFORE, _BEHIND = (0.02, 3), (0.05, -7)

# the result's shape, constants, where the input stands among them, how many results, options
_MOVES: dict[str, tuple[tuple[int, ...], list[Any], int, int, dict[str, Any]]] = {
    "BROADCAST_TO": ((2, 4, 4, 4), [[2, 4, 4, 4]], 0, 1, {}),
    "DEPTH_TO_SPACE": ((1, 8, 8, 1), [], 0, 1, {"block_size": 2}),
    "GATHER": ((1, 2, 4, 4), [[3, 0]], 0, 1, {"axis": 1}),
    "GATHER_ND": ((2, 4, 4), [[[0, 3], [0, 1]]], 0, 1, {}),
    "RESHAPE": ((1, 16, 4), [[1, 16, 4]], 0, 1, {}),
    "RESIZE_NEAREST_NEIGHBOR": ((1, 8, 8, 4), [[8, 8]], 0, 1, {}),
    "REVERSE_V2": (_SHAPE, [[1]], 0, 1, {}),
    "SLICE": ((1, 2, 4, 4), [[0, 1, 0, 0], [1, 2, 4, 4]], 0, 1, {}),
    "SPACE_TO_DEPTH": ((1, 2, 2, 16), [], 0, 1, {"block_size": 2}),
    "SPLIT": ((1, 2, 4, 4), [1], 1, 2, {"num_splits": 2}),
    "SPLIT_V": ((1, 2, 4, 4), [[2, 2], 1], 0, 2, {"num_splits": 2}),
    "SQUEEZE": ((4, 4, 4), [], 0, 1, {"squeeze_dims": [0]}),
    "STRIDED_SLICE": ((1, 2, 4, 4), [[0, 0, 0, 0], [1, 4, 4, 4], [1, 2, 1, 1]], 0, 1, {}),
    "TILE": ((1, 8, 4, 4), [[1, 2, 1, 1]], 0, 1, {}),
    "TRANSPOSE": (_SHAPE, [[0, 2, 1, 3]], 0, 1, {}),
}


def _model(operator: str) -> bytes:
    shape, constants, position, count, options = _MOVES[operator]
    writer = ModelWriter()
    x = writer.tensor("x", _SHAPE, scale=_BEFORE[0], zero_point=_BEFORE[1])
    operands = [writer.tensor(f"c{n}", np.shape(c), "int32", data=np.array(c)) for n, c in enumerate(constants)]
    operands.insert(position, x)
    results = [writer.tensor(f"y{n}", shape, scale=_BEHIND[0], zero_point=_BEHIND[1]) for n in range(count)]
    writer.operator(operator, operands, results, **options)
    return writer.finish([x], results)


@needs_litert
@pytest.mark.parametrize("operator", _MOVES)
def test_16_moves_between_scales_copy_integers(operator: str) -> None:
    model, x = _model(operator), np.arange(-32, 32, dtype=np.int8).reshape(_SHAPE)
    graph = reference.import_model(model)
    assert {port.tensor.type.scale for port in graph.outputs} == {np.float32(_BEHIND[0])}
    expected = run_reference(model, [x], optimized=operator == "TILE").outputs  # of which the references have none
    for found, wanted in zip(reference.evaluate(graph, [x]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@needs_tflm
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_16_an_lstm_whose_result_has_another_scale_than_its_state(seed: int) -> None:
    """As TensorFlow's converter leaves both directions of a bidirectional layer."""
    alike, shape, kind = lstm_model(seed)
    model, _, _ = lstm_model(seed, result=(0.0123, 0 if kind == "int16" else 11))
    calls = np.random.default_rng(seed).integers(-128, 128, (3, *shape)).astype(kind)
    calls = calls * np.array(200, kind) if kind == "int16" else calls
    wanted = tflm_calls(model, calls)
    np.testing.assert_array_equal(wanted, tflm_calls(alike, calls))
    runs = evaluate_calls(graph := reference.import_model(model), [[x] for x in calls])
    found = np.stack([arrays[graph.output_tensors[0]] for arrays in runs])
    np.testing.assert_array_equal(found, wanted)


def test_what_computes_with_scales_does_not_copy() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", _SHAPE, scale=_BEFORE[0])
    y = writer.tensor("y", (1, 2, 2, 4), scale=_BEHIND[0])
    writer.operator("MAX_POOL_2D", [x], [y], filter_width=2, filter_height=2, stride_w=2, stride_h=2, padding=1)
    with pytest.raises(UnsupportedModelError, match="'x' and 'y' must have the same quantization"):
        reference.import_model(writer.finish([x], [y]))
