"""Printed graphs: xdsl and mlir-opt read them, and every tensor, attribute and value stays what it was."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import UnregisteredOp

from tests.support.command_line import DIGITS
from tests.support.control_models import branch_model, loop_model
from tests.support.mlir import VERSIONS, names, parsed, printed, resources_of, through_mlir_opt
from tests.support.operator_models import BUILDERS, side_by_side
from tests.support.reference import import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.budget import BudgetError, Limit
from tinygen.ir import mlir
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.mlir import Module, float_text, print_graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.options import Options
from tinygen.pipeline import compile_model

WEIRD_NAMES = [
    "",
    " ",
    "a b",
    "a_b",
    "a/b",
    "a_b_1",
    '"',
    "%",
    "%%",
    "1",
    "-",
    ".",
    "\n",
    "\\",
    "*/",
    "ä",
    "層",
    "a" * 500,
]


@dataclass(frozen=True, eq=False, kw_only=True)
class Mixed(Op):
    """An operator with attributes of every kind."""

    input: Tensor
    absent: Tensor | None = None
    output: Tensor
    flag: bool = True
    number: int = -7
    real: float = 1e-9
    word: str = 'a "b" \\ \n ä'
    empty: tuple[int, ...] = ()
    nested: tuple[tuple[int, int], ...] = ((1, 2), (3, 4))
    dtype: DType = DType.INT8


def attributes_of(text: str, name: str) -> dict[str, Any]:
    """Attributes of the one operator of that name, as xdsl reads them."""
    [op] = [op for op in parsed(text).walk() if isinstance(op, UnregisteredOp) and op.op_name.data == name]
    return dict(op.attributes)


def check(graph: Graph) -> None:
    """Each operator and constant is one line that xdsl reads; printed and read again it is the same."""
    module = parsed(print_graph(graph))
    found = names(module)
    constants = [tensor for tensor in graph.tensors if tensor.is_constant]
    subgraphs = [subgraph.graph for op in graph.ops for subgraph in op.subgraphs]
    assert found[:2] == ["builtin.module", "func.func"]
    assert found[-1] == "func.return"
    assert found.count("tinygen.constant") == len(
        dict.fromkeys([*constants, *(t for inner in subgraphs for t in inner.tensors if t.is_constant)])
    )
    others = sum(found.count(f"tinygen.{name}") for name in ("constant", "next_state", "yield"))
    assert len(found) == 3 + graph.operators_in_all + others
    again = parsed(printed(module))
    assert names(again) == found
    assert again.is_structurally_equivalent(module)


def mixed(names_: list[str], **attributes: object) -> Graph:
    """A chain of operators over tensors with these names."""
    tensors = [Tensor(name, TensorType(DType.INT8, (1, 2))) for name in names_]
    ops = tuple(
        Mixed(name=f"op{i}", source=Source("net", i, "MIXED"), input=a, output=b, **attributes)  # type: ignore[arg-type]
        for i, (a, b) in enumerate(pairwise(tensors))
    )
    ports = [Port(tensor.name, tensor, tensor.type) for tensor in (tensors[0], tensors[-1])]
    return Graph('a "graph"\n\\ ä', (ports[0],), (ports[1],), ops)


def test_the_example_before_and_after_the_passes() -> None:
    compiled = compile_model(DIGITS, Options(target="host"))
    check(compiled.imported)
    check(compiled.graph)


@pytest.mark.parametrize("first", range(0, len(BUILDERS), 4))
def test_operators(first: int) -> None:
    some = sorted(BUILDERS)[first : first + 4]
    check(import_model(side_by_side(some, seed=first).finish()))


def test_weird_tensor_names() -> None:
    check(mixed(WEIRD_NAMES))
    check(mixed(WEIRD_NAMES[::-1]))


def test_weird_names_from_a_file() -> None:
    writer = ModelWriter()
    tensors = [writer.tensor(name, (1, 4), scale=0.5) for name in WEIRD_NAMES]
    for source, target in pairwise(tensors):
        writer.operator("RELU", [source], [target])
    check(import_model(writer.finish(tensors[:1], tensors[-1:])))


def test_names_that_collide_are_numbered_in_order() -> None:
    text = print_graph(mixed(["a b", "a/b", "a_b_1", "a:b", "a_b"]))
    lines = [line.strip() for line in text.splitlines() if "tinygen.mixed" in line]
    assert [line.split(" ", 1)[0] for line in lines] == ["%a_b_1", "%a_b_1_1", "%a_b_2", "%a_b_3"]
    assert text == print_graph(mixed(["a b", "a/b", "a_b_1", "a:b", "a_b"]))


def test_attributes() -> None:
    text = print_graph(mixed(["x", "y"]))
    assert (
        '%y = "tinygen.mixed"(%x) {name = "op0", source = ["net", 0, "MIXED"], flag = true, number = -7, '
        'real = 1.0e-09, word = "a \\22b\\22 \\5C \\0A \\C3\\A4", empty = [], nested = [[1, 2], [3, 4]], '
        'dtype = "i8", tinygen.reads = ["input"], tinygen.writes = ["output"], tinygen.names = ["y"]} '
        ": (tensor<1x2xi8>) -> (tensor<1x2xi8>)"
    ) in text
    attributes = attributes_of(text, "tinygen.mixed")
    assert attributes["word"].data.decode() == 'a "b" \\ \n ä'
    assert attributes["real"].value.data == 1e-9
    assert [item.value.data for item in attributes["nested"].data[1].data] == [3, 4]


def test_enumerations_are_named() -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), scale=0.5) for name in "xy")
    writer.operator("RELU", [x], [y])
    assert ', activation = "relu", ' in print_graph(import_model(writer.finish([x], [y])))


@pytest.mark.parametrize("scale", [0.1, 1 / 3, 2.0**-149, 1.1754942e-38, 3.4028235e38, 1.0, 1e-5])
def test_scales_read_back_exactly(scale: float) -> None:
    exact = float(np.float32(scale))
    module = Module(with_values=False)
    type = module.type(TensorType(DType.INT8, (1,), Quant((exact,), (-128,))))
    text = module.text([f'"a.b"() {{type = {type}}} : () -> ()'])
    encoding = attributes_of(text, "a.b")["type"].encoding
    assert encoding.data["scales"].get_values() == (exact,)
    assert encoding.data["zero_points"].get_values() == (-128,)


def test_all_scales_of_channels_are_printed() -> None:
    module = Module(with_values=False)
    per_channel = Quant((0.5, 0.25), (0, 1), axis=3, bits=4)
    type = module.type(TensorType(DType.INT8, (1, 3, 3, 2), per_channel))
    assert (type, module.type(TensorType(DType.FLOAT32, ()))) == ("tensor<1x3x3x2xi8, #quant_0>", "tensor<f32>")
    alias = "#quant_0 = {scales = array<f32: 0.5, 0.25>, zero_points = array<i64: 0, 1>, axis = 3, bits = 4}"
    assert module.text([]).startswith(f"{alias}\n")


def test_numbers_that_are_not_finite_are_bits() -> None:
    assert [float_text(number) for number in (float("inf"), 0.1)] == ["0x7FF0000000000000 : f64", "0.1"]
    assert attributes_of(f'"a.b"() {{x = {float_text(float("-inf"))}}} : () -> ()', "a.b")["x"].value.data == -np.inf


def test_values_are_dense_resources() -> None:
    """Of every constant its bytes, in the order of their definitions; none of them without values."""
    graph = compile_model(DIGITS, Options(target="host")).graph
    constants = [tensor.data for tensor in graph.tensors if tensor.data is not None]
    text = print_graph(graph, with_values=True)
    assert resources_of(text) == [data.tobytes() for data in constants]
    assert names(parsed(text)).count("tinygen.constant") == len(constants)
    assert "dense_resource" not in print_graph(graph)


def test_too_large_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlir, "MLIR_BYTES", Limit(100, "letters of MLIR"))
    with pytest.raises(BudgetError, match=r"^--dump: [0-9,]+ letters of MLIR, at most 100 were expected\."):
        print_graph(compile_model(DIGITS, Options(target="host")).graph, with_values=True)


@pytest.mark.parametrize("model", [branch_model(), loop_model()], ids=["branch", "loop"])
def test_subgraphs_are_regions(model: bytes) -> None:
    check(import_model(model))


@pytest.mark.parametrize("version", VERSIONS)
def test_s2_01_mlir_opt_reads_graphs(version: int) -> None:
    """What it prints is the same module to xdsl."""
    for graph in (compile_model(DIGITS, Options(target="host")).graph, import_model(loop_model()), mixed(WEIRD_NAMES)):
        text = print_graph(graph, with_values=True)
        assert names(parsed(through_mlir_opt(text, version))) == names(parsed(text))


def test_real_models(tmp_path: Path) -> None:
    """Also where a model's name cannot be a symbol."""
    copy = tmp_path / 'digits "quoted" ä.tflite'
    copy.write_bytes(DIGITS.read_bytes())
    check(compile_model(copy, Options(target="host")).graph)
