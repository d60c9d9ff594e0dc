"""Printed graphs: xdsl reads them, and every tensor and attribute stays what it was."""

from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, UnregisteredOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from tests.support.command_line import DIGITS
from tests.support.operator_models import BUILDERS, side_by_side
from tests.support.reference import import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.text import print_graph, type_text
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


def parsed(text: str) -> ModuleOp:
    """The module that xdsl reads; it refuses values that are defined twice, or not at all."""
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def printed(module: ModuleOp) -> str:
    """What xdsl prints; values numbered by it, since the names that it makes of hints may clash."""
    for op in module.walk():
        for value in (*op.results, *(argument for region in op.regions for argument in region.block.args)):
            value.name_hint = None
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def names(module: ModuleOp) -> list[str]:
    """What operators are there, in order."""
    return [op.op_name.data if isinstance(op, UnregisteredOp) else op.name for op in module.walk()]


def attributes_of(text: str, name: str) -> dict[str, Any]:
    """Attributes of the one operator of that name, as xdsl reads them."""
    [op] = [op for op in parsed(text).walk() if isinstance(op, UnregisteredOp) and op.op_name.data == name]
    return dict(op.attributes)


def check(graph: Graph) -> None:
    """Each operator and constant is one line that xdsl reads; printed and read again it is the same."""
    module = parsed(print_graph(graph))
    found = names(module)
    constants = [tensor for tensor in graph.tensors if tensor.is_constant]
    assert found[:2] == ["builtin.module", "func.func"]
    assert found[-1] == "func.return"
    assert len(found) == 3 + len(graph.ops) + len(constants)
    assert found.count("tinygen.constant") == len(constants)
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
    compiled = compile_model(DIGITS, Options())
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
        '%y = "tinygen.mixed"(%x) {flag = true, number = -7, real = 1.0e-09, '
        'word = "a \\22b\\22 \\5C \\0A \\C3\\A4", empty = [], nested = [[1, 2], [3, 4]], dtype = "i8"} '
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
    assert '%y = "tinygen.relu"(%x) {activation = "relu"}' in print_graph(import_model(writer.finish([x], [y])))


@pytest.mark.parametrize("scale", [0.1, 1 / 3, 2.0**-149, 1.1754942e-38, 3.4028235e38, 1.0, 1e-5])
def test_scales_read_back_exactly(scale: float) -> None:
    exact = float(np.float32(scale))
    text = type_text(TensorType(DType.INT8, (1,), Quant((exact,), (-128,))))
    encoding = attributes_of(f'"a.b"() {{type = {text}}} : () -> ()', "a.b")["type"].encoding
    assert encoding.data["scale"].value.data == exact
    assert encoding.data["zero_point"].value.data == -128


def test_types() -> None:
    per_channel = Quant((0.5, 0.25), (0, 0), axis=3)
    assert type_text(TensorType(DType.INT8, (1, 3, 3, 2), per_channel)) == (
        "tensor<1x3x3x2xi8, {axis = 3 : i32, channels = 2 : i32}>"
    )
    assert type_text(TensorType(DType.FLOAT32, ())) == "tensor<f32>"
    assert type_text(TensorType(DType.UINT8, (2,), Quant((1.0,), (3,)))) == (
        "tensor<2xui8, {scale = 1.0 : f32, zero_point = 3 : i32}>"
    )


def test_real_models(tmp_path: Path) -> None:
    """Also where a model's name cannot be a symbol."""
    copy = tmp_path / 'digits "quoted" ä.tflite'
    copy.write_bytes(DIGITS.read_bytes())
    check(compile_model(copy, Options()).graph)
