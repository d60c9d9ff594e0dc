"""The budget: a few bytes that ask for endless elements, operators or steps end in an error that names the limit."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.networks import mobilenet_v2
from tests.support.onnx_writer import OnnxWriter
from tests.support.random_graphs import GraphBuilder
from tests.support.steps import counted
from tests.support.tflite_writer import ModelWriter
from tinygen import budget, inspect, targets
from tinygen.budget import Account, BudgetError, Limit
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Spelling
from tinygen.ir.verify import verify
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.select import select
from tinygen.planner.chains.network import Network
from tinygen.planner.plan import plan
from tinygen.planner.schedule.check import check
from tinygen.targets.isa import Isa


def _doubled(writer: OnnxWriter) -> None:
    x = writer.port([1, 4])
    for _ in range(60):
        x = writer.node("Concat", [x, x], {"axis": 1})
    writer.output(x)


def _padded(writer: OnnxWriter) -> None:
    pads = writer.constant(np.array([0, 0, 5000, 5000, 0, 0, 5000, 5000], np.int64))
    writer.output(writer.node("Pad", [writer.port([1, 1, 1, 1]), pads]))


def _wide_window(writer: OnnxWriter) -> None:
    w = writer.constant(np.zeros((1, 1, 400, 400), np.float32))
    writer.output(writer.node("Conv", [writer.port([1, 1, 1000, 1000]), w], {"pads": [200, 200, 200, 200]}))


def _many(writer: OnnxWriter) -> None:
    x = writer.port([1, 4])
    for _ in range(20_000):
        x = writer.node("Relu", [x])
    writer.output(x)


def _many_that_stay(writer: OnnxWriter) -> None:
    x = writer.port([1, 4])
    for _ in range(5_000):
        x = writer.node("Relu", [x])
    writer.output(x)


def _filled(writer: OnnxWriter) -> None:
    """Constants of 32 MB each, of a few bytes."""
    shape, value = writer.constant(np.array([1 << 22], np.int64)), np.zeros(1, np.float64)
    for _ in range(40):
        writer.node("ConstantOfShape", [shape])
        writer.nodes[-1].attribute.append(helper.make_attribute("value", numpy_helper.from_array(value)))
    writer.output(writer.node("Relu", [writer.port([1, 4])]))


def _together(writer: OnnxWriter) -> None:
    x = writer.port([1, 1 << 23])
    for _ in range(10):
        x = writer.node("Tanh", [x])
    writer.output(x)


ASKING: dict[str, tuple[Callable[[OnnxWriter], None], str]] = {
    "doubled": (
        _doubled,
        "m.onnx, operator 22 (Concat 'n22'): 134,217,728 bytes for a tensor, at most 67,108,864 were expected.",
    ),
    "padded": (
        _padded,
        "m.onnx, operator 0 (Pad 'n0'): 400,080,004 bytes for a tensor, at most 67,108,864 were expected.",
    ),
    "wide window": (
        _wide_window,
        "m.onnx, operator 0 (Conv 'n0'): 160,320,160,000 elements at once to compute its result, at most 134,217,728 "
        "were expected.",
    ),
    "many": (_many, "m.onnx: 20,000 operators of its file, at most 16,384 were expected."),
    "many that stay": (_many_that_stay, "m: 5,000 operators, at most 4,096 were expected."),
    "filled": (
        _filled,
        "m.onnx, operator 4 (ConstantOfShape 'n4'): 167,772,160 bytes of constants computed from others, at most "
        "134,217,728 were expected.",
    ),
    "together": (
        _together,
        "m: 369,098,752 bytes for all inputs and results together, at most 268,435,456 were expected.",
    ),
}


@pytest.mark.parametrize("case", ASKING)
def test_small_files_that_ask_for_much(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    less = replace(budget.FOLDED_BYTES, most=1 << 27)  # for the sake of the machine that tests
    monkeypatch.setattr("tinygen.frontends.onnx.builder.FOLDED_BYTES", less)
    write, message = ASKING[case]
    writer = OnnxWriter()
    write(writer)
    (tmp_path / "m.onnx").write_bytes(writer.finish())
    with pytest.raises(BudgetError) as raised:
        import_model(tmp_path / "m.onnx", Spelling(allows_float=True))
    assert str(raised.value) == f"{message} Make the model smaller."
    assert raised.value.exit_code == UnsupportedModelError.exit_code == 3


def test_functions_that_repeat_large_constants(tmp_path: Path) -> None:
    value = helper.make_tensor("v", TensorProto.FLOAT, [1 << 20], b"\0" * (4 << 20), raw=True)
    body = [helper.make_node("Constant", [], ["t"], value=value), helper.make_node("Add", ["a", "t"], ["r"])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    function = helper.make_function("local", "F", ["a"], ["r"], body, opsets[:1])
    calls = [helper.make_node("F", [f"x{n}"], [f"x{n + 1}"], domain="local") for n in range(600)]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1 << 20]) for name in ("x0", "x600")]
    graph = helper.make_graph(calls, "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(BudgetError, match="bytes of constants, at most 2,147,483,648 were expected"):
        import_model(tmp_path / "m.onnx")


def test_tflite_files_that_ask_for_much(tmp_path: Path) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 1, 1, 1), scale=0.5)
    y = writer.tensor("y", (1, 10_001, 10_001, 1), scale=0.5)
    pads = writer.tensor("p", (4, 2), "int32", data=np.array([[0, 0], [5000, 5000], [5000, 5000], [0, 0]], np.int32))
    writer.operator("PAD", [x, pads], [y])
    (tmp_path / "m.tflite").write_bytes(writer.finish([x], [y]))
    with pytest.raises(
        BudgetError, match=r"operator 0 \(PAD 'y'\): 100,020,001 bytes for a tensor, at most 67,108,864"
    ):
        import_model(tmp_path / "m.tflite")


def test_a_graph_of_too_many_operators_is_refused() -> None:
    builder = GraphBuilder("net")
    x = builder.input(1, 4)
    for _ in range(budget.OPERATORS.most + 1):
        x = builder.add(x, x)
    with pytest.raises(BudgetError, match="net: 4,097 operators, at most 4,096 were expected"):
        verify(builder.finish(x), "import")


def test_many_buffers_at_once_are_refused_before_they_are_placed() -> None:
    """Placing takes time and memory by the pairs of buffers that are live together."""
    board = targets.load("host")
    toolbox = Toolbox(Library.PORTABLE, board.isa)
    builder = GraphBuilder("net")
    x = builder.input(1, 2, 2, 2)
    graph = builder.finish(builder.concat(3, *(builder.copy(x) for _ in range(1_000))))
    with pytest.raises(BudgetError, match="net: 501,500 pairs of buffers that are live at one step, at most 262,144"):
        plan(graph, board, toolbox)


def _steps_of_joining(inputs: int, folder: Path) -> int:
    """To inspect a network that puts that many inputs behind each other."""
    writer = ModelWriter()
    ports = [writer.tensor(f"x{n}", (1, 4), scale=0.5) for n in range(inputs)]
    y = writer.tensor("y", (inputs, 4), scale=0.5)
    writer.operator("CONCATENATION", ports, [y], axis=0)
    (folder / "m.tflite").write_bytes(writer.finish(ports, [y]))
    with counted() as steps:
        inspect(folder / "m.tflite", target="host")
    return steps.count


def test_what_inputs_take_does_not_grow_with_their_square(tmp_path: Path) -> None:
    fixed, some, twice = (_steps_of_joining(inputs, tmp_path) for inputs in (2, 400, 800))
    assert twice - fixed < 2.3 * (some - fixed)


_NO_ELEMENTS = "at least one element was expected. Make the model for other sizes."


def _of_empty(writer: ModelWriter) -> tuple[list[int], int]:
    """Nothing, but for a name and a size of 0."""
    x, y = (writer.tensor(name, (0, 8, 4), scale=0.5) for name in "xy")
    writer.operator("RELU", [x], [y])
    return [x], y


def _of_empty_that_nothing_reads(writer: ModelWriter) -> tuple[list[int], int]:
    x, y, unread = (
        writer.tensor(name, shape, scale=0.5) for name, shape in (("x", (1, 4)), ("y", (1, 4)), ("u", (0,)))
    )
    writer.operator("RELU", [x], [y])
    return [x, unread], y


def _of_empty_in_between(writer: ModelWriter) -> tuple[list[int], int]:
    x, sum_ = writer.tensor("x", (1, 4), scale=0.5), writer.tensor("sum", (0, 4), scale=0.5)
    nothing = writer.tensor("nothing", (0, 4), scale=0.5, data=np.zeros((0, 4), np.int8))
    y = writer.tensor("y", (1, 4), scale=0.5)
    writer.operator("ADD", [x, nothing], [sum_])
    writer.operator("CONCATENATION", [x, sum_], [y], axis=0)
    return [x], y


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_of_empty, "m, input or output 'x': has shape [0, 8, 4]"),
        (_of_empty_that_nothing_reads, "m, input or output 'u': has shape [0]"),
        (_of_empty_in_between, "m.tflite, operator 0 (ADD 'sum'): has shape [0, 4]"),
    ],
)
def test_tensors_without_elements(
    write: Callable[[ModelWriter], tuple[list[int], int]], message: str, tmp_path: Path
) -> None:
    writer = ModelWriter()
    inputs, output = write(writer)
    (tmp_path / "m.tflite").write_bytes(writer.finish(inputs, [output]))
    with pytest.raises(UnsupportedModelError) as raised:
        import_model(tmp_path / "m.tflite")
    assert str(raised.value) == f"{message}, {_NO_ELEMENTS}"


def test_the_checker_takes_some_bytes_for_each_of_the_arena() -> None:
    builder = GraphBuilder("net")
    x = builder.input(1, 1024, 1024, 1)
    for _ in range(8):
        x = builder.add(x, builder.copy(x))
    board = targets.load("host")
    schedule = plan(builder.finish(x), board, Toolbox(Library.PORTABLE, board.isa))
    tracemalloc.start()
    check(schedule)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * schedule.arena_bytes


def test_real_networks_stay_far_inside() -> None:
    graph = mobilenet_v2(224)
    sizes = [tensor.type.bytes for tensor in graph.tensors if not tensor.is_constant]
    for limit, amount in (
        (budget.OPERATORS, len(graph.ops)),
        (budget.TENSOR_BYTES, max(sizes)),
        (budget.ACTIVATION_BYTES, sum(sizes)),
        (budget.WORKING_ELEMENTS, max(op.working_elements for op in graph.ops)),
    ):
        assert 30 * amount < limit.most, limit.of


def test_what_has_too_many_rows_is_computed_as_a_whole() -> None:
    def row_wise(rows: int) -> int:
        builder = GraphBuilder()
        x = builder.input(1, rows, 1, 1)
        graph = builder.finish(builder.add(builder.copy(x), x))
        toolbox = Toolbox(Library.PORTABLE, Isa.SCALAR)
        return len(Network.of(graph, {op: select(op, toolbox) for op in graph.ops}, fetches_input=False).row_wise)

    assert (row_wise(budget.ROWS.most), row_wise(budget.ROWS.most + 1)) == (2, 0)


def test_sums_are_limited_as_they_grow() -> None:
    account = Account(Limit(10, "bytes"))
    account.spend(10, "here")
    with pytest.raises(BudgetError, match="there: 11 bytes, at most 10 were expected"):
        account.spend(1, "there")


def test_amounts_without_end_have_no_digits() -> None:
    with pytest.raises(BudgetError, match="here: over 1,000,000,000,000,000,000 bytes"):
        Limit(10, "bytes").check(1 << 100_000, "here")


def test_limits_are_documented() -> None:
    """Every limit stands in the documentation with its number."""
    page = (Path(__file__).resolve().parents[1] / "docs" / "limits.md").read_text(encoding="utf-8")
    limits = [value for value in vars(budget).values() if isinstance(value, Limit)]
    assert limits
    for limit in limits:
        assert f"| {limit.of} | {limit.most:,} |" in page
