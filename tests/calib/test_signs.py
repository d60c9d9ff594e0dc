"""Activations and weights of single bits from calibration: levels, tables, the C."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tests.support.onnx_writer import OnnxWriter
from tests.support.tools import requires_qemu
from tests.support.wide_layers import wide_layers
from tinygen.calib.model import load_float, quantized
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.sign_fully_connected import SignFullyConnected
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.scheme import Scheme
from tinygen.quant.sign_levels import sign_quant
from tinygen.quant.statistics import Statistics

BOARDS = ["host", pytest.param("mps2-an386", marks=[requires_qemu, pytest.mark.qemu])]
OPERATORS = ("--op", "branch=w1a1", "--op", "logits=w1a1", "--op", "stem=w1a1")


@pytest.mark.parametrize("kind", ["signed", "rectified", "negative"])
def test_no_other_two_values_have_a_smaller_error(kind: str) -> None:
    drawn: Float32Array = np.random.default_rng(3).normal(0.1, 1.5, 20000).astype(np.float32)
    values = {"signed": drawn, "rectified": np.maximum(drawn, 0), "negative": -np.abs(drawn)}[kind]
    statistics = Statistics()
    statistics.add(values)
    quant = sign_quant(statistics, Scheme.ASYMMETRIC)
    assert quant.zero_point == (-1 if kind == "rectified" else 0)

    def error(scale: float, zero_point: int) -> float:
        low, high = (scale * (sign - zero_point) for sign in (-1, 1))
        nearest = np.where(values >= (low + high) / 2, high, low)
        return float(((values - nearest) ** 2).mean())

    ours = error(quant.scale, quant.zero_point)
    for scale in np.linspace(0.05, 4, 300):
        assert ours <= min(error(float(scale), 0), error(float(scale), -1)) * 1.002
    if kind == "signed":
        assert np.isclose(quant.scale, np.abs(values).mean(), rtol=1e-3)
    assert sign_quant(statistics, Scheme.SYMMETRIC).zero_points == (0,)
    powers = np.log2(sign_quant(statistics, Scheme.POW2).scale)
    assert powers == round(powers)
    assert sign_quant(Statistics(), Scheme.ASYMMETRIC).scales == (1.0,)


@pytest.mark.parametrize("board", BOARDS)
def test_s0_04_the_c_computes_what_the_simulator_does(tmp_path: Path, board: str) -> None:
    model, data = write_float_model(tmp_path)
    table, ours, theirs, few = (tmp_path / name for name in ("t.json", "ours.npz", "c.npz", "few.npz"))
    np.savez(few, in0=samples(24)[:4])
    ended = tinygen("calibrate", model, "--data", data, "-o", table, *OPERATORS)
    assert ended.code == 0, ended.stderr
    entries = read_ctable(table)
    for name in ("stem", "branch", "logits"):
        entry = entries.ops[name]
        assert (entry.engine, entry.weights, entry.activations, entry.accumulator) == ("int1", "int1", "int1", "int32")
        assert entries.tensors[name].dtype == "int8"
    assert {cast.result for cast in entries.casts} == {"image:int1", "pooled:int1", "flat:int1"}
    assert {entries.tensors[cast.result].dtype for cast in entries.casts} == {"int1"}
    assert entries.tensors["image"].dtype == "int8"
    assert entries.tensors["pooled:int1"].zero_point == (-1,)  # behind a rectifier
    assert entries.tensors["image:int1"].zero_point == (0,)
    assert entries.tensors["branch_w"].policy == "mean"
    kinds = [type(op) for op in quantized(load_float(model), entries).ops]
    assert kinds.count(PackSigns) == 3
    assert (kinds.count(SignConv2D), kinds.count(SignFullyConnected)) == (2, 1)
    assert tinygen("ctable", "check", table, model).code == 0
    simulated = tinygen("simulate", model, "--ctable", table, "--data", few, "--output", ours, "--json")
    assert simulated.code == 0, simulated.stderr
    rows = {op["name"]: op for op in simulated.document["operators"]}
    assert rows["image:int1"]["points"][0]["point"] == "threshold"
    assert 3 < rows["image:int1"]["sqnr_db"] < 6  # of a normal distribution 4.4
    points = [point["point"] for point in rows["stem"]["points"]]
    assert points[:5] == ["input_offset", "weights", "bias", "product", "accumulator"]
    ran = tinygen("run", model, "--ctable", table, "-t", board, "--input", few, "--output", theirs)
    assert ran.code == 0, ran.stderr
    with np.load(ours) as simulator, np.load(theirs) as c:
        np.testing.assert_array_equal(simulator["out0"], next(iter(c.values())))
    ended = tinygen("validate", model, "--ctable", table, "-t", board, "--samples", "2", "--per-layer")
    assert ended.code == 0, ended.stderr
    compiled = tinygen("compile", model, "--ctable", table, "-t", board, "-o", tmp_path / "out", "--json")
    assert compiled.code == 0, compiled.stderr
    kernels = compiled.document["kernels"]
    assert kernels["CONV_2D 'branch'"] == kernels["FULLY_CONNECTED 'logits'"] == "tg_convolve_signs_s8"
    assert kernels["CAST 'pooled:int1'"] == "tg_pack_signs_s8"
    shown = tinygen("ctable", "show", table)
    assert "int1" in shown.stdout


@pytest.mark.parametrize("board", BOARDS)
def test_rings_hold_packed_rows(tmp_path: Path, board: str) -> None:
    """Row by row from an input that is streamed: packed rows are an eighth, and the results the same."""
    model, data = wide_layers(tmp_path)
    layout = ("--input-layout", "nhwc")
    with np.load(data) as found:
        np.savez(data, x=np.ascontiguousarray(found["x"].transpose(0, 2, 3, 1)))
    arenas = {}
    for name, options in (("int8", ()), ("int1", ("--op", "t[024]=w1a1"))):
        table = tmp_path / f"{name}.json"
        assert tinygen("calibrate", model, "--data", data, "-o", table, *layout, *options).code == 0
        planned = ("--ctable", table, "-t", board, "-O", "ram", "--input", "streamed", *layout)
        arenas[name] = tinygen("inspect", model, *planned, "--json").document["arena_bytes"]
        ended = tinygen("validate", model, *planned, "--samples", "2")
        assert ended.code == 0, ended.stderr
    # scratch, sums, a row of the last result, two and three packed rows, which the first layer's bytes share
    assert arenas["int1"] <= 9 * 2 * 4 + 64 * 4 + 512 + (2 + 3) * 64
    assert arenas["int1"] < arenas["int8"] / 2


def test_int16_is_cast_to_signs_too(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table = tmp_path / "t.json"
    options = ("--activations", "int16", "--op", "branch=w1a1")
    assert tinygen("calibrate", model, "--data", data, "-o", table, *options).code == 0
    entries = read_ctable(table)
    assert (entries.tensors["pooled"].dtype, entries.tensors["branch"].dtype) == ("int16", "int8")
    ended = tinygen("validate", model, "--ctable", table, "-t", "host", "--samples", "3", "--per-layer")
    assert ended.code == 0, ended.stderr


def test_packed_activations_and_weights_take_an_eighth(tmp_path: Path) -> None:
    model, data = wide_layers(tmp_path)
    constants = {}
    for name, options in (("int8", ()), ("int1", ("--op", "*=w1a1"))):
        table = tmp_path / f"{name}.json"
        ended = tinygen("calibrate", model, "--data", data, "-o", table, *options)
        assert ended.code == 0, ended.stderr
        out = tmp_path / name
        made = tinygen("compile", model, "--ctable", table, "-t", "host", "--split", "off", "-o", out, "--json")
        assert made.code == 0, made.stderr
        constants[name] = made.document["const_bytes"]
    graph = quantized(load_float(model), read_ctable(tmp_path / "int1.json"))
    packed = [tensor for tensor in graph.tensors if tensor.type.dtype is DType.SIGNS]
    assert [tensor.type.bytes for tensor in packed] == [512, 512, 512, 8]
    assert constants["int1"] * 6 < constants["int8"]
    code = (tmp_path / "int1" / "wide.c").read_text()
    sizes = re.findall(r"AT_PACK_SIGNS_\d+ = \d+, /\* (\d+) bytes \*/", code)
    assert sorted(sizes) == ["512", "512", "512", "8"]


def test_s0_04_a_network_that_was_trained_for_signs_loses_nothing(tmp_path: Path) -> None:
    """Behind Sign, with weights of one magnitude a channel: what is left is the rounding of the result."""
    writer, rng = OnnxWriter(), np.random.default_rng(4)
    x = writer.port((1, 40, 6, 6), name="x")
    magnitudes = rng.uniform(0.02, 0.1, (12, 1, 1, 1))
    weights = writer.constant((rng.choice([-1.0, 1.0], (12, 40, 3, 3)) * magnitudes).astype(np.float32))
    signs = writer.node("Sign", [x])
    writer.output(writer.node("Conv", [signs, weights], {"pads": [1, 1, 1, 1]}))
    model, data, table = tmp_path / "bnn.onnx", tmp_path / "x.npz", tmp_path / "t.json"
    model.write_bytes(writer.finish())
    drawn = rng.choice([-1.0, 1.0], (40, 40, 6, 6)) * rng.uniform(0.05, 1, (40, 40, 6, 6))
    np.savez(data, x=drawn.astype(np.float32))
    options = ("--op", "*=w1a1", "--policy", "max", "--no-bias-correction")
    assert tinygen("calibrate", model, "--data", data, "-o", table, *options).code == 0
    simulated = tinygen("simulate", model, "--ctable", table, "--data", data, "--json")
    assert simulated.code == 0, simulated.stderr
    rows = {op["name"]: op for op in simulated.document["operators"]}
    [cast] = [name for name in rows if name.endswith(":int1")]
    assert rows[cast]["sqnr_db"] is None or rows[cast]["sqnr_db"] > 60
    last = simulated.document["operators"][-1]
    assert last["sqnr_db"] > 37  # 8 bits


def test_what_has_no_kernel_stays_and_a_note_says_so(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table = tmp_path / "t.json"
    ended = tinygen("calibrate", model, "--data", data, "-o", table, "--op", "*=w1a1")
    assert ended.code == 0, ended.stderr
    assert "depthwise: its activations have all bits, no kernel of its kind has fewer." in ended.stderr
    entries = read_ctable(table)
    assert (entries.ops["depthwise"].activations, entries.ops["stem"].activations) == ("int8", "int1")
    refused = tinygen("quantize", model, "--ctable", table, "-o", tmp_path / "q.onnx")
    assert refused.code == 3
    for options, said in (
        (("--op", "stem=w8a1"), "no kernel has activations of single bits with weights of 8, w1a1 was expected."),
        (("--activations", "int1"), "--activations int1: no kernel has such, int2 to int16 was expected."),
    ):
        refused = tinygen("calibrate", model, "--data", data, "-o", table, *options)
        assert refused.code == 2
        assert said in refused.stderr


def test_tables_that_cannot_be_followed(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table = tmp_path / "t.json"
    assert tinygen("calibrate", model, "--data", data, "-o", table, "--op", "branch=w1a1").code == 0
    text = table.read_text()
    for name, change, said in (
        ("pooled", {"dtype": "int1", "zero_point": [0]}, "is int1, int16 or fewer bits were expected"),
        ("pooled:int1", {"zero_point": [1]}, "a zero point outside of int1"),
        ("branch_w", {"dtype": "int8"}, "are int8, int1 was expected by operator 'branch'"),
    ):
        document = json.loads(text)
        document["tensors"][name] |= change
        table.write_text(json.dumps(document))
        refused = tinygen("inspect", model, "--ctable", table)
        assert refused.code == 2
        assert said in refused.stderr, refused.stderr
