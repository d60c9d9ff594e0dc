"""Boards with several engines: assignment by cost and accuracy, casts, the table, the C on host and QEMU."""

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.calib.calibrator import Calibration
from tinygen.calib.model import load_float
from tinygen.codegen.project import ProjectKind
from tinygen.ir.types import Array, DType
from tinygen.kernels.base import Objective
from tinygen.ops.engine_layer import EngineLayer
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.quant.ctable import CTable
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.engines.costs import EngineCosts
from tinygen.targets import load
from tinygen.targets.engine import Engine

BOARD = Path(__file__).resolve().parents[1] / "boards" / "m4-engines.toml"
TARGETS = ["host", pytest.param(str(BOARD), marks=[requires_qemu, pytest.mark.qemu])]
FLOAT_ENGINE = '[[engine]]\nname = "fpu"\nkind = "float"\ncycles_per_mac = 40\n\n'

# an NPU that rounds once, a crossbar, int16 and int8 on the CPU, in an order that needs casts
FORCED = ("stem=npu", "depthwise=wide", "total=cpu", "pooled=cpu", "branch=cim", "both=cpu", "flat=cpu", "logits=npu")
CASTS = {("stem", "stem:int16", "npu", "wide"), ("depthwise", "depthwise:int8", "wide", "cpu")}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The model and its samples."""
    return write_float_model(tmp_path_factory.mktemp("engines"), 64)


def _engines(chosen: tuple[str, ...] = FORCED) -> list[str]:
    return [word for text in chosen for word in ("--engine", text)]


def _calibrated(files: tuple[Path, Path], out: Path, *arguments: str | Path, board: Path = BOARD) -> CTable:
    ended = tinygen("calibrate", files[0], "--data", files[1], "-t", board, "-o", out, "--json", *arguments)
    assert ended.code == 0, ended.stderr
    return read_ctable(out)


def _board(folder: Path, old: str, new: str) -> Path:
    text = BOARD.read_text()
    assert old in text
    file = folder / "board.toml"
    file.write_text(text.replace(old, new, 1))
    return file


def _simulated(model: Path, table: Path, folder: Path) -> tuple[Array, list[dict[str, Any]]]:
    """Outputs of four samples, and the trace."""
    np.savez(folder / "few.npz", in0=samples(24)[:4])
    out, trace = folder / "simulated.npz", folder / "trace.json"
    ended = tinygen(
        "simulate", model, "--ctable", table, "--data", folder / "few.npz", "--output", out, "--trace", trace, "--json"
    )
    assert ended.code == 0, ended.stderr
    with np.load(out) as arrays:
        return arrays["out0"], json.loads(trace.read_text())["operators"]


@pytest.mark.parametrize("target", TARGETS)
def test_s0_03_s0_07_engines_with_casts_between_them_equal_the_simulator(
    files: tuple[Path, Path], target: str, tmp_path: Path
) -> None:
    table = _calibrated(files, tmp_path / "t.json", *_engines(), "--max-drop", "100")
    assert {entry.engine for entry in table.ops.values()} == {"cpu", "wide", "npu", "cim"}
    assert {(cast.tensor, cast.result, cast.source, cast.destination) for cast in table.casts} == CASTS
    expected, _ = _simulated(files[0], tmp_path / "t.json", tmp_path)
    assert len(np.unique(expected)) > 4
    ran = tinygen(
        "run", files[0], "--ctable", tmp_path / "t.json", "-t", target, "--input", tmp_path / "few.npz",
        "--output", tmp_path / "c.npz",
    )  # fmt: skip
    assert ran.code == 0, ran.stderr
    with np.load(tmp_path / "c.npz") as found:
        np.testing.assert_array_equal(next(iter(found.values())), expected)
    proven = tinygen(
        "validate", files[0], "--ctable", tmp_path / "t.json", "-t", target, "--samples", "3", "--json", "--per-layer"
    )
    assert proven.code == 0, proven.stderr
    assert proven.document["exact"]
    functions = {layer["kernel"] for layer in proven.document["layers"]}
    assert {"npu_conv_2d", "npu_fully_connected", "cim_conv_2d", "tg_rescale_s8_s16", "tg_rescale_s16_s8"} <= functions


@pytest.mark.parametrize("target", TARGETS)
def test_engines_run_row_by_row(files: tuple[Path, Path], target: str, tmp_path: Path) -> None:
    """But for crossbars with noise."""
    chosen = ("stem=npu", "depthwise=cpu", "branch=cim", "logits=npu")
    _calibrated(files, tmp_path / "t.json", *_engines(chosen), "--max-drop", "100")
    arenas = []
    for goal in ("time", "ram"):
        asked = (files[0], "--ctable", tmp_path / "t.json", "-t", target, "--json", "-O", goal)
        proven = tinygen("validate", *asked, "--samples", "3")
        assert proven.code == 0, proven.stderr
        assert proven.document["exact"]
        arenas.append(tinygen("inspect", *asked).document["arena_bytes"])
    assert arenas[1] < 0.6 * arenas[0]
    compiled = compile_model(files[0], Options(objective=Objective.RAM, ctable=tmp_path / "t.json", target="host"))
    rows = {call.op.results[0].shape[1] for call in compiled.schedule.calls if call.kernel.function == "npu_conv_2d"}
    assert rows == {1}
    assert {c.op.results[0].shape[1] for c in compiled.schedule.calls if c.kernel.function == "cim_conv_2d"} == {4}


@pytest.mark.parametrize("target", TARGETS)
def test_a_float_engine_runs_beside_integer_ones(files: tuple[Path, Path], target: str, tmp_path: Path) -> None:
    board = _board(tmp_path, "[[memory]]", FLOAT_ENGINE + "[[memory]]")
    chosen = (*FORCED[:2], "total=fpu", "pooled=fpu", *FORCED[4:])
    table = _calibrated(files, tmp_path / "t.json", *_engines(chosen), "--max-drop", "100", board=board)
    assert table.ops["total"].activations == "float32"
    assert {(cast.tensor, cast.destination) for cast in table.casts} == {
        ("stem", "wide"), ("stem", "fpu"), ("depthwise", "fpu"), ("pooled", "cim"),
    }  # fmt: skip
    where = target if target == "host" else str(board)
    proven = tinygen("validate", files[0], "--ctable", tmp_path / "t.json", "-t", where, "--samples", "3", "--json")
    assert proven.code == 0, proven.stderr
    assert proven.document["exact"]


def test_what_an_engine_asks_for_holds_for_all_it_touches(files: tuple[Path, Path], tmp_path: Path) -> None:
    single = _calibrated(files, tmp_path / "single.json", *_engines(), "--max-drop", "100")
    for name in ("image", "stem", "flat", "logits"):
        assert single.tensors[name].zero_point == (0,), name
    assert len(single.tensors["stem_w"].scale) == 1
    assert len(single.tensors["depthwise_w"].scale) == 8
    assert single.tensors["branch_w"].dtype == "int4"
    board = _board(tmp_path, 'requantization = "single"', 'requantization = "shift"')
    shifting = _calibrated(files, tmp_path / "shift.json", *_engines(), "--max-drop", "100", board=board)
    for name in ("image", "stem", "flat", "logits", "stem_w", "dense_w"):
        (scale,) = shifting.tensors[name].scale
        assert np.frexp(scale)[0] == 0.5, name
    assert shifting.ops["stem"].control is not None
    assert shifting.ops["stem"].control.rounding == "shift"
    assert shifting.tensors["image"].scale != single.tensors["image"].scale
    proven = tinygen("validate", files[0], "--ctable", tmp_path / "shift.json", "-t", "host", "--samples", "3")
    assert proven.code == 0, proven.stderr
    for name in ("single", "shift"):
        assert tinygen("ctable", "check", tmp_path / f"{name}.json", files[0]).code == 0


def test_s0_07_compile_makes_the_same_table_and_explains_it(files: tuple[Path, Path], tmp_path: Path) -> None:
    bound = ("--max-drop", "0.1")
    table = _calibrated(files, tmp_path / "t.json", *bound)
    ended = tinygen(
        "compile", files[0], "--calibrate", files[1], "-t", BOARD, "-o", tmp_path / "out", "--explain-engines",
        "--json", *bound,
    )  # fmt: skip
    assert ended.code == 0, ended.stderr
    assert (tmp_path / "out" / "net.ctable.json").read_bytes() == (tmp_path / "t.json").read_bytes()
    found = ended.document["engines"]
    assert found["drop"] <= found["max_drop"] == 0.1
    assert table.assignment is not None
    assert found["cycles"] == pytest.approx(table.assignment.cycles)
    rows = {row["name"]: row for row in found["operators"]}
    assert {name: row["engine"] for name, row in rows.items()} == {n: e.engine for n, e in table.ops.items()}
    stem = {other["engine"]: other["rejected"] for other in rows["stem"]["alternatives"]}
    assert stem["cim"].startswith("loses too much (SQNR ")
    assert stem["cpu"].startswith("+")
    depthwise = {other["engine"]: other["rejected"] for other in rows["depthwise"]["alternatives"]}
    assert depthwise["npu"] == "takes no depthwise_conv_2d"
    _, trace = _simulated(files[0], tmp_path / "t.json", tmp_path)
    points = sum(len(op["points"]) for op in trace)
    assert found["points"] == points
    shown = tinygen(
        "compile", files[0], "--ctable", tmp_path / "t.json", "-t", BOARD, "-o", tmp_path / "again", "--explain-engines"
    )
    assert shown.code == 0, shown.stderr
    assert "engines for net.tflite" in shown.stdout


def test_the_trace_lists_engines_and_casts(files: tuple[Path, Path], tmp_path: Path) -> None:
    _calibrated(files, tmp_path / "t.json", *_engines(), "--max-drop", "100")
    _, trace = _simulated(files[0], tmp_path / "t.json", tmp_path)
    rows = {str(op["name"]): op for op in trace if op["operator"] not in ("INPUT", "OUTPUT")}
    assert rows["branch"]["engine"] == "cim"
    assert rows["stem:int16"]["operator"] == "CAST"
    assert rows["stem:int16"]["engine"] == "cpu"
    assert [point["point"] for point in rows["stem:int16"]["points"]] == ["requantize", "output_offset"]
    analog = {point["point"]: point["detail"] for point in rows["branch"]["points"]}
    assert analog["partial_sum"] == "64 rows of the crossbar"
    assert analog["adc"].startswith("6 bits, step ")
    assert analog["noise"].startswith("gain ")
    assert float(str(rows["stem:int16"]["sqnr_db"])) > 20


def test_the_compiler_follows_a_changed_cast_and_adc(files: tuple[Path, Path], tmp_path: Path) -> None:
    table = _calibrated(files, tmp_path / "t.json", *_engines(), "--max-drop", "100")
    cast, branch = table.tensors["stem:int16"], table.ops["branch"]
    assert branch.analog is not None
    other = branch.analog.model_copy(update={"adc_shift": branch.analog.adc_shift + 1})
    changed = table.model_copy(
        update={
            "tensors": table.tensors | {"stem:int16": cast.model_copy(update={"scale": (2 * cast.scale[0],)})},
            "ops": {
                name: entry.model_copy(update={"control": None} | ({"analog": other} if name == "branch" else {}))
                for name, entry in table.ops.items()
            },
        }
    )
    model = load_float(files[0])
    before, after = (Calibration(model, t).graph for t in (table, changed))
    scales = [next(t for t in g.tensors if t.name == "stem:int16").type.scale for g in (before, after)]
    assert scales[1] == 2 * scales[0]
    shifts = [o.analog.adc_shift for g in (before, after) for o in g.ops if isinstance(o, EngineLayer) and o.analog]
    assert shifts[1] == shifts[0] + 1
    Calibration(model, changed).save(tmp_path / "changed.json")
    compiled = compile_model(files[0], Options(target="host", ctable=tmp_path / "changed.json"))
    assert f".adc_shift = {shifts[1]}," in compiled.files["net.c"]


@pytest.mark.parametrize(("weights", "bits"), [("int8", 22), ("int4", 18)])
def test_s0_30_a_crossbar_whose_adc_is_wide_enough_is_exact(
    files: tuple[Path, Path], weights: str, bits: int, tmp_path: Path
) -> None:
    """64 rows x 127 (7) x 255 need 22 (18) bits; with half as many, the same network loses."""
    found = {}
    for adc_bits in (bits, bits // 2):
        crossbar = f"rows = 64, adc_bits = {adc_bits}, noise_sigma = 0.0"
        board = _board(tmp_path, "rows = 64, adc_bits = 6, noise_sigma = 0.3", crossbar)
        board.write_text(board.read_text().replace('weights = "int4"', f'weights = "{weights}"'))
        chosen = ("*=cpu", "stem=cim", "branch=cim", "logits=cim")
        table = _calibrated(files, tmp_path / "t.json", *_engines(chosen), "--max-drop", "100", board=board)
        shifts = {entry.analog.adc_shift for entry in table.ops.values() if entry.analog is not None}
        outputs, _ = _simulated(files[0], tmp_path / "t.json", tmp_path)
        found[adc_bits] = shifts, outputs
        proven = tinygen("validate", files[0], "--ctable", tmp_path / "t.json", "-t", "host", "--samples", "3")
        assert proven.code == 0, proven.stderr
    of_three = [word for name in ("stem", "branch", "logits") for word in ("--op", f"{name}=w{weights[3:]}a8")]
    ended = tinygen("calibrate", files[0], "--data", files[1], "-o", tmp_path / "t.json", *of_three)
    assert ended.code == 0, ended.stderr
    expected, _ = _simulated(files[0], tmp_path / "t.json", tmp_path)
    assert found[bits][0] == {0}
    np.testing.assert_array_equal(found[bits][1], expected)
    assert min(found[bits // 2][0]) > 0
    assert (found[bits // 2][1] != expected).any()


@pytest.mark.parametrize(("drop", "engines"), [("0.01", {"wide"}), ("5", {"cim"})])
def test_a_bound_on_accuracy_decides(files: tuple[Path, Path], drop: str, engines: set[str], tmp_path: Path) -> None:
    table = _calibrated(files, tmp_path / "t.json", "--max-drop", drop)
    assert table.assignment is not None
    assert table.assignment.drop <= float(drop)
    assert engines <= {entry.engine for entry in table.ops.values()}
    assert any(entry.sensitivity for entry in table.ops.values()) == (drop == "0.01")


def test_s0_07_the_cheapest_is_that_of_brute_force(files: tuple[Path, Path]) -> None:
    graph = load_float(files[0]).graph
    board = load(str(BOARD)).engines
    generator = np.random.default_rng(1)
    allowed = tuple(tuple(range(len(board))) if index % 3 else (0, 1) for index in range(len(graph.ops)))
    for _ in range(5):
        penalties = {
            (index, engine): float(generator.exponential(3000))
            for index in range(len(allowed))
            for engine in range(len(board))
        }
        costs = EngineCosts(graph, board, allowed, penalties)
        best = min(costs.total(choice) for choice in product(*allowed))
        assert costs.total(costs.cheapest()) <= 1.001 * best


@requires_host_cc
def test_a_driver_takes_the_place_of_the_emulation(files: tuple[Path, Path], tmp_path: Path) -> None:
    _calibrated(files, tmp_path / "t.json", *_engines(), "--max-drop", "100")
    compiled = compile_model(files[0], Options(target="host", ctable=tmp_path / "t.json"))
    folder = tmp_path / "out"
    for path, text in compiled.folder_files(ProjectKind.MAKE).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "driver.c").write_text(
        '#include "net.h"\n#include "net_engines.h"\n#include <stdio.h>\n\n'
        "int npu_conv_2d(const struct tg_engine_layer *layer, const int8_t *input, int8_t *output)\n{\n"
        '    printf("conv %d\\n", (int)layer->shape.output_channels);\n'
        "    tg_engine_layer_s8(layer, input, output);\n    return 0;\n}\n\n"
        "int npu_fully_connected(const struct tg_engine_layer *layer, const int8_t *input, int8_t *output)\n{\n"
        "    (void)layer;\n    (void)input;\n    (void)output;\n    return 3;\n}\n\n"
        "int main(void)\n{\n    static float image[NET_INPUT0_ELEMENTS];\n    float scores[NET_OUTPUT0_ELEMENTS];\n\n"
        '    printf("status %d\\n", net_run(image, scores) != 0);\n    return 0;\n}\n'
    )
    assert _printed(folder) == ["conv 8", "status 1"]


def _printed(folder: Path) -> list[str]:
    """What the program of all sources in a folder prints."""
    sources = [str(path) for path in folder.rglob("*.c")]
    include = sorted({f"-I{path.parent}" for path in folder.rglob("*.h") if path.parent.name != "Internal"})
    subprocess.run(["cc", "-std=c11", "-O1", *include, *sources, "-lm", "-o", str(folder / "driver")], check=True)
    ended = subprocess.run([folder / "driver"], check=True, capture_output=True, text=True, timeout=20)
    return ended.stdout.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engine", "stem=gpu"), "--engine stem=gpu: the board has no such engine, one of cpu, wide, npu, cim was "),
        (
            ("--engine", "total=npu"),
            "--engine total=npu: cannot compute operator 'total' (takes no add), an engine that",
        ),
        (("--engine", "steam=npu"), "--engine steam=npu: net has no such operator, one of its 9 was expected."),
        (("--engine", "stem"), "--engine stem: NAME=ENGINE was expected."),
        (("--max-drop", "0"), "net.tflite: the most precise engines for it lose 0.00 (cosine), at most 0 was expected"),
        (("--activations", "int16"), "tinygen: --activations int16: m4-engines has engines, whose datapaths say what"),
        (("--op", "stem=w8a16"), "tinygen: --op stem=w8a16: m4-engines has engines, whose datapaths say what"),
        (("--search", "grid"), "tinygen: --search: m4-engines has engines, which operators are assigned to instead,"),
        (("--mixed", "auto"), "tinygen: --mixed: m4-engines has engines, which operators are assigned to instead,"),
        (("--flash", "20k"), "tinygen: --flash: m4-engines has engines, which operators are assigned to instead,"),
        (("--metric", "accuracy"), "--metric accuracy: samples.npz has no array named labels or label or y with the"),
    ],
)
def test_bad_options(files: tuple[Path, Path], arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    ended = tinygen("calibrate", files[0], "--data", files[1], "-t", BOARD, "-o", tmp_path / "t.json", *arguments)
    assert ended.code == 2
    assert message in " ".join(ended.stderr.split())


def test_engines_want_a_board_that_has_them(files: tuple[Path, Path], tmp_path: Path) -> None:
    ended = tinygen(
        "calibrate", files[0], "--data", files[1], "-t", "host", "-o", tmp_path / "t.json", "--engine", "stem=npu"
    )
    assert ended.code == 2
    assert "--engine: the board says nothing of its engines' datapaths" in " ".join(ended.stderr.split())
    plain = tinygen(
        "compile", files[0], "--calibrate", files[1], "-t", "host", "-o", tmp_path / "o", "--explain-engines"
    )
    assert plain.code == 2
    assert "--explain-engines: host says nothing of its engines' datapaths" in " ".join(plain.stderr.split())


def test_a_table_of_other_engines(files: tuple[Path, Path], tmp_path: Path) -> None:
    table = _calibrated(files, tmp_path / "t.json", *_engines(), "--max-drop", "100")
    board = _board(tmp_path, 'requantization = "single"', 'requantization = "shift"')
    ended = tinygen("inspect", files[0], "--ctable", tmp_path / "t.json", "-t", board)
    assert ended.code == 2
    assert "m4-engines: has no engine 'npu' like the CTable's (extern, w8a8)" in " ".join(ended.stderr.split())
    wrong = table.ops | {"total": table.ops["total"].model_copy(update={"engine": "npu"})}
    Calibration(load_float(files[0]), table.model_copy(update={"ops": wrong})).save(tmp_path / "wrong.json")
    checked = tinygen("ctable", "check", tmp_path / "wrong.json", files[0])
    assert checked.code == 2
    assert "operator 'total': has engine 'npu', which takes no add; another one was expected." in " ".join(
        checked.stderr.split()
    )


def test_a_zero_point_that_a_kernel_fixes_is_cast_where_it_must_be_0(tmp_path: Path) -> None:
    writer, generator = ModelWriter(), np.random.default_rng(6)
    image, gate, scores = (writer.tensor(name, (1, n), "float32") for name, n in (("x", 12), ("gate", 12), ("y", 5)))
    weights = writer.tensor("w", (5, 12), "float32", data=generator.normal(0, 1, (5, 12)).astype(np.float32))
    bias = writer.tensor("b", (5,), "float32", data=generator.normal(0, 1, 5).astype(np.float32))
    writer.operator("LOGISTIC", [image], [gate])
    writer.operator("FULLY_CONNECTED", [gate, weights, bias], [scores])
    model, data = tmp_path / "gate.tflite", tmp_path / "data.npz"
    model.write_bytes(writer.finish([image], [scores]))
    np.savez(data, in0=generator.normal(0, 2, (40, 12)).astype(np.float32))
    table = _calibrated((model, data), tmp_path / "t.json", "--engine", "gate=cpu", "--engine", "y=npu")
    assert [(cast.tensor, cast.result, cast.readers) for cast in table.casts] == [("gate", "gate:npu", ("y",))]
    assert [table.tensors[name].zero_point for name in ("gate", "gate:npu")] == [(-128,), (0,)]
    proven = tinygen("validate", model, "--ctable", tmp_path / "t.json", "-t", "host", "--samples", "4")
    assert proven.code == 0, proven.stderr


def test_a_model_without_casts_has_no_crossings(files: tuple[Path, Path], tmp_path: Path) -> None:
    table = _calibrated(files, tmp_path / "t.json", "--max-drop", "100", "--engine", "*=cpu")
    assert table.casts == ()
    ordinary = tmp_path / "ordinary.json"
    assert tinygen("calibrate", files[0], "--data", files[1], "-o", ordinary).code == 0
    plain = read_ctable(ordinary)
    assert plain.tensors == table.tensors
    assert plain.engines == ()
    assert all(t.type.dtype is not DType.INT16 for t in Calibration(load_float(files[0]), table).graph.tensors)
    assert {entry.engine for entry in table.ops.values()} == {"cpu"}
    assert all(isinstance(engine, Engine) for engine in table.engines)
