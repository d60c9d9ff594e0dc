"""Engines in boards' files: datapaths, defaults, and whole messages for what cannot be."""

from pathlib import Path

import pytest

from tests.targets.test_board import GOOD
from tinygen import targets
from tinygen.errors import UsageError
from tinygen.targets.engine import Number, Overflow, Requantization

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
    ],
)
def test_bad_engines(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in ENGINES
    with pytest.raises(UsageError) as caught:
        _load(tmp_path, ENGINES.replace(old, new, 1))
    assert problem in str(caught.value)
    assert str(caught.value).endswith(". Correct the file.")


def test_one_engine_is_on_the_cpu(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        _load(tmp_path, '[[engine]]\nname = "npu"\nkind = "extern"\n')
    problem = "engines are npu, expected one on the CPU (cmsis-nn, tinygen or float) for what they leave"
    assert str(caught.value) == f"{tmp_path / 'mine.toml'}: {problem}. Correct the file."
