"""Weights and activations of one to sixteen bits: the simulator and the C."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tests.support.tools import requires_qemu
from tinygen import paths
from tinygen.calib.model import load_float, quantized
from tinygen.ir.types import DType
from tinygen.quant.constraints import groups
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.engines.datapaths import with_crossings
from tinygen.quant.forward import NumpyForward
from tinygen.targets.engine import Datapath

BOARDS = ["host", pytest.param("mps2-an386", marks=[requires_qemu, pytest.mark.qemu])]
LAYERS = ("stem", "depthwise", "branch", "logits")
OTHERS = ("total", "pooled", "both", "flat")

_PAIRS = st.integers(2, 16).flatmap(lambda a: st.tuples(st.integers(1, 8 if a <= 8 else 16), st.just(a)))


def _agrees(folder: Path, options: tuple[str, ...], board: str) -> Path:
    """The table, after the C has been found to compute what the simulator does."""
    model, data = write_float_model(folder)
    table, ours, theirs, few = (folder / name for name in ("t.json", "ours.npz", "c.npz", "few.npz"))
    np.savez(few, in0=samples(24)[:4])
    ended = tinygen("calibrate", model, "--data", data, "-o", table, *options)
    assert ended.code == 0, ended.stderr
    assert tinygen("ctable", "check", table, model).code == 0
    simulated = tinygen("simulate", model, "--ctable", table, "--data", few, "--output", ours, "--json")
    assert simulated.code == 0, simulated.stderr
    ran = tinygen("run", model, "--ctable", table, "-t", board, "--input", few, "--output", theirs)
    assert ran.code == 0, ran.stderr
    with np.load(ours) as simulator, np.load(theirs) as c:
        np.testing.assert_array_equal(simulator["out0"], next(iter(c.values())))
    return table


def _keeps_to_its_bits(folder: Path, table: Path) -> None:
    """Groups share a width, and no tensor has a value beyond its own."""
    model = load_float(folder / "net.tflite")
    entries = read_ctable(table)
    for group in groups(with_crossings(model.graph, entries.casts)):
        assert len({entries.tensors[tensor.name].dtype for tensor in group.tensors}) == 1
    graph = quantized(model, entries)
    tensors = {t.name: t for t in graph.tensors if not t.is_constant and t.type.quant is not None}
    for name, values in NumpyForward(graph, list(tensors)).run([samples(8, seed=9) * 3]).items():
        type = tensors[name].type
        entry = entries.tensors[name]
        assert (type.min, type.max) == (entry.dtype.min, entry.dtype.max), name
        assert type.min <= values.min() <= values.max() <= type.max, name


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_PAIRS, min_size=4, max_size=4), st.lists(st.integers(2, 16), min_size=4, max_size=4))
def test_s0_06_s0_31_any_widths_run_as_they_are_simulated(
    tmp_path: Path, layers: list[tuple[int, int]], others: list[int]
) -> None:
    asked = [f"{name}=w{w}a{a}" for name, (w, a) in zip(LAYERS, layers, strict=True)]
    asked += [f"{name}=w8a{a}" for name, a in zip(OTHERS, others, strict=True)]
    table = _agrees(tmp_path, tuple(part for text in asked for part in ("--op", text)), "host")
    entries = read_ctable(table)
    for name, (weights, activations) in zip(LAYERS, layers, strict=True):
        assert entries.ops[name].weights == f"int{weights}"
        assert entries.tensors[name].dtype == entries.ops[name].activations == f"int{activations}"
    _keeps_to_its_bits(tmp_path, table)


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(
    "options",
    [
        ("--activations", "int4", "--weights", "int4"),
        ("--activations", "int12", "--weights", "int12"),
        ("--activations", "int6", "--weights", "int3", "--op", "total=w8a16", "--op", "branch=w5a9"),
        ("--activations", "int16", "--weights", "int4", "--op", "depthwise=w2a3"),
    ],
    ids=["w4a4", "w12a12", "mixed", "narrow-weights-of-int16"],
)
def test_a_whole_network_of_a_width(tmp_path: Path, board: str, options: tuple[str, ...]) -> None:
    table = _agrees(tmp_path, options, board)
    _keeps_to_its_bits(tmp_path, table)
    model = tmp_path / "net.tflite"
    ended = tinygen("validate", model, "--ctable", table, "-t", board, "--samples", "2", "--per-layer")
    assert ended.code == 0, ended.stderr
    refined = tinygen("calibrate", model, "--refine", "--ctable-in", table, "-o", tmp_path / "r.json", "--json")
    if read_ctable(table).engines:
        assert "one for the CPU alone was expected" in refined.stderr
    else:
        assert refined.document["changes"] == []


def test_fewer_bits_lose_more(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table, ratios = tmp_path / "t.json", []
    for bits in (3, 4, 6, 8, 10, 12):
        options = ("--activations", f"int{bits}", "--weights", f"int{max(bits, 8)}") if bits > 8 else (
            "--activations", f"int{bits}",
        )  # fmt: skip
        assert tinygen("calibrate", model, "--data", data, "-o", table, *options).code == 0
        simulated = tinygen("simulate", model, "--ctable", table, "--data", data, "--json")
        ratios.append(next(op for op in simulated.document["operators"] if op["name"] == "logits")["sqnr_db"])
    assert ratios == sorted(ratios)
    assert all(later - sooner > 3 for sooner, later in pairwise(ratios)), ratios


def test_softmax_keeps_all_bits_and_a_note_says_so(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table = tmp_path / "t.json"
    ended = tinygen("calibrate", model, "--data", data, "-o", table, "--activations", "int5")
    assert ended.code == 0
    assert "scores: its activations have all bits, no kernel of its kind has fewer." in ended.stderr
    entries = read_ctable(table)
    assert (entries.tensors["scores"].dtype, entries.tensors["image"].dtype) == ("int8", "int8")
    assert {entries.tensors[name].dtype for name in ("image:int5", "stem", "both", "logits")} == {"int5"}
    for suffix in ("onnx", "tflite"):
        refused = tinygen("quantize", model, "--ctable", table, "-o", tmp_path / f"q.{suffix}")
        assert refused.code == 3
        assert "has activations of less than eight bits by its CTable" in refused.stderr


def test_a_table_whose_clamp_leaves_its_bits_is_refused(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table = tmp_path / "t.json"
    assert tinygen("calibrate", model, "--data", data, "-o", table, "--op", "stem=w8a4").code == 0
    entries = read_ctable(table)
    control = entries.ops["stem"].control
    assert control is not None
    assert (control.act_min, control.act_max) == (-8, 7)
    text = table.read_text()
    assert text.count('"act_max": 7,') == 1
    table.write_text(text.replace('"act_max": 7,', '"act_max": 8,'))
    refused = tinygen("inspect", model, "--ctable", table)
    assert refused.code == 2
    assert "the clamp is [-8, 8], a range within [-8, 7] was expected" in refused.stderr


ENGINES = """
[[engine]]
name = "cpu"
kind = "tinygen"
cycles_per_mac = 10

[[engine]]
name = "npu"
kind = "{kind}"
operators = ["conv_2d", "fully_connected"]
datapath = {{ weights = "{weights}", activation_bits = {bits} }}
"""


@pytest.mark.parametrize(
    ("kind", "weights", "bits"), [("extern", "int4", 4), ("tinygen", "int2", 3), ("tinygen", "int1", 1)]
)
def test_engines_of_a_board_with_few_bits(tmp_path: Path, kind: str, weights: str, bits: int) -> None:
    board, table = tmp_path / "board.toml", tmp_path / "t.json"
    board.write_text((paths.BOARDS / "host.toml").read_text() + ENGINES.format(kind=kind, weights=weights, bits=bits))
    model, data = write_float_model(tmp_path)
    ended = tinygen("calibrate", model, "--data", data, "-t", board, "-o", table, "--max-drop", "100")
    assert ended.code == 0, ended.stderr
    entries = read_ctable(table)
    assert {name for name, op in entries.ops.items() if op.engine == "npu"} == {"stem", "branch", "logits"}
    assert entries.tensors["branch"].dtype == ("int8" if bits == 1 else f"int{bits}")
    assert entries.tensors[f"pooled:int{bits}"].dtype == f"int{bits}"
    assert (entries.tensors["image"].dtype, entries.ops["stem"].weights) == ("int8", weights)
    ended = tinygen("validate", model, "--ctable", table, "-t", board, "--samples", "3", "--per-layer")
    assert ended.code == 0, ended.stderr


def test_operators_without_few_bits_go_to_other_engines(tmp_path: Path) -> None:
    board, table = tmp_path / "board.toml", tmp_path / "t.json"
    engines = ENGINES.format(kind="tinygen", weights="int4", bits=4)
    listed = 'operators = ["conv_2d", "fully_connected"]\n'
    assert listed in engines
    engines = engines.replace(listed, "").replace("cycles_per_mac = 10", "cycles_per_element = 1000")
    board.write_text((paths.BOARDS / "host.toml").read_text() + engines)
    model, data = write_float_model(tmp_path)
    calibrated = tinygen("calibrate", model, "--data", data, "-t", board, "-o", table, "--max-drop", "100")
    assert calibrated.code == 0, calibrated.stderr
    ops = read_ctable(table).ops
    assert {name for name, op in ops.items() if op.engine == "cpu"} - {"flat"} == {"scores"}  # flat costs nothing
    text = table.read_text()
    ended = tinygen("validate", model, "--ctable", table, "-t", board, "--samples", "3", "--per-layer")
    assert ended.code == 0, ended.stderr
    document = json.loads(text)
    document["ops"]["scores"]["engine"] = "npu"
    table.write_text(json.dumps(document))
    refused = tinygen("inspect", model, "--ctable", table, "-t", board)
    assert refused.code == 2
    assert "which has no kernel for softmax with so few bits" in refused.stderr


@pytest.mark.parametrize(
    ("kind", "bits", "said"),
    [
        ("extern", 8, "activation_bits are 8 with activations 'int8', expected 1 to 7 of 'int8' or 9 to 15 of 'int16'"),
        ("extern", 1, "activation_bits are 1 with kind 'extern', expected only with 'tinygen'"),
    ],
)
def test_bits_that_no_engine_has(tmp_path: Path, kind: str, bits: int, said: str) -> None:
    board, host = tmp_path / "board.toml", (paths.BOARDS / "host.toml").read_text()
    board.write_text(host + ENGINES.format(kind=kind, weights="int1", bits=bits))
    assert said in tinygen("targets", board).stderr + tinygen("inspect", "no.onnx", "-t", board).stderr
    alone = ENGINES.format(kind="tinygen", weights="int4", bits=4).replace(
        'name = "cpu"', 'name = "cpu"\ndatapath = { activations = "int16" }'
    )
    board.write_text(host + alone)
    said = "engine 'npu' has activation_bits, expected beside it one on the CPU with all bits of 'int8'"
    assert said in tinygen("inspect", "no.onnx", "-t", board).stderr


def test_bits_of_an_engine() -> None:
    assert str(Datapath(activation_bits=4)) == "w8a4"
    assert Datapath(activation_bits=4).stored == "int4"
    for bits, weights in ((8, "int8"), (1, "int8"), (9, "int8")):
        with pytest.raises(ValueError, match="activation_bits"):
            Datapath.model_validate({"activation_bits": bits, "weights": weights})
    assert DType.INT8.bits == 8
