"""`palettize_weights`, `prune_weights` and both together, on ONNX models and graphs: what they make and refuse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support.weight_models import convolution, matmul
from tinygen.compress import (
    CodeRounding,
    CompressionError,
    CompressionWarning,
    DType,
    KeptOf,
    Pruning,
    palettize_weights,
    prune_weights,
    quantize_weights,
)
from tinygen.frontends import import_model
from tinygen.ir.coding import Coding
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array


def _weights(model: onnx.ModelProto, folder: Path) -> tuple[Array, Coding | None]:
    """Of the one layer: as the importer has them."""
    onnx.save(model, folder / "layers.onnx")
    graph = import_model(folder / "layers.onnx")
    (found,) = (op.filters.weights for op in graph.ops if op.filters is not None)
    assert found.data is not None
    return found.data, found.coding


def _given(model: onnx.ModelProto) -> Array:
    return numpy_helper.to_array(model.graph.initializer[0])


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6, 8])
def test_palettes_have_as_many_numbers(bits: int, tmp_path: Path) -> None:
    model = convolution(32, 16)
    found, coding = _weights(palettize_weights(model, bits), tmp_path)
    assert coding is not None and coding.bits == bits
    assert np.unique(found).size <= 1 << bits
    assert coding.bytes == 16 * 32 * 9 * bits // 8 + 4 * (1 << bits) + 4
    original = _given(model).transpose(0, 2, 3, 1).astype(np.float32)
    errors = np.abs(found.astype(np.float32) - original)
    others = np.abs(original[..., None] - np.unique(found)).min(axis=-1)
    np.testing.assert_allclose(errors, others, atol=1e-6)  # each the nearest


def test_groups_of_channels_have_tables_of_their_own(tmp_path: Path) -> None:
    for model, axis in ((convolution(32, 16), 0), (matmul(64, 48), 0)):
        found, coding = _weights(palettize_weights(model, 2, group_size=4), tmp_path)
        assert coding is not None and coding.levels is not None
        groups = np.moveaxis(found, axis, 0).reshape(found.shape[axis] // 4, -1)
        assert coding.levels.shape[axis] == len(groups)
        assert {np.unique(group).size for group in groups} == {4}


def test_scales_of_channels_keep_small_channels(tmp_path: Path) -> None:
    """Channels of very different sizes: with scales each keeps as many bits."""
    model = convolution(32, 16)
    weights = _given(model) * np.exp2(-np.arange(16, dtype=np.float32)).reshape(16, 1, 1, 1)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "weights"))
    plain, _ = _weights(palettize_weights(model, 4), tmp_path)
    scaled, coding = _weights(palettize_weights(model, 4, channel_scales=True), tmp_path)
    assert coding is not None
    squares = (weights.astype(np.float64) ** 2).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(np.asarray(coding.scales, np.float32).reshape(-1), np.sqrt(squares), rtol=1e-6)
    last = weights[-1].transpose(1, 2, 0)
    assert np.linalg.norm(scaled[-1] - last) < 0.2 * np.linalg.norm(last) < np.linalg.norm(plain[-1] - last)


def test_the_share_that_is_asked_for_becomes_0(tmp_path: Path) -> None:
    model = matmul(64, 48)
    for share in (0.25, 0.5, 0.9):
        found, coding = _weights(prune_weights(model, share), tmp_path)
        assert coding is not None and coding.mask is not None
        assert np.count_nonzero(found) == found.size - round(share * found.size)
        original = _given(model).T
        kept = found != 0
        np.testing.assert_array_equal(found[kept], original[kept])
        assert np.abs(original[kept]).min() >= np.abs(original[~kept]).max()


@pytest.mark.parametrize(("model", "input_axis"), [(convolution(32, 16), 3), (matmul(64, 48), 1)])
def test_n_of_m_stay_along_input_channels(model: onnx.ModelProto, input_axis: int, tmp_path: Path) -> None:
    found, coding = _weights(prune_weights(model, n_of_m=(2, 4)), tmp_path)
    assert coding is not None
    groups = np.moveaxis(found, input_axis, -1).reshape(-1, 4)
    assert set(np.count_nonzero(groups, axis=1).tolist()) == {2}


def test_both_together_store_codes_of_what_is_left(tmp_path: Path) -> None:
    model, size = convolution(32, 16), 16 * 32 * 9
    _, palette = _weights(palettize_weights(model, 3, pruning=Pruning(0.75)), tmp_path)
    _, integers = _weights(quantize_weights(model, DType.INT4, pruning=Pruning(0.75)), tmp_path)
    assert palette is not None and integers is not None
    assert palette.bytes == size // 8 + size // 4 * 3 // 8 + 4 * 8 + 4
    assert integers.bytes == size // 8 + size // 4 * 4 // 8 + 4 * 16


def test_files_are_as_narrow() -> None:
    size = 64 * 48
    for made, most in (
        (palettize_weights(matmul(64, 48), 4), size // 2),
        (palettize_weights(matmul(64, 48), 3), size * 3 // 8),
        (palettize_weights(matmul(64, 48), 2, pruning=Pruning(0.5)), size // 8 + size // 8),
    ):
        constants = [numpy_helper.to_array(tensor).nbytes for tensor in made.graph.initializer]
        assert sum(constants) < most + 300
        assert max(version.version for version in made.opset_import) == 19


def test_older_models_are_converted_no_further_than_needed() -> None:
    model = matmul(64, 48)
    model.opset_import[0].version = 11
    assert palettize_weights(model, 3, pruning=Pruning(0.5)).opset_import[0].version == 13


@pytest.mark.parametrize("make", [lambda m: palettize_weights(m, 4, 4, True), lambda m: prune_weights(m, 0.5)])
def test_float16_stays_float16(make: Callable[[onnx.ModelProto], onnx.ModelProto]) -> None:
    model = matmul(64, 48, dtype=np.float16)
    made = make(model)
    onnx.checker.check_model(made, full_check=True)
    value = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float16)
    real = ReferenceEvaluator(make(_as_float32(model))).run(None, {"input": value.astype(np.float32)})
    (found,), (expected,) = ReferenceEvaluator(made).run(None, {"input": value}), real
    assert np.asarray(found).dtype == np.float16
    assert np.linalg.norm(found - np.asarray(expected)) < 0.1 * np.linalg.norm(expected)


def _as_float32(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same weights in a model on float32."""
    found = matmul(64, 48)
    found.graph.initializer[0].CopyFrom(numpy_helper.from_array(_given(model).astype(np.float32), "weights"))
    return found


@pytest.mark.parametrize("channels", ["first", "last"])
def test_graphs_become_graphs(channels: str, tmp_path: Path) -> None:
    onnx.save(convolution(32, 16) if channels == "first" else matmul(64, 48), tmp_path / "layers.onnx")
    graph = import_model(tmp_path / "layers.onnx")
    for found in (
        palettize_weights(graph, 3, group_size=2, pruning=Pruning(n_of_m=KeptOf(2, 4))),
        prune_weights(graph, 0.5),
    ):
        assert isinstance(found, Graph)
        (weights,) = (op.filters.weights for op in found.ops if op.filters is not None)
        assert weights.coding is not None and weights.coding.mask is not None
        np.testing.assert_array_equal(weights.data, weights.coding.decoded)


def test_the_model_is_changed_in_place_where_that_is_asked_for() -> None:
    model = matmul(64, 48)
    assert palettize_weights(model) is not model
    assert model == matmul(64, 48)
    assert palettize_weights(model, in_place=True) is model
    assert model == palettize_weights(matmul(64, 48))


def test_the_same_seed_gives_the_same_file() -> None:
    assert palettize_weights(matmul(64, 48), 4) == palettize_weights(matmul(64, 48), 4)


_SKIPPED: list[tuple[Callable[[onnx.ModelProto], Any], str]] = [
    (lambda m: palettize_weights(m, 4, group_size=5), "groups of 5 do not divide its 48 output channels"),
    (lambda m: palettize_weights(m, 8, group_size=1), "it would take 52228 bytes, fewer than 12288 were expected"),
    (lambda m: prune_weights(m, n_of_m=(2, 5)), r"2:5 does not divide the 64 input channels of \[64, 48\]"),
    (lambda m: prune_weights(m, 0.01), "it would take 12552 bytes, fewer than 12288 were expected"),
]


@pytest.mark.parametrize(("make", "reason"), _SKIPPED, ids=[reason for _, reason in _SKIPPED])
def test_what_cannot_be_done_stays_with_a_warning(make: Callable[[onnx.ModelProto], Any], reason: str) -> None:
    with pytest.warns(CompressionWarning, match=f"^TG-W301 weights 'weights' stay as they are: {reason}"):
        assert make(matmul(64, 48)) == matmul(64, 48)


@pytest.mark.parametrize("make", [palettize_weights, lambda m: prune_weights(m, 0.5)])
def test_numbers_that_are_not_finite_stay(make: Callable[[onnx.ModelProto], Any]) -> None:
    model = matmul(64, 48)
    weights = _given(model).copy()
    weights[3, 4] = np.inf
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "weights"))
    with pytest.warns(CompressionWarning, match="it holds numbers that are not finite"):
        make(model)


_REFUSED: list[tuple[Callable[[onnx.ModelProto], Any], str]] = [
    (lambda m: palettize_weights(m, 5), "bits is 5, one of 1, 2, 3, 4, 6, 8 was expected"),
    (lambda m: palettize_weights(m, group_size=-1), "group_size is -1, a number from 0 on was expected"),
    (lambda m: palettize_weights(m, seed=-1), "seed is -1, a number from 0 on was expected"),
    (lambda m: palettize_weights(m, weight_num_threshold=-1), "weight_num_threshold is -1"),
    (lambda m: prune_weights(m), "sparsity or n_of_m was expected: it says how many weights become 0"),
    (lambda m: prune_weights(m, 1.0), "sparsity is 1.0, a share from 0 to below 1 was expected"),
    (lambda m: prune_weights(m, -0.1), "sparsity is -0.1, a share from 0 to below 1 was expected"),
    (lambda m: prune_weights(m, 0.5, (2, 4)), "sparsity and n_of_m say twice how many weights become 0"),
    (lambda m: prune_weights(m, n_of_m=(4, 4)), "n_of_m is 4:4, of up to 256 weights some but not all"),
    (lambda m: prune_weights(m, n_of_m=(0, 4)), "n_of_m is 0:4, of up to 256 weights some but not all"),
    (lambda m: prune_weights(m, 0.5, weight_num_threshold=-1), "weight_num_threshold is -1"),
    (
        lambda m: quantize_weights(m, DType.FP8_E4M3FN, pruning=Pruning(0.5)),
        "Sparse weights are integers or palettes, not",
    ),
    (
        lambda m: quantize_weights(m, DType.INT4, rounding=CodeRounding.GPTQ, calibrate="x.npz", pruning=Pruning(0.5)),
        "Sparse weights are rounded to nearest",
    ),
]


@pytest.mark.parametrize(("make", "message"), _REFUSED, ids=[message for _, message in _REFUSED])
def test_arguments_that_nothing_takes_are_refused(make: Callable[[onnx.ModelProto], Any], message: str) -> None:
    with pytest.raises(CompressionError, match=f"^TG-W302 {message}"):
        make(matmul(64, 48))


def test_constants_that_others_read_stay() -> None:
    made = palettize_weights(matmul(64, 48, added=True))
    assert [tensor.name for tensor in made.graph.initializer if not tensor.name.startswith("weights:")] == ["added"]


def test_any_spelling_of_a_table_is_a_palette(tmp_path: Path) -> None:
    """A Gather by uint4 of the file; and the spelling of others with a table for each unit."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 16, (48, 64)).astype(np.uint8)
    table, tables = rng.normal(size=16).astype(np.float32), rng.normal(size=(48, 16)).astype(np.float32)
    packed = helper.make_tensor("codes", TensorProto.UINT4, codes.shape, codes.reshape(-1).tolist())
    cast = helper.make_node("Cast", ["codes"], ["indices"], to=TensorProto.INT64)
    one = helper.make_node("Gather", ["table", "indices"], ["weights"])
    each = helper.make_node("GatherElements", ["table", "indices"], ["weights"], axis=1)
    for node, numbers, expected in (
        (one, table, table[codes]),
        (each, tables, np.take_along_axis(tables, codes.astype(np.int64), 1)),
    ):
        product = helper.make_node("Gemm", ["input", "weights"], ["product"], transB=1)
        graph = helper.make_graph(
            [cast, node, product],
            "table",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, [4, 64])],
            [helper.make_tensor_value_info("product", TensorProto.FLOAT, [4, 48])],
            [packed, numpy_helper.from_array(numbers, "table")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        found, coding = _weights(model, tmp_path)
        np.testing.assert_array_equal(found, expected)
        assert coding is not None and coding.bits == 4
