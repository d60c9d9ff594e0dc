"""Constants in float16, without zeros, or as integers behind DEQUANTIZE: the numbers that LiteRT computes with."""

from collections.abc import Callable, Sequence
from itertools import product

import flatbuffers
import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedModelError
from tinygen.ir.types import Array

schema = pytest.importorskip(
    "ai_edge_litert.schema_py_generated", reason="ai-edge-litert is not installed: no sparse file was written"
)

SHAPE = (6, 8)
SPARSE = 1
VECTORS = {"i4": (1, "Int32VectorT"), "u2": (2, "Uint16VectorT"), "u1": (3, "Uint8VectorT")}


def _layer(stored: Array, operators: Sequence[str], **quantization: float) -> bytes:
    """A fully connected layer whose float32 weights come from `stored` through operators."""
    writer = ModelWriter()
    x = writer.tensor("x", (2, SHAPE[1]), "float32")
    weights = writer.tensor("stored", SHAPE, str(stored.dtype), data=stored, **quantization)  # type: ignore[arg-type]
    for number, name in enumerate(operators):
        dtype = "float32" if name == "DEQUANTIZE" else str(stored.dtype)
        result = writer.tensor(f"w{number}", SHAPE, dtype)
        writer.operator(name, [weights], [result])
        weights = result
    y = writer.tensor("y", (2, SHAPE[0]), "float32")
    writer.operator("FULLY_CONNECTED", [x, weights], [y])
    return writer.finish([x], [y])


def _assert_same(model: bytes) -> None:
    x = np.random.default_rng(0).normal(size=(2, SHAPE[1])).astype(np.float32)
    graph = import_model(model)
    assert len(graph.ops) == 1
    computed, expected = evaluate(graph, [x])[0], run_reference(model, [x]).outputs[0]
    assert np.allclose(computed.astype(np.float64), expected.astype(np.float64), rtol=1e-5, atol=1e-6)


def _numbers(dtype: str) -> Array:
    numbers: Array = np.random.default_rng(1).normal(size=SHAPE).astype(dtype)
    return numbers


@needs_litert
def test_float16_is_float32() -> None:
    _assert_same(_layer(_numbers("float16"), ["DEQUANTIZE"]))


@needs_litert
def test_integers_are_the_numbers_that_they_stand_for() -> None:
    stored = np.random.default_rng(1).integers(-128, 128, SHAPE).astype(np.int8)
    _assert_same(_layer(stored, ["DEQUANTIZE"], scale=0.01, zero_point=3))


def _sparse(model: bytes, dense: Array, order: Sequence[int], block: Sequence[int], index: str) -> bytes:
    """The model with its constant stored without zeros: `order` of the axes, rows dense, what follows sparse."""
    parts = [dense.shape[axis] // size for axis, size in enumerate(block)]
    blocks = dense.reshape(parts[0], block[0], parts[1], block[1]).transpose(*(2 * axis for axis in order), 1, 3)
    kept = [[entry for entry in range(blocks.shape[1]) if blocks[row, entry].any()] for row in range(len(blocks))]
    values = [blocks[row, entry] for row, entries in enumerate(kept) for entry in entries]
    kind, name = VECTORS[index]

    def vector(numbers: Sequence[int]) -> object:
        found = getattr(schema, name)()
        found.values = np.array(numbers, index)
        return found

    def level(size: int) -> object:
        found = schema.DimensionMetadataT()
        found.format, found.denseSize = 0, size
        return found

    sparse = schema.DimensionMetadataT()
    sparse.format, sparse.arraySegmentsType, sparse.arrayIndicesType = SPARSE, kind, kind
    sparse.arraySegments = vector(np.cumsum([0, *map(len, kept)]).tolist())
    sparse.arrayIndices = vector([entry for entries in kept for entry in entries])
    parameters = schema.SparsityParametersT()
    has_blocks = max(block) > 1
    parameters.traversalOrder = [*order, *((2, 3) if has_blocks else ())]
    parameters.blockMap = [0, 1] if has_blocks else None
    parameters.dimMetadata = [level(len(blocks)), sparse, *(map(level, block) if has_blocks else ())]
    found = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(model, 0))
    (tensor,) = (t for t in found.subgraphs[0].tensors if t.name == b"stored")
    tensor.sparsity = parameters
    found.buffers[tensor.buffer].data = np.frombuffer(np.array(values, dense.dtype).tobytes(), np.uint8)
    builder = flatbuffers.Builder(1024)
    builder.Finish(found.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _with_zeros(dtype: str, block: Sequence[int]) -> Array:
    kept = np.random.default_rng(2).random([SHAPE[axis] // size for axis, size in enumerate(block)]) < 0.4
    return _numbers(dtype) * np.repeat(np.repeat(kept, block[0], 0), block[1], 1)


@needs_litert
@pytest.mark.parametrize("index", ["u1", "u2", "i4"])
@pytest.mark.parametrize(("order", "block"), [((0, 1), (1, 1)), ((1, 0), (1, 1)), ((0, 1), (2, 4)), ((1, 0), (3, 2))])
def test_sparse_constants(order: Sequence[int], block: Sequence[int], index: str) -> None:
    dense = _with_zeros("float32", block)
    _assert_same(_sparse(_layer(dense, ["DENSIFY"]), dense, order, block, index))


@needs_litert
def test_sparse_float16() -> None:
    dense = _with_zeros("float16", (1, 1))
    _assert_same(_sparse(_layer(dense, ["DENSIFY", "DEQUANTIZE"]), dense, (0, 1), (1, 1), "u1"))


def _damaged(change: Callable[[list[int], list[int]], None]) -> str:
    """What is said of a sparse constant whose segments and indices were changed."""
    dense = _with_zeros("float32", (1, 1))
    model = schema.ModelT.InitFromObj(
        schema.Model.GetRootAsModel(_sparse(_layer(dense, ["DENSIFY"]), dense, (0, 1), (1, 1), "u1"), 0)
    )
    (tensor,) = (t for t in model.subgraphs[0].tensors if t.name == b"stored")
    level = tensor.sparsity.dimMetadata[1]
    segments, indices = list(level.arraySegments.values), list(level.arrayIndices.values)
    change(segments, indices)
    level.arraySegments.values, level.arrayIndices.values = np.array(segments, "u1"), np.array(indices, "u1")
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    with pytest.raises(UnsupportedModelError) as error:
        import_model(bytes(builder.Output()))
    return str(error.value)


def _far(_: list[int], indices: list[int]) -> None:
    indices[0] = 200


def _short(segments: list[int], _: list[int]) -> None:
    segments.pop()


def _less(segments: list[int], indices: list[int]) -> None:
    indices.pop()
    segments[-1] -= 1


def test_damaged_sparse_constants() -> None:
    where = "model.tflite: is not a valid TFLite model: subgraphs[0].tensors[1].sparsity"
    assert _damaged(_far) == f"{where} has indices outside of [6, 8]. Convert or download it again."
    assert "has segments that do not divide its" in _damaged(_short)
    assert "elements, the buffer holds" in _damaged(_less)


@pytest.mark.parametrize(("rows", "columns"), list(product((0, 3), (0, 5))))
def test_a_densified_input_is_refused(rows: int, columns: int) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (rows + 1, columns + 1), "float32")
    y = writer.tensor("y", (rows + 1, columns + 1), "float32")
    writer.operator("DENSIFY", [x], [y])
    with pytest.raises(UnsupportedModelError, match="input 'x' is computed at run time, a constant was expected"):
        import_model(writer.finish([x], [y]))
