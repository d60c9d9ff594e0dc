"""Weights of tinygen's own graphs."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.weight_models import convolution, matmul
from tinygen.compress import CompressionError, CompressionGranularity, CompressionWarning, DType, quantize_weights
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ops.batch import infer


def _graph(model: onnx.ModelProto, folder: Path) -> Graph:
    onnx.save(model, folder / "layers.onnx")
    return import_model(folder / "layers.onnx")


@pytest.mark.parametrize("dtype", [DType.INT4, DType.FP4_E2M1FN], ids=lambda dtype: dtype.value)
def test_s3_16_a_graph_becomes_a_graph(dtype: DType, tmp_path: Path) -> None:
    graph = _graph(convolution(64, 16), tmp_path)
    found = quantize_weights(graph, dtype, granularity=CompressionGranularity.PER_BLOCK)
    assert isinstance(found, Graph)
    (op,) = (op for op in found.ops if op.filters is not None)
    assert op.filters is not None and op.filters.weights.coding is not None
    coding = op.filters.weights.coding
    assert coding.scales.shape == (16, 1, 1, 2)  # filters are OHWI
    np.testing.assert_array_equal(op.filters.weights.data, coding.decoded)
    image = [np.random.default_rng(0).normal(size=(1, 64, 6, 5)).astype(np.float32)]
    expected, actual = (infer(each, image)[0].astype(np.float64) for each in (graph, found))
    assert 0 < np.linalg.norm(actual - expected) < 0.2 * np.linalg.norm(expected)


def test_s3_03_blocks_that_do_not_divide_leave_the_graph_as_it_is(tmp_path: Path) -> None:
    graph = _graph(matmul(64, 48), tmp_path)
    with pytest.warns(CompressionWarning, match="Invalid block_sizes"):
        found = quantize_weights(graph, DType.INT4, granularity=CompressionGranularity.PER_BLOCK, block_size=48)
    assert found is graph


def test_s3_15_a_graph_is_not_changed_in_place(tmp_path: Path) -> None:
    with pytest.raises(CompressionError, match=r"^TG-W302 in_place is for ONNX models"):
        quantize_weights(_graph(matmul(64, 48), tmp_path), DType.INT8, in_place=True)
