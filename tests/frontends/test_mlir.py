"""Networks that come back from MLIR: the same C, also where other tools have printed the module; and refusals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.coded_layers import coded_graph, integer_graph
from tests.support.command_line import DIGITS, tinygen
from tests.support.control_models import branch_model, loop_model
from tests.support.float_models import write_float_model
from tests.support.mlir import VERSIONS, parsed, printed, through_mlir_opt, with_values_of
from tests.support.operator_models import BUILDERS, side_by_side
from tests.support.recurrent_models import lstm_model
from tests.support.shared import shared_file
from tests.support.stateful import variables_model
from tinygen.errors import TinygenError, UnsupportedModelError, UsageError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Spelling
from tinygen.ir.graph import Graph
from tinygen.ir.mlir import print_graph
from tinygen.ir.tensor import ChannelPart, Reordered
from tinygen.options import Options
from tinygen.pipeline import compile_model

EMPTY = print_graph(Graph("empty", (), (), ()), with_values=True)
SHARED = ("mlperf_tiny/kws_ref_model", "mlperf_tiny/str_ww_ref_model", "open/tflm_mnist_lstm_int8")


def check_same_c(model: Path, text: str, target: str = "cortex-m4") -> None:
    """The model, a file in the test's folder, and a module of its graph become the same C, to the byte."""
    module = model.with_suffix(".mlir")
    module.write_text(text)
    options = Options(name="net", target=target, allow_float=True)
    assert compile_model(module, options).files == compile_model(model, options).files


def graph_text(model: Path) -> str:
    """The graph level, as --dump writes it."""
    return print_graph(import_model(model), with_values=True)


def copy_of(model: Path, folder: Path) -> Path:
    """A file of the same name in a folder of the test's."""
    copy = folder / model.name
    copy.write_bytes(model.read_bytes())
    return copy


@pytest.mark.parametrize("first", range(0, len(BUILDERS), 5))
def test_s2_01_operators_come_back(first: int, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(side_by_side(sorted(BUILDERS)[first : first + 5], seed=first).finish())
    check_same_c(path, graph_text(path))


@pytest.mark.parametrize("name", ["branch", "loop", "variables", "lstm"])
def test_s2_01_control_flow_and_states_come_back(name: str, tmp_path: Path) -> None:
    models: dict[str, Callable[[], bytes]] = {
        "branch": branch_model,
        "loop": loop_model,
        "variables": lambda: variables_model(seed=1),
        "lstm": lambda: lstm_model(seed=1)[0],
    }
    path = tmp_path / f"{name}.tflite"
    path.write_bytes(models[name]())
    check_same_c(path, graph_text(path))


def test_s2_01_float_networks_come_back(tmp_path: Path) -> None:
    model, _ = write_float_model(tmp_path)
    check_same_c(model, graph_text(model))


@pytest.mark.parametrize("name", SHARED)
def test_s2_01_real_models_come_back(name: str, tmp_path: Path) -> None:
    model = copy_of(shared_file(f"models/{name}.tflite"), tmp_path)
    check_same_c(model, graph_text(model))


@pytest.mark.parametrize("graph", [coded_graph(1), integer_graph(1)], ids=["real", "integer"])
def test_codings_come_back(graph: Graph, tmp_path: Path) -> None:
    """Codes, scales, zero points, tables and masks: printed again they are the same text."""
    path = tmp_path / "coded.mlir"
    path.write_text(print_graph(graph, with_values=True))
    assert graph_text(path) == path.read_text()
    given, again = (
        [tensor.coding.bytes for tensor in each.tensors if tensor.coding] for each in (graph, import_model(path))
    )
    assert len(given) > 10
    assert given == again


def test_s2_01_the_dumped_level_compiles(tmp_path: Path) -> None:
    """From the command line to the command line."""
    tinygen("compile", DIGITS, "-o", tmp_path / "one", "--dump", tmp_path / "dump", "-n", "digits")
    tinygen("compile", tmp_path / "dump" / "graph.mlir", "-o", tmp_path / "two", "-n", "digits")
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).glob("*.[ch]")} for name in ("one", "two"))
    assert len(one) > 3
    assert one == two


@pytest.mark.parametrize("version", VERSIONS)
def test_s2_01_what_mlir_opt_prints_comes_back(version: int, tmp_path: Path) -> None:
    """Other names of values, other order of attributes, types in full."""
    for name, model in {"digits": DIGITS.read_bytes(), "loop": loop_model(), "lstm": lstm_model(seed=1)[0]}.items():
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(model)
        check_same_c(path, through_mlir_opt(graph_text(path), version))


def test_s2_01_what_xdsl_prints_comes_back(tmp_path: Path) -> None:
    """Its printer leaves the values of dense resources out: they are put back."""
    path = copy_of(DIGITS, tmp_path)
    text = graph_text(path)
    check_same_c(path, with_values_of(printed(parsed(text)), text))


REFUSED = {
    "": 'one "builtin.module" was expected',
    '"builtin.module"() ({}) : () -> ()': 'the module: one "func.func" was expected in it',
    '"a.b"() : () -> ()': 'one "builtin.module" was expected',
    EMPTY.replace("sym_name", "name"): "is None, str was expected",
    EMPTY.replace("func.return", "a.b"): "func.return was expected at the end of a block",
    EMPTY.replace("^bb0()", "^bb0(%x: tensor<1xi7>)"): "line 3: a type of elements that tensors have, not i7, was "
    "expected before '):'",
    EMPTY.replace("^bb0()", "^bb0(%x: tensor<1xi8>)"): "1 arguments of a block, 0 were expected",
    EMPTY.replace('"func.return"', '"tinygen.engine_layer"() : () -> () "func.return"'): (
        "tinygen.engine_layer: is no operator of a graph"
    ),
    EMPTY.replace('"func.return"', '"tinygen.relu"() : () -> () "func.return"'): (
        "tinygen.relu '': a list was expected"
    ),
    EMPTY.replace('"func.return"', '%w = "tinygen.constant"() {name = "w"} : () -> tensor<1xi8> "func.return"'): (
        "constant %w: its value was expected, which passes' dumps leave out"
    ),
    "[" * 100: "line 1: a string was expected before '[[[[[[[[[[[[[[[[[[[['",
    EMPTY.replace("sym_name =", f"a = {'[' * 100}"): f"line 5: at most 32 brackets inside of each other was expected "
    f"before '{'[' * 20}'",
    EMPTY + "{-# dialect_resources: { builtin: { a: 1 } } #-}": (
        "behind the module dense resources were expected, in hexadecimal"
    ),
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_refusals(text: str, tmp_path: Path) -> None:
    path = tmp_path / "net.mlir"
    path.write_text(text)
    with pytest.raises(UnsupportedModelError) as error:
        import_model(path)
    expected = f"{REFUSED[text]}, a graph as `tinygen compile --dump` writes it was expected. Write it anew."
    assert str(error.value) == f"net.mlir: {expected}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('sym_name = "', 'sym_name = 3, a = "'),
        ("tensor<1x8x8x1xi8", "tensor<1x8x8x9999999xi8"),
        ("tinygen.names = [", 'tinygen.names = ["a", '),
        ('"input", "weights"', '"input", "bias"'),
        ("stride = [2, 2]", "stride = [0, 2]"),
        ("stride = [2, 2]", "stride = [99999999999, 2]"),
        ("stride = [2, 2]", "stride = [2.0, 2]"),
        ("scales = array<f32: ", "scales = array<f32: 0.5, "),
        ("scales = array<f32: ", "scales = array<f32: -"),
        ('value_0: "0x04000000', 'value_0: "0x0400000001'),
        ("value_0:", "value_99:"),
    ],
)
def test_what_does_not_go_together_is_refused(old: str, new: str, tmp_path: Path) -> None:
    text = graph_text(DIGITS)
    assert old in text
    path = tmp_path / "net.mlir"
    path.write_text(text.replace(old, new))
    with pytest.raises(TinygenError) as error:
        import_model(path)
    assert error.value.exit_code == 3


def test_options_for_open_sizes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.mlir"
    path.write_text(graph_text(DIGITS))
    with pytest.raises(UsageError, match="is given with --stop-at or --input-shape, a model that leaves its end"):
        import_model(path, Spelling(stop_at=("x",)))


def test_views_that_passes_leave_are_printed_and_refused(tmp_path: Path) -> None:
    """They say what an oracle's tensor is to be compared with, and belong to a file that is not there any more."""
    graph = import_model(DIGITS)
    [image] = graph.input_tensors
    view = ChannelPart("pixels", (1, 8, 8, 2), (1,), before=Reordered("planes", (1, 2, 8, 8), (0, 2, 3, 1)))
    path = tmp_path / "net.mlir"
    path.write_text(print_graph(graph.replace_tensors({image: replace(image, view=view)}), with_values=True))
    printed_view = '[["ChannelPart", "pixels", [1, 8, 8, 2], [1]], ["Reordered", "planes", [1, 2, 8, 8], [0, 2, 3, 1]]]'
    assert f"view = {printed_view}" in path.read_text()
    with pytest.raises(UnsupportedModelError, match="a tensor is a view of one of the user's, as passes leave it"):
        import_model(path)
