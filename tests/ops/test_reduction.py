"""Reductions and arg max: what LiteRT cannot say, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.double_rounding import multiplier_and_shift, requantized
from tests.support.litert import needs_litert, run_reference
from tests.support.operator_models import random_model
from tests.support.reference import evaluate, import_model
from tests.support.shared import shared_file
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.frontends.tflite.schema import read
from tinygen.ir.graph import Source, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.reduction import Extents, Mean, ReduceMax, Sum, merge_axes

SOURCE = Source("test", 0, "TEST")
QUANT = Quant((0.5,), (3,))


def _tensor(*shape: int, dtype: DType = DType.INT8, quant: Quant | None = QUANT) -> Tensor:
    return Tensor("t", TensorType(dtype, shape, quant))


def test_a_sum_is_rounded_twice() -> None:
    for seed in range(60):
        model = random_model("SUM", seed)
        graph = import_model(model.finish())
        (op,) = graph.ops
        assert isinstance(op, Sum)
        multiplier, shift = multiplier_and_shift(op.input.type.scale / op.output.type.scale)
        sums = (model.values[0].astype(np.int64) - op.input.type.zero_point).sum(axis=op.axes).reshape(-1)
        expected = [requantized(int(total), multiplier, shift, op.output.type.zero_point) for total in sums]
        assert evaluate(graph, model.values)[0].reshape(-1).tolist() == expected, f"seed {seed}"


@needs_litert
def test_means_of_a_real_model_over_one_axis_after_the_other() -> None:
    """mcunet averages rows, then columns, with the same quantization in and out: on LiteRT's own inputs of both."""
    path = shared_file("models/open/mcunet_vww_int8.tflite")
    graph = import_tflite(path)
    image = np.random.default_rng(5).integers(-128, 128, graph.inputs[0].external.shape)
    run = run_reference(path, [image.astype(graph.inputs[0].external.dtype.numpy)], preserve_all=True)
    index = {tensor.name: tensor.index for tensor in read(path).subgraphs[0].tensors}
    means = [op for op in graph.ops if isinstance(op, Mean)]
    assert len(means) == 2
    for op in means:
        values = Values(lambda tensor: run.tensors[index[tensor.name]])
        assert np.array_equal(op.evaluate(values)[0], values[op.output])


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [
        ((4, 3, 5, 7), (1, 2), Extents(4, 1, 1, 15, 7)),
        ((4, 3, 5, 7), (3,), Extents(60, 1, 1, 7, 1)),
        ((4, 3, 5, 7), (0,), Extents(1, 1, 1, 4, 105)),
        ((4, 3, 5, 7), (0, 2), Extents(1, 4, 3, 5, 7)),
        ((4, 3, 5, 7), (1, 3), Extents(4, 3, 5, 7, 1)),
        ((4, 3, 1, 7), (2,), Extents(84, 1, 1, 1, 1)),
        ((4, 3), (), Extents(12, 1, 1, 1, 1)),
        ((), (), Extents(1, 1, 1, 1, 1)),
    ],
)
def test_neighbouring_axes_are_merged(shape: tuple[int, ...], axes: tuple[int, ...], expected: Extents) -> None:
    assert merge_axes(shape, axes) == expected


def test_axes_in_three_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="more than two groups"):
        merge_axes((2, 3, 2, 3, 2, 3), (0, 2, 4))


def test_a_reduction_refuses_what_does_not_fit() -> None:
    good = ReduceMax(name="op", source=SOURCE, input=_tensor(2, 3), output=_tensor(2), axes=(1,))
    good.verify()
    for change, message in (
        ({"axes": (2,)}, r"axes \[2\] are not ascending axes of shape \[2, 3\]"),
        ({"axes": (1, 0)}, r"axes \[1, 0\] are not ascending"),
        ({"output": _tensor(3)}, r"output 't' has shape \[3\], \[2\] or \[2, 1\] were expected"),
        ({"output": _tensor(2, quant=Quant((0.25,), (3,)))}, "must have the same quantization"),
        ({"input": _tensor(2, 0)}, "without any element"),
        ({"input": _tensor(2, 3, dtype=DType.INT16)}, "input 't' is i16, i8 was expected"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(good, **change).verify()


def test_an_arg_max_refuses_what_does_not_fit() -> None:
    good = ArgMax(name="op", source=SOURCE, input=_tensor(2, 3), output=_tensor(2, dtype=DType.INT32), axis=1)
    good.verify()
    with pytest.raises(ValueError, match=r"axis 2 of shape \[2, 3\], 0 to 1 was expected"):
        replace(good, axis=2).verify()
    with pytest.raises(ValueError, match="output 't' is i8, i32 or i64 was expected"):
        replace(good, output=_tensor(2)).verify()
