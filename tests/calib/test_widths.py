"""Weights of four, two and one bits from calibration: their values, the C, and the choice of layers."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tests.support.onnx_writer import OnnxWriter
from tests.support.tools import requires_qemu
from tinygen.calib.calibrator import Calibrator
from tinygen.calib.mixed import constant_bytes
from tinygen.calib.model import load_float, quantized
from tinygen.ir.types import DType, Float32Array
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.histogram import Reals
from tinygen.quant.scheme import Scheme
from tinygen.quant.stored_weights import along_axis, stored_weights
from tinygen.quant.weight_scales import weight_quant
from tinygen.quant.widths import Override, Widths

OPERATORS = ("--op", "stem=w4a8", "--op", "depthwise=w2a8", "--op", "bran*=w1a8", "--op", "dense_w=w4a8")
BOARDS = ["host", pytest.param("mps2-an386", marks=[requires_qemu, pytest.mark.qemu])]


def _weights() -> Float32Array:
    drawn: Float32Array = np.random.default_rng(5).normal(0, 0.3, (6, 3, 3, 40)).astype(np.float32)
    drawn[3] = 0
    return drawn


def _error(weights: Float32Array, scales: Reals, dtype: DType) -> Reals:
    """Squared error per channel, rounded here."""
    wide = np.asarray(scales, np.float64).reshape(-1, 1, 1, 1)
    largest = {DType.INT4: 7, DType.INT2: 1}.get(dtype)
    signs = np.where(weights >= 0, 1, -1)
    stored = signs if largest is None else np.clip(np.rint(weights.astype(np.float64) / wide), -largest, largest)
    return np.asarray(((stored * wide - weights) ** 2).sum(axis=(1, 2, 3)))


@pytest.mark.parametrize("dtype", [DType.INT4, DType.INT2, DType.INT1])
def test_no_scale_has_a_smaller_error(dtype: DType) -> None:
    weights = _weights()
    quant = weight_quant(weights, dtype, 0, Scheme.SYMMETRIC)
    stored = stored_weights(weights, quant, (), dtype)
    assert set(np.unique(stored)) <= set(range(-dtype.max, dtype.max + 1))
    ours = ((stored * along_axis(quant, 4) - weights) ** 2).sum(axis=(1, 2, 3))
    assert np.allclose(ours, _error(weights, np.array(quant.scales), dtype))
    alive = [0, 1, 2, 4, 5]
    for factor in np.linspace(0.3, 3, 200):
        others = _error(weights, factor * np.array(quant.scales), dtype)
        assert (ours[alive] <= others[alive] * 1.01).all()
    if dtype is DType.INT1:
        assert np.allclose(np.array(quant.scales)[alive], np.abs(weights).mean(axis=(1, 2, 3))[alive], rtol=1e-6)
        assert set(np.unique(stored)) == {-1, 1}
    powers = np.log2(weight_quant(weights, dtype, 0, Scheme.POW2).scales)
    assert np.array_equal(powers, np.rint(powers))


def test_a_flip_of_a_single_bit_is_its_other_sign() -> None:
    weights = np.array([[0.5, -0.25], [1.0, 2.0]], np.float32)
    quant = weight_quant(weights, DType.INT1, 0, Scheme.SYMMETRIC)
    assert quant.scales == (0.375, 1.5)
    assert stored_weights(weights, quant, (1, 2), DType.INT1).tolist() == [[1, 1], [-1, 1]]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("rounding", ["nearest", "adaptive"])
def test_s0_05_s0_06_the_c_computes_what_the_simulator_does(tmp_path: Path, board: str, rounding: str) -> None:
    model, data = write_float_model(tmp_path)
    table, ours, theirs = (tmp_path / name for name in ("t.json", "ours.npz", "c.npz"))
    ended = tinygen("calibrate", model, "--data", data, "-o", table, "--rounding", rounding, *OPERATORS)
    assert ended.code == 0, ended.stderr
    entries = read_ctable(table)
    wanted = {"stem_w": "int4", "depthwise_w": "int2", "branch_w": "int1", "dense_w": "int4"}
    assert {name: entries.tensors[name].dtype for name in wanted} == wanted
    assert entries.ops["depthwise"].weights == "int2"
    simulated = tinygen(
        "simulate", model, "--ctable", table, "--data", data, "--samples", "4", "--output", ours, "--json"
    )
    assert simulated.code == 0, simulated.stderr
    [stem] = [op for op in simulated.document["operators"] if op["name"] == "stem"]
    assert {"point": "weights", "detail": "int4, 8 scales"} in stem["points"]
    few = tmp_path / "few.npz"
    np.savez(few, in0=samples(24)[:4])
    ran = tinygen("run", model, "--ctable", table, "-t", board, "--input", few, "--output", theirs)
    assert ran.code == 0, ran.stderr
    with np.load(ours) as simulator, np.load(theirs) as c:
        np.testing.assert_array_equal(simulator["out0"], next(iter(c.values())))


def test_fewer_bits_take_less_flash_and_the_file_of_other_runtimes_has_their_values(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path, 64)
    real = load_float(model)
    batches = [samples(64)]
    graphs = {
        storage: Calibrator(real, None, Settings(widths=Widths(storage))).run(batches).graph
        for storage in (Storage.INT8, Storage.INT4, Storage.INT2, Storage.INT1)
    }
    weights = sum(op.operands[1].type.elements for op in graphs[Storage.INT8].ops if len(op.operands) == 3)
    eight = constant_bytes(graphs[Storage.INT8])
    for storage, graph in graphs.items():
        assert constant_bytes(graph) == eight - weights + weights * storage.bits // 8
    for suffix in ("onnx", "tflite"):
        out = tmp_path / f"q.{suffix}"
        assert tinygen("quantize", model, "--data", data, "--weights", "int4", "-o", out).code == 0
        if suffix == "tflite":
            validated = tinygen("validate", out, "--samples", "2", "--against", "simulator", "--json", "-t", "host")
            assert validated.code == 0, validated.stderr


def test_mixed_widths_keep_to_flash_and_drop(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path, 64)
    table = tmp_path / "t.json"
    asked = ("calibrate", model, "--data", data, "-o", table, "--mixed", "auto", "--json")
    free = tinygen(*asked, "--max-drop", "100").document["mixed"]
    assert [layer["weights"] for layer in free["layers"]] == ["int4"] * 4
    assert free["metric"] == "cosine"
    limit = free["constant_bytes"] + 300
    some = tinygen(*asked, "--max-drop", "100", "--flash", str(limit)).document["mixed"]
    chosen = [layer["weights"] for layer in some["layers"]]
    assert some["constant_bytes"] <= limit
    assert set(chosen) == {"int4", "int8"}
    assert chosen == sorted(chosen)  # int4 first: as in the order of loss
    entries = read_ctable(table)
    assert constant_bytes(quantized(load_float(model), entries)) == some["constant_bytes"]
    compiled = tinygen("inspect", model, "--ctable", table, "--json")
    assert compiled.code == 0, compiled.stderr
    for layer in some["layers"]:
        assert entries.ops[layer["name"]].sensitivity == layer["sensitivity"]
        assert layer["sensitivity"]["int4"] < layer["sensitivity"]["int8"]
    none = tinygen(*asked, "--max-drop", "0").document["mixed"]
    assert {layer["weights"] for layer in none["layers"]} == {"int8"}
    refused = tinygen(*asked, "--max-drop", "0", "--flash", "100")
    assert refused.code == 4
    assert "at most 100 were expected" in refused.stderr
    pinned = tinygen(*asked, "--max-drop", "100", "--op", "stem=w8a8").document["mixed"]
    assert "stem" not in [layer["name"] for layer in pinned["layers"]]


@pytest.mark.parametrize("board", BOARDS)
def test_int16_activations_run_as_they_are_simulated(tmp_path: Path, board: str) -> None:
    model, data = write_float_model(tmp_path)
    table, ours, theirs, few = (tmp_path / name for name in ("t.json", "ours.npz", "c.npz", "few.npz"))
    np.savez(few, in0=samples(24)[:4])
    assert tinygen("calibrate", model, "--data", data, "-o", table, "--activations", "int16").code == 0
    entries = read_ctable(table)
    stem = entries.tensors["image"]
    largest = float(np.abs(samples(24)).max())
    assert (stem.dtype, stem.zero_point, stem.scale) == ("int16", (0,), (float(np.float32(largest / 32767)),))
    assert (entries.ops["stem"].activations, entries.ops["stem"].accumulator) == ("int16", "int64")
    simulated = tinygen("simulate", model, "--ctable", table, "--data", few, "--output", ours, "--json")
    assert simulated.code == 0, simulated.stderr
    refined = tinygen("calibrate", model, "--refine", "--ctable-in", table, "-o", tmp_path / "r.json", "--json")
    assert refined.code == 0, refined.stderr
    assert refined.document["changes"] == []
    logits = next(op for op in simulated.document["operators"] if op["name"] == "logits")
    assert {"point": "accumulator", "detail": "int64"} in logits["points"]
    assert logits["sqnr_db"] > 35  # of int8 weights alone
    ran = tinygen("run", model, "--ctable", table, "-t", board, "--input", few, "--output", theirs)
    assert ran.code == 0, ran.stderr
    with np.load(ours) as simulator, np.load(theirs) as c:
        np.testing.assert_array_equal(simulator["out0"], next(iter(c.values())))
    for suffix in ("onnx", "tflite"):
        refused = tinygen("quantize", model, "--ctable", table, "-o", tmp_path / f"q.{suffix}")
        assert refused.code == 3
        assert "has int16 tensors" in refused.stderr


WIDE_BELOW = ("--op", "depthwise=w8a16", "--op", "logits=w8a16", "--op", "stem=w4a8")
WIDE_ABOVE = ("--activations", "int16", "--op", "depthwise=w8a8", "--op", "total=w8a8", "--op", "branch=w4a8")


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("options", [WIDE_BELOW, WIDE_ABOVE], ids=["few", "most"])
def test_single_operators_on_int16(tmp_path: Path, board: str, options: tuple[str, ...]) -> None:
    model, data = write_float_model(tmp_path)
    table, ours, theirs, few = (tmp_path / name for name in ("t.json", "ours.npz", "c.npz", "few.npz"))
    np.savez(few, in0=samples(24)[:4])
    ended = tinygen("calibrate", model, "--data", data, "-o", table, *options)
    assert ended.code == 0, ended.stderr
    found = read_ctable(table)
    is_few = options is WIDE_BELOW
    narrow, wide = ("int8", "int16") if is_few else ("int16", "int8")
    for op in ("stem", "depthwise", "total", "branch", "logits"):
        is_other = op in (("depthwise", "logits") if is_few else ("depthwise", "total", "branch"))
        assert found.ops[op].activations == (wide if is_other else narrow), op
        assert found.tensors[op].dtype == (wide if is_other else narrow), op
    assert found.tensors["stem_w" if is_few else "branch_w"].dtype == "int4"
    expected = {f"stem:{wide}"} | ({"depthwise:int8", "flat:int16"} if is_few else {"total:int16", "pooled:int8"})
    assert expected <= {cast.result for cast in found.casts}
    for cast in found.casts:
        assert found.tensors[cast.result].dtype == cast.destination
        assert found.tensors[cast.tensor].dtype == cast.source
    assert tinygen("ctable", "check", table, model).code == 0
    simulated = tinygen("simulate", model, "--ctable", table, "--data", few, "--output", ours, "--json")
    assert simulated.code == 0, simulated.stderr
    ran = tinygen("run", model, "--ctable", table, "-t", board, "--input", few, "--output", theirs)
    assert ran.code == 0, ran.stderr
    with np.load(ours) as simulator, np.load(theirs) as c:
        np.testing.assert_array_equal(simulator["out0"], next(iter(c.values())))
    ended = tinygen("validate", model, "--ctable", table, "-t", board, "--samples", "2", "--per-layer")
    assert ended.code == 0, ended.stderr


def _functions(folder: Path) -> Path:
    """A fully connected layer, then a sigmoid and a hyperbolic tangent, their product, and a softmax."""
    writer, rng = OnnxWriter(), np.random.default_rng(0)
    x = writer.port((1, 12), name="x")
    weights = [writer.constant(rng.normal(0, 0.6, (16, 12)).astype(np.float32)) for _ in range(2)]
    gates = [writer.node("Gemm", [x, w], {"transB": 1}) for w in weights]
    gated = writer.node("Mul", [writer.node("Sigmoid", gates[:1]), writer.node("Tanh", gates[1:])])
    writer.output(writer.node("Softmax", [gated]))
    (folder / "gates.onnx").write_bytes(writer.finish())
    return folder / "gates.onnx"


@pytest.mark.parametrize("board", BOARDS)
def test_functions_of_int16(tmp_path: Path, board: str) -> None:
    model, data, table = _functions(tmp_path), tmp_path / "x.npz", tmp_path / "t.json"
    np.savez(data, x=np.random.default_rng(1).normal(0, 2, (32, 12)).astype(np.float32))
    cases = (
        (("--activations", "int16"), 45, "Q15, table of 513 values, interpolated"),
        (("--op", "t*=w8a16", "--op", "t5=w8a8"), 0, "Q0.31 polynomial, sum in Q12.19"),
    )
    for options, least, exponential in cases:
        assert tinygen("calibrate", model, "--data", data, "-o", table, *options).code == 0
        simulated = tinygen("simulate", model, "--ctable", table, "--data", data, "--json")
        assert simulated.code == 0, simulated.stderr
        for op in simulated.document["operators"]:
            if op["operator"] in ("Sigmoid", "Tanh"):
                assert op["points"][0]["point"] == "interpolation"
                assert op["sqnr_db"] > 40  # of int8 weights before it
            if op["operator"] == "Softmax":
                assert op["sqnr_db"] > least
                assert op["points"][1]["detail"] == exponential
        ended = tinygen("validate", model, "--ctable", table, "-t", board, "--samples", "3", "--per-layer", "--json")
        assert ended.code == 0, ended.stderr
        assert ended.document["exact"]


def test_compiling_with_samples_makes_the_same_table(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table, out = tmp_path / "t.json", tmp_path / "out"
    options = ("--weights", "int4", "--op", "stem=w8a8")
    assert tinygen("calibrate", model, "--data", data, "-t", "host", "-o", table, *options).code == 0
    assert tinygen("compile", model, "--calibrate", data, "-t", "host", "-o", out, *options).code == 0
    assert (out / "net.ctable.json").read_bytes() == table.read_bytes()
    alone = tinygen("inspect", model, "--ctable", table, "--weights", "int4")
    assert alone.code == 2
    assert " ".join(alone.stderr.split()) == (
        "tinygen: --weights: given without --calibrate, which was expected too. Add it, or leave --weights out."
    )


def test_wrong_widths_are_refused(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table = tmp_path / "t.json"
    asked = ("calibrate", model, "--data", data, "-o", table)
    for options, said in (
        (("--op", "nothing=w4a8"), "--op nothing: "),
        (("--op", "stem=w17a8"), "--op stem=w17a8: NAME=w4a8 was expected, with weights of 1 to 16 bits and activ"),
        (("--op", "stem=w0a8"), "--op stem=w0a8: NAME=w4a8 was expected"),
        (("--op", "stem=int4"), "--op stem=int4: NAME=w4a8 was expected"),
        (("--op", "stem=w9a8"), "no kernel has weights of 9 bits with activations of 8, at most 8 bits of weights "),
        (("--op", "stem=w8a1"), "--op stem=w8a1: "),
        (("--weights", "int17"), "--weights int17: no kernel has such weights, int1 to int16 was expected."),
        (("--weights", "int16"), "--weights int16: no kernel has weights of 16 bits with activations of 8, at most "),
        (("--weights", "int4", "--mixed", "auto"), "--weights: --mixed chooses by itself"),
        (("--metric", "accuracy"), "--metric accuracy: nothing is chosen by it, --search, --mixed or a board"),
        (("--op", "pooled=w4a8"), "--op pooled: "),
        (("--activations", "int32"), "--activations int32: no kernel has such, int2 to int16 was expected."),
        (("--activations", "int1"), "--activations int1: no kernel has such, int2 to int16 was expected."),
        (("--flash", "20k"), "--flash: is for --mixed auto"),
        (("--mixed", "auto", "--metric", "accuracy"), "has no array named labels"),
    ):
        ended = tinygen(*asked, *options)
        assert ended.code == 2
        assert said in ended.stderr
    assert tinygen(*asked, "--weights", "int4").code == 0
    document = json.loads(table.read_text())
    document["ops"]["stem"]["weights"] = "int8"
    table.write_text(json.dumps(document))
    refused = tinygen("inspect", model, "--ctable", table)
    assert refused.code == 2
    assert "weights 'stem_w': are int4, int8 was expected by operator 'stem'" in refused.stderr


def test_a_name_may_hold_an_equals_sign() -> None:
    assert Override.parse("a=b=w1a8") == Override("a=b", Storage.INT1)
