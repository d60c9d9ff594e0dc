"""Matrix products: what LiteRT rounds otherwise, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.double_rounding import multiplier_and_shift, requantized
from tests.support.operator_models import random_model
from tests.support.reference import evaluate, import_model
from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.matrix_products import Batches

SOURCE = Source("test", 0, "TEST")


def _tensor(*shape: int, zero_points: tuple[int, ...] = (3,)) -> Tensor:
    return Tensor("t", TensorType(DType.INT8, shape, Quant((0.5,) * len(zero_points), zero_points)))


def _product(first: Tensor, second: Tensor, output: Tensor) -> BatchMatMul:
    return BatchMatMul(
        name="op",
        source=SOURCE,
        first=first,
        second=second,
        output=output,
        transpose_first=False,
        transpose_second=False,
    )


def test_a_fully_connected_layer_is_rounded_twice() -> None:
    for seed in range(60):
        model = random_model("FULLY_CONNECTED", seed)
        graph = import_model(model.finish())
        (op,) = graph.ops
        assert isinstance(op, FullyConnected)
        assert evaluate(graph, model.values)[0].reshape(-1).tolist() == _expected(op, model.values[0]), f"seed {seed}"


def _expected(op: FullyConnected, stored: "np.typing.NDArray[np.generic]") -> list[int]:
    """Row by row in Python integers."""
    assert op.weights.data is not None and op.weights.type.quant is not None
    units, features = op.weights.shape
    scales = np.broadcast_to(op.weights.type.quant.scales, units).tolist()
    bias = [0] * units if op.bias is None or op.bias.data is None else op.bias.data.tolist()
    results = []
    for row in stored.astype(int).reshape(-1, features).tolist():
        for unit, weights in enumerate(op.weights.data.astype(int).tolist()):
            total = bias[unit] + sum((x - op.input.type.zero_point) * w for x, w in zip(row, weights, strict=True))
            factor = op.input.type.scale * scales[unit] / op.output.type.scale
            value = requantized(total, *multiplier_and_shift(factor), op.output.type.zero_point)
            results.append(max(int(op.clamp.min), min(int(op.clamp.max), value)))
    return results


def test_batch_axes_are_merged_where_the_same_operands_advance() -> None:
    assert _product(_tensor(2, 3, 4, 5), _tensor(2, 3, 5, 6), _tensor(2, 3, 4, 6)).batches == (Batches(6, True, True),)
    broadcast = _product(_tensor(2, 1, 4, 5), _tensor(3, 5, 6), _tensor(2, 3, 4, 6))
    assert broadcast.batches == (Batches(2, True, False), Batches(3, False, True))
    assert _product(_tensor(4, 5), _tensor(5, 6), _tensor(4, 6)).batches == ()


def test_a_batch_matmul_refuses_what_does_not_fit() -> None:
    good = _product(_tensor(2, 4, 5), _tensor(2, 5, 6), _tensor(2, 4, 6))
    good.verify()
    for change, message in (
        ({"second": _tensor(2, 4, 6)}, "rows of 5 elements and columns of 4 elements, equal sizes were expected"),
        ({"second": _tensor(3, 5, 6)}, "shape mismatch"),
        ({"output": _tensor(2, 4, 5)}, r"output 't' has shape \[2, 4, 5\], \[2, 4, 6\] was expected"),
        ({"first": _tensor(5)}, r"first 't' has shape \[5\], matrices were expected"),
        ({"first": _tensor(2, 4, 5, zero_points=(0, 0))}, "first 't' must be quantized per tensor"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(good, **change).verify()  # type: ignore[arg-type]


def test_batches_that_repeat_by_turns_are_refused() -> None:
    op = _product(_tensor(2, 1, 2, 4, 5), _tensor(1, 3, 1, 5, 6), _tensor(2, 3, 2, 4, 6))
    with pytest.raises(ValueError, match="repeat along batch axes by turns"):
        op.verify()
