"""Operators that decode constants while a model is read: as ONNX's reference has them, and what is refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ops.batch import infer


def _model(nodes: list[NodeProto], constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The result `c` of nodes, cast to float32, added to the input [2, 3]."""
    ending = [
        helper.make_node("Cast", ["c"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "f"], ["y"]),
    ]
    graph = helper.make_graph(
        [*nodes, *ending],
        "constants",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


_A = np.arange(6, dtype=np.int32).reshape(2, 3) - 2
_TABLES = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
_COMPUTED: dict[str, tuple[list[NodeProto], dict[str, np.ndarray]]] = {
    "Mod": ([helper.make_node("Mod", ["a", "b"], ["c"])], {"a": _A, "b": np.array([3, -2, 4], np.int32)}),
    "CumSum": ([helper.make_node("CumSum", ["a", "b"], ["c"])], {"a": _A, "b": np.array(1, np.int64)}),
    "ReduceSum": (
        [helper.make_node("ReduceSum", ["a", "b"], ["c"], keepdims=1)],
        {"a": _A, "b": np.array([-1], np.int64)},
    ),
    "ReduceSum of all": ([helper.make_node("ReduceSum", ["a"], ["c"], keepdims=0)], {"a": _A}),
    "GatherElements": (
        [helper.make_node("GatherElements", ["a", "b"], ["c"], axis=1)],
        {"a": _TABLES, "b": np.array([[0, -1, 2], [3, 1, 1]], np.int32)},
    ),
    "Mod of floats, as in C": (
        [helper.make_node("Mod", ["a", "b"], ["c"], fmod=1)],
        {"a": _TABLES[:, :3], "b": np.array(0.7, np.float32)},
    ),
    "CumSum from the end": (
        [helper.make_node("CumSum", ["a", "b"], ["c"], exclusive=1, reverse=1)],
        {"a": _A, "b": np.array(-1, np.int64)},
    ),
    "Trilu": ([helper.make_node("Trilu", ["a", "b"], ["c"])], {"a": _A, "b": np.array(1, np.int64)}),
}


@pytest.mark.parametrize("name", _COMPUTED)
def test_constants_are_those_of_the_reference(name: str, tmp_path: Path) -> None:
    model = _model(*_COMPUTED[name])
    onnx.save(model, tmp_path / "net.onnx")
    value = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": value})
    np.testing.assert_array_equal(infer(import_model(tmp_path / "net.onnx"), [value])[0], expected)


_REFUSED: dict[str, tuple[list[NodeProto], dict[str, np.ndarray], str]] = {
    "Mod by 0": (
        [helper.make_node("Mod", ["a", "b"], ["c"])],
        {"a": _A, "b": np.array(0, np.int32)},
        "is the remainder of a division by 0, other numbers were expected",
    ),
    "CumSum along two": (
        [helper.make_node("CumSum", ["a", "b"], ["c"])],
        {"a": _A, "b": np.array([0, 1], np.int64)},
        r"axis is int64\[2\], an integer was expected",
    ),
    "CumSum beyond": (
        [helper.make_node("CumSum", ["a", "b"], ["c"])],
        {"a": _A, "b": np.array(5, np.int64)},
        r"axes \[5\] of 2 dimensions",
    ),
    "GatherElements of floats": (
        [helper.make_node("GatherElements", ["a", "b"], ["c"], axis=1)],
        {"a": _TABLES, "b": np.zeros((2, 3), np.float32)},
        "indices are float32 of 2 dimensions, integers of 2 were expected",
    ),
    "GatherElements of other rows": (
        [helper.make_node("GatherElements", ["a", "b"], ["c"], axis=1)],
        {"a": _TABLES, "b": np.zeros((3, 3), np.int64)},
        r"indices \[3, 3\] do not fit \[2, 4\]",
    ),
    "GatherElements beyond": (
        [helper.make_node("GatherElements", ["a", "b"], ["c"], axis=1)],
        {"a": _TABLES, "b": np.full((2, 3), 9, np.int64)},
        "its constants cannot be computed",
    ),
    "Trilu of a vector": (
        [helper.make_node("Trilu", ["a"], ["c"])],
        {"a": np.zeros(1 << 22, np.float32)},  # a square of which would have 16 TB
        r"input has shape \[4194304\], matrices were expected",
    ),
    "Trilu of many diagonals": (
        [helper.make_node("Trilu", ["a", "b"], ["c"])],
        {"a": _A, "b": np.zeros(20, np.int64)},
        r"diagonals are \[0, 0, 0, 0, 0, 0, 0, 0, 0, 0\], one number was expected",
    ),
}


@pytest.mark.parametrize(("upper", "end", "rest"), [(0, "max", _A), (0, "min", 0), (1, "max", 0), (1, "min", _A)])
def test_a_diagonal_far_beyond_a_constant(upper: int, end: str, rest: np.ndarray | int, tmp_path: Path) -> None:
    node = helper.make_node("Trilu", ["a", "b"], ["c"], upper=upper)
    onnx.save(
        _model([node], {"a": _A, "b": np.array(getattr(np.iinfo(np.int64), end), np.int64)}), tmp_path / "net.onnx"
    )
    value = np.zeros((2, 3), np.float32)
    np.testing.assert_array_equal(infer(import_model(tmp_path / "net.onnx"), [value])[0], value + rest)


@pytest.mark.parametrize("name", _REFUSED)
def test_what_cannot_be_computed_is_said(name: str, tmp_path: Path) -> None:
    nodes, constants, message = _REFUSED[name]
    onnx.save(_model(nodes, constants), tmp_path / "net.onnx")
    with pytest.raises(UnsupportedModelError, match=message):
        import_model(tmp_path / "net.onnx")
