"""Engines in boards' files: datapaths, defaults, and whole messages for what cannot be."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import tinygen.ops
from tests.targets.test_board import GOOD
from tinygen import targets
from tinygen.errors import UsageError
from tinygen.ir.graph import Op
from tinygen.ir.text import kind_name
from tinygen.ops.crossing import Crossing
from tinygen.ops.dequantize_sums import DequantizeSumsInRange
from tinygen.ops.engine_layer import EngineLayer
from tinygen.ops.gather import Gather
from tinygen.ops.lookup import Lookup
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.partial_products import AddChannelProducts, AddProducts, ScaleProducts
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.rescale import Rescale
from tinygen.ops.running_range import ScaleOfRange, WidenRange
from tinygen.ops.running_sum import DivideSums, ScaleSums, SumRows
from tinygen.ops.shape_arithmetic import ShapeArithmetic, ShapeOf
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.sign_fully_connected import SignFullyConnected
from tinygen.ops.table_rows import TableRows
from tinygen.ops.weighted import LayerKind
from tinygen.targets.engine import Number, Overflow, Requantization
from tinygen.targets.engine_operators import LAYERS, OPERATORS

ENGINES = """
[[engine]]
name = "cpu"
kind = "cmsis-nn"

[[engine]]
name = "npu"
kind = "extern"
operators = ["conv_2d"]
datapath = { weights = "int4", accumulator_bits = 20, overflow = "saturate", requantization = "shift" }

[[engine]]
kind = "analog-cim"
crossbar = { rows = 128, adc_bits = 6 }

[[engine]]
kind = "float"

[[engine]]
name = "wide"
kind = "tinygen"
datapath = { activations = "int16" }
"""


def _load(folder: Path, text: str) -> targets.Board:
    file = folder / "mine.toml"
    file.write_text(GOOD + text)
    return targets.load(str(file))


def test_engines_of_a_file(tmp_path: Path) -> None:
    board = _load(tmp_path, ENGINES)
    assert board.assigns_engines
    assert [(engine.label, str(engine.path)) for engine in board.engines] == [
        ("cpu", "w8a8"),
        ("npu", "w4a8"),
        ("analog-cim", "w8a8"),
        ("float", "float32"),
        ("wide", "w8a16"),
    ]
    cpu, npu, cim, _, wide = board.engines
    assert (npu.prefix, cim.prefix) == ("npu_", "analog_cim_")
    assert (npu.path.bits, npu.path.overflow, npu.path.rounding) == (20, Overflow.SATURATE, Requantization.SHIFT)
    assert (cpu.path.bits, cpu.path.rounding) == (32, Requantization.DOUBLE)
    assert (wide.path.bits, wide.path.rounding, wide.path.is_symmetric) == (64, Requantization.SINGLE, True)
    assert wide.path.activations is Number.INT16


@pytest.mark.parametrize("text", ["", '[[engine]]\nkind = "cmsis-nn"\n', '[[engine]]\nname = "c"\nkind = "tinygen"\n'])
def test_boards_without_datapaths_assign_nothing(tmp_path: Path, text: str) -> None:
    assert not _load(tmp_path, text).assigns_engines
    assert not any(targets.load(name).assigns_engines for name in targets.names())


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('kind = "extern"', 'kind = "npu"', "'cmsis-nn', 'tinygen', 'float', 'extern' or 'analog-cim'"),
        ('weights = "int4"', 'weights = "int3"', "key 'engine.1.datapath.weights': Input should be 'int1', 'int2', "),
        ('weights = "int4"', 'bits = 4, weights = "int4"', "key 'engine.1.datapath.bits' is not known"),
        (
            'weights = "int4"',
            'activations = "int4"',
            "key 'engine.1.datapath': activations are 'int4', expected 'int8' or 'int16' or 'float32'",
        ),
        (
            'weights = "int4"',
            'weights = "int16"',
            "weights are 'int16' with activations 'int8', expected 'int8' or 'int4' or 'int2' or 'int1'",
        ),
        ("_bits = 20", "_bits = 40", "accumulator_bits are 40 with activations 'int8', expected at most 32"),
        (
            'activations = "int16"',
            'activations = "int16", requantization = "double"',
            "requantization is 'double' with activations 'int16', expected 'single' or 'shift'",
        ),
        (
            'name = "cpu"\nkind = "cmsis-nn"',
            'name = "cpu"\nkind = "cmsis-nn"\ndatapath = { requantization = "shift" }',
            "key 'engine.0': requantization is 'shift' with kind 'cmsis-nn' and activations 'int8', expected 'double'",
        ),
        (
            'name = "cpu"\nkind = "cmsis-nn"',
            'name = "cpu"\nkind = "cmsis-nn"\ndatapath = { accumulator_bits = 24 }',
            "key 'engine.0': accumulator has 24 bits (wrap) with kind 'cmsis-nn', expected 32 (wrap)",
        ),
        (
            'name = "cpu"\n',
            'name = "cpu"\ncall_prefix = "cpu_"\n',
            "call_prefix is given with kind 'cmsis-nn', expected only with 'extern' and 'analog-cim'",
        ),
        (
            "crossbar = { rows = 128, adc_bits = 6 }",
            "",
            "key 'engine.2': crossbar is missing with kind 'analog-cim', expected rows and adc_bits",
        ),
        (
            'kind = "extern"',
            'kind = "extern"\ncrossbar = { rows = 1, adc_bits = 6 }',
            "key 'engine.1': crossbar is given with kind 'extern', expected only with 'analog-cim'",
        ),
        (
            'kind = "float"',
            'kind = "float"\ndatapath = { activations = "int8" }',
            "key 'engine.3': activations are 'int8' with kind 'float', expected 'float32'",
        ),
        (
            "adc_bits = 6",
            "adc_bits = 1",
            "key 'engine.2.crossbar.adc_bits': Input should be greater than or equal to 2",
        ),
        ('name = "wide"', 'name = "npu"', "engine names are cpu, npu, analog-cim, float, npu, expected each name once"),
        (
            'name = "npu"',
            'name = "npu"\ncall_prefix = "analog_cim_"',
            "call prefixes are analog_cim_, analog_cim_, expected each once",
        ),
        ('name = "npu"', 'name = "N"', "key 'engine.1.name': String should match pattern"),
        (
            '["conv_2d"]',
            '["conv_2d", "depthwise_conv2d"]',
            "key 'engine.1': operator 'depthwise_conv2d' is no operator (did you mean 'depthwise_conv_2d'?), with kind "
            "'extern' expected some of conv_2d, depthwise_conv_2d, fully_connected",
        ),
        (
            '["conv_2d"]',
            '["add"]',
            "key 'engine.1': operator 'add' is none of this kind's, with kind 'extern' expected some of conv_2d, ",
        ),
        (
            'kind = "cmsis-nn"',
            'kind = "cmsis-nn"\noperators = ["CONV_2D"]',
            "key 'engine.0': operator 'CONV_2D' is no operator, with kind 'cmsis-nn' expected some of abs, add, ",
        ),
    ],
)
def test_bad_engines(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in ENGINES
    with pytest.raises(UsageError) as caught:
        _load(tmp_path, ENGINES.replace(old, new, 1))
    assert problem in str(caught.value)
    assert str(caught.value).endswith(". Correct the file.")


@pytest.mark.parametrize("datapath", ['activations = "float32"', 'activations = "float32", weights = "float32"'])
def test_a_float_engine_may_say_so(tmp_path: Path, datapath: str) -> None:
    said = _load(tmp_path, ENGINES.replace('kind = "float"', f'kind = "float"\ndatapath = {{ {datapath} }}'))
    plain = _load(tmp_path, ENGINES)
    assert said.engines[3].path == plain.engines[3].path
    assert str(said.engines[3].path) == "float32"


def test_names_of_operators_are_those_of_the_ir() -> None:
    """A list of its own, as boards are known before operators are."""
    for module in pkgutil.iter_modules(tinygen.ops.__path__):
        import_module(f"tinygen.ops.{module.name}")
    made_inside = {
        AddChannelProducts, AddProducts, Crossing, Dequantize, DequantizeSumsInRange, DivideSums, EngineLayer, Lookup,
        PackSigns, Quantize,
        Rescale, ScaleOfRange, ScaleProducts, ScaleSums, ShapeArithmetic, ShapeOf, SignConv2D, SignFullyConnected,
        SumRows, TableRows, WidenRange,
    }  # fmt: skip
    named = {kind for kind in _subclasses(Op) if kind.__module__.startswith("tinygen.ops.")}
    kinds = {kind for kind in named if kind is Gather or not kind.__subclasses__()} - made_inside
    assert tuple(sorted(map(kind_name, kinds))) == OPERATORS
    assert tuple(kind.value for kind in LayerKind) == LAYERS


def _subclasses(kind: type[Op]) -> Iterator[type[Op]]:
    for found in kind.__subclasses__():
        yield found
        yield from _subclasses(found)


def test_one_engine_is_on_the_cpu(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        _load(tmp_path, '[[engine]]\nname = "npu"\nkind = "extern"\n')
    problem = "engines are npu, expected one on the CPU (cmsis-nn, tinygen or float) for what they leave"
    assert str(caught.value) == f"{tmp_path / 'mine.toml'}: {problem}. Correct the file."
