"""Shape arithmetic and other constants: computed while compiling, as LiteRT computes them at run time."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import tflite

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen import passes
from tinygen.errors import UnsupportedOperatorsError
from tinygen.ir.types import DType
from tinygen.ops.copy import Copy
from tinygen.ops.reshape import Reshape
from tinygen.passes.fold_constants import fold_constants

SHAPE = (1, 5, 4, 6)


class _Shapes:
    """A model with an int8 input, and integers computed from its shape."""

    def __init__(self) -> None:
        self.writer = ModelWriter()
        self.x = self.writer.tensor("x", SHAPE, scale=0.1)
        self.outputs: list[int] = []
        self._count = 0

    def constant(self, data: int | Sequence[int], type: str = "int32") -> int:
        """A constant of integers."""
        self._count += 1
        return self.writer.tensor(f"c{self._count}", np.shape(data), type, data=data)

    def result(
        self, name: str, operands: Sequence[int], shape: Sequence[int], type: str = "int32", **options: int | str
    ) -> int:
        """The result of an operator, which is an output of the model too."""
        self._count += 1
        index = self.writer.tensor(f"{name.lower()}_{self._count}", shape, type)
        write: Callable[..., None] = self.writer.operator
        write(name, operands, [index], **options)
        self.outputs.append(index)
        return index


def _every_function(model: _Shapes) -> int:
    """Uses all that is folded; ends in the shape (5, 24)."""
    shape = model.result("SHAPE", [model.x], [4], out_type=tflite.TensorType.INT32)
    bounds = [model.constant([1]), model.constant([2]), model.constant([1])]
    rows = model.result("STRIDED_SLICE", [shape, *bounds], [], shrink_axis_mask=1)
    last_two = model.result("SLICE", [shape, model.constant([2]), model.constant([2])], [2])
    product = model.result("REDUCE_PROD", [last_two, model.constant([0])], [], options_type="ReducerOptions")
    halves = model.result("FLOOR_DIV", [model.result("SUB", [product, model.constant(31)], []), model.constant(2)], [])
    larger = model.result("MAXIMUM", [halves, model.result("ADD", [rows, model.constant(-7)], [])], [])
    smaller = model.result("MINIMUM", [larger, model.constant([3, -9])], [2])
    model.result("MUL", [smaller, model.constant([100000, 70000])], [2])
    model.result("RANGE", [model.constant(9), model.constant(-2), model.constant(-3)], [4])
    picked = model.result("GATHER", [shape, model.constant([3, 1])], [2], axis=0)
    model.result("FILL", [picked, larger], [6, 5])
    wide = model.result("CAST", [shape], [4], "int64", out_data_type=tflite.TensorType.INT64)
    model.result("CONCATENATION", [wide, wide], [8], "int64", axis=0)
    return model.result("PACK", [rows, product], [2], values_count=2, axis=0)


@needs_litert
def test_shape_arithmetic_is_what_litert_computes() -> None:
    model = _Shapes()
    reshaped = model.writer.tensor("reshaped", (5, 24), scale=0.1)
    model.writer.operator("RESHAPE", [model.x, _every_function(model)], [reshaped])
    content = model.writer.finish([model.x], [reshaped, *model.outputs])
    x = (np.arange(120) - 60).astype(np.int8).reshape(SHAPE)
    expected = run_reference(content, [x]).outputs
    graph = import_model(content)
    assert [type(op) for op in graph.ops] == [Reshape]
    for variant in (graph, passes.run(graph)):
        for output, want in zip(evaluate(variant, [x]), expected, strict=True):
            assert output.dtype == want.dtype
            np.testing.assert_array_equal(output, want)
    assert {type(op) for op in passes.run(graph).ops} == {Reshape, Copy}


@pytest.mark.parametrize(
    ("operands", "type", "reason"),
    [
        ("zero", "int32", "a division by 0"),
        ("shapes", "int32", "output 'y' has shape [2], [3] was expected"),
        ("input", "bool", "output 'y' is i1, f32 was expected"),
    ],
)
def test_integers_that_cannot_be_folded_are_refused(operands: str, type: str, reason: str) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (2,), "int32")
    constants = {
        "input": [x, x],
        "zero": [writer.tensor("a", (2,), "int32", data=[1, 2]), writer.tensor("b", (), "int32", data=0)],
        "shapes": [writer.tensor("c", (3,), "int32", data=[1, 2, 3]), writer.tensor("d", (), "int32", data=1)],
    }
    writer.operator("FLOOR_DIV", constants[operands], [writer.tensor("y", (2,), type)])
    with pytest.raises(UnsupportedOperatorsError) as error:
        import_model(writer.finish([x], [x]))
    assert [fault.reason for fault in error.value.operators] == [reason]


def test_constants_of_int8_are_folded_and_everything_that_follows_from_them() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (2, 3), scale=0.1)
    part = writer.tensor("part", (1, 3), scale=0.1, data=[[1, -2, 3]])
    both, turned = writer.tensor("both", (2, 3), scale=0.1), writer.tensor("turned", (3, 2), scale=0.1)
    y = writer.tensor("y", (2, 6), scale=0.1)
    again = writer.tensor("again", (2, 3), scale=0.1)
    writer.operator("CONCATENATION", [part, part], [both], axis=0)
    writer.operator("TRANSPOSE", [both, writer.tensor("p", (2,), "int32", data=[1, 0])], [turned])
    writer.operator("RESHAPE", [turned], [again], new_shape=[2, 3])
    writer.operator("CONCATENATION", [x, again], [y], axis=1)
    graph = fold_constants(import_model(writer.finish([x], [y])))
    (op,) = graph.ops
    constant = op.operands[1]
    assert constant.type.dtype is DType.INT8
    np.testing.assert_array_equal(constant.data, [[1, 1, -2], [-2, 3, 3]])
    assert fold_constants(graph) is graph
