"""Sparse initializers of ONNX: read as onnxruntime does, kept without zeros, refused where they are damaged."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ops.batch import infer

_SHAPE = (64, 48)


def _model(values: np.ndarray, indices: np.ndarray, shape: tuple[int, ...] = _SHAPE) -> onnx.ModelProto:
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(values, "weights"), numpy_helper.from_array(indices, "indices"), list(shape)
    )
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["input", "weights"], ["product"])],
        "sparse",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info("product", TensorProto.FLOAT, [1, 48])],
        [],
        sparse_initializer=[sparse],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def _weights() -> tuple[np.ndarray, np.ndarray]:
    """Values, and their places in the flattened weights, ascending."""
    rng = np.random.default_rng(0)
    places = np.sort(rng.choice(64 * 48, 600, replace=False)).astype(np.int64)
    return rng.normal(size=600).astype(np.float32), places


@needs_onnxruntime
@pytest.mark.parametrize("is_linear", [True, False])
def test_they_are_read_and_stay_without_zeros(is_linear: bool, tmp_path: Path) -> None:
    values, places = _weights()
    file = tmp_path / "net.onnx"
    onnx.save(_model(values, places if is_linear else np.stack(np.unravel_index(places, _SHAPE), axis=1)), file)
    graph = import_model(file)
    (weights,) = (op.filters.weights for op in graph.ops if op.filters is not None)
    assert weights.coding is not None and weights.coding.mask is not None
    assert weights.coding.bytes == 64 * 48 // 8 + 4 * 600 + 4
    sample = np.random.default_rng(1).normal(size=(1, 64)).astype(np.float32)
    (expected,) = run_onnxruntime(file, [sample])
    found = np.asarray(infer(graph, [sample])[0], np.float32)
    np.testing.assert_allclose(found, np.asarray(expected, np.float32), rtol=1e-5, atol=1e-5)


_VALUES, _PLACES = _weights()
_DAMAGED = {
    "beyond": (_VALUES, _PLACES + 64 * 48 - 1, _SHAPE, r"its indices reach beyond its shape \[64, 48\]"),
    "negative": (_VALUES, _PLACES - 64 * 48, _SHAPE, "its indices reach beyond its shape"),
    "fewer": (_VALUES, _PLACES[:-1], _SHAPE, r"it has int64\[599\] indices for values \[600\]"),
    "int32": (_VALUES, _PLACES.astype(np.int32), _SHAPE, r"it has int32\[600\] indices for values \[600\]"),
    "three": (_VALUES, np.zeros((600, 3), np.int64), _SHAPE, r"an int64 or 2 for each of a list were expected"),
    "matrix": (_VALUES.reshape(20, 30), _PLACES.reshape(20, 30), _SHAPE, r"it has int64\[20, 30\] indices"),
    "many axes": (_VALUES, _PLACES, (1,) * 9, "it has 9 axes, at most 8 were expected"),
    "large": (_VALUES, _PLACES, (1 << 20, 1 << 20), r"its shape is \[1048576, 1048576\], sizes above 0 and at most"),
    "empty": (_VALUES, _PLACES, (0, 48), r"its shape is \[0, 48\], sizes above 0"),
}


@pytest.mark.parametrize("name", _DAMAGED)
def test_damaged_ones_have_clear_errors(name: str, tmp_path: Path) -> None:
    *parts, message = _DAMAGED[name]
    onnx.save(_model(*parts), tmp_path / "net.onnx")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedModelError, match=f"sparse constant 'weights': .*{message}"):
        import_model(tmp_path / "net.onnx")
