"""A float model, its CTable and the C that follows it."""

import difflib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import DIGITS, tinygen
from tests.support.float_models import SHAPE, samples, write_float_model
from tests.support.tools import requires_qemu

Table = dict[str, Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Model, samples, CTable."""
    folder = tmp_path_factory.mktemp("calibrated")
    model, data = write_float_model(folder)
    table = folder / "net.ctable.json"
    assert tinygen("calibrate", model, "--data", data, "-t", "mps2-an386", "-o", table).code == 0
    return model, data, table


def _edited(table: Path, folder: Path, edit: Callable[[Table], None]) -> Path:
    document = json.loads(table.read_text())
    edit(document)
    edited = folder / "edited.ctable.json"
    edited.write_text(json.dumps(document))
    return edited


def _compile(model: Path, folder: Path, *options: str | Path) -> dict[str, str]:
    out = folder / "out"
    ended = tinygen("compile", model, "-t", "mps2-an386", "-o", out, *options)
    assert ended.code == 0, ended.stderr
    return {file.name: file.read_text() for file in out.iterdir() if file.suffix in (".c", ".h", ".json")}


def test_s0_12_s0_26_s0_27_table_and_samples_give_the_same_c_and_the_same_table(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    model, data, table = files
    before = hashlib.sha256(model.read_bytes()).hexdigest()
    by_table, by_data = tmp_path / "table", tmp_path / "data"
    by_table.mkdir()
    by_data.mkdir()
    followed = _compile(model, by_table, "--ctable", table)
    assert followed == _compile(model, by_data, "--calibrate", data)
    assert followed["net.ctable.json"] == table.read_text()
    assert hashlib.sha256(model.read_bytes()).hexdigest() == before


def test_both_commands_make_tables_for_the_board_that_is_named_and_for_any_where_none_is(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    model, data, _ = files
    targets: list[str | None] = []
    for named in ([], ["-t", "cortex-m4"], ["-t", "microbit"]):
        out, table = tmp_path / f"out{len(targets)}", tmp_path / "t.json"
        calibrated = tinygen("calibrate", model, "--data", data, "-o", table, *named)
        compiled = tinygen("compile", model, "--calibrate", data, "-o", out, *named)
        assert (calibrated.code, compiled.code) == (0, 0), calibrated.stderr + compiled.stderr
        assert (out / "net.ctable.json").read_bytes() == table.read_bytes()
        target = json.loads(table.read_text())["target"]
        targets.append(None if target is None else target["board"])
    assert targets == [None, "mps2-an386", "microbit"]


def test_s0_15_an_edited_clamp_is_that_constant_in_the_c(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    model, _, table = files
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = ("--split", "off")  # each operator stands once in the C
    before = _compile(model, tmp_path / "a", "--ctable", table, *whole)["net.c"].splitlines()

    def edit(document: Table) -> None:
        document["ops"]["stem"]["control"]["act_max"] = 77

    after = _compile(model, tmp_path / "b", "--ctable", _edited(table, tmp_path, edit), *whole)["net.c"].splitlines()
    changed = [line.strip() for line in difflib.ndiff(before, after) if line[0] in "+-"]
    code = [line for line in changed if "clamp" not in line and not line.startswith(("+  *", "-  *"))]  # no comment
    assert len(code) == 2
    assert code[0].startswith("-") and ".max = 127" in code[0]
    assert code[1] == "+" + code[0][1:].replace(".max = 127", ".max = 77")


def test_c_and_simulator_are_equal(files: tuple[Path, Path, Path]) -> None:
    model, data, table = files
    ended = tinygen("validate", model, "-t", "host", "--ctable", table, "--data", data, "--json")
    assert (ended.code, ended.document["exact"], ended.document["oracle"]) == (0, True, "simulator")
    assert ended.document["samples"] == 24


@pytest.mark.qemu
@requires_qemu
def test_s0_20_cortex_m_and_simulator_are_equal(files: tuple[Path, Path, Path]) -> None:
    model, _, table = files
    ended = tinygen("validate", model, "-t", "mps2-an386", "--ctable", table, "--samples", "3", "--json")
    assert (ended.code, ended.document["exact"]) == (0, True)


def test_shared_scales_and_fixed_ones(files: tuple[Path, Path, Path]) -> None:
    entries = json.loads(files[2].read_text())["tensors"]
    shared = [entries[name] for name in ("total", "pooled", "branch", "both", "flat")]
    assert len({(tuple(e["scale"]), tuple(e["zero_point"])) for e in shared}) == 1
    assert (entries["scores"]["scale"], entries["scores"]["zero_point"]) == ([1 / 256], [-128])
    assert entries["stem_w"]["axis"] == 0 and len(entries["stem_w"]["scale"]) == 8
    assert entries["depthwise_w"]["axis"] == 3
    assert tinygen("ctable", "check", files[2], files[0]).code == 0


def _sha(document: Table) -> None:
    document["model"]["sha256"] = "0" * 64


def _without_stem(document: Table) -> None:
    del document["tensors"]["stem"]


def _other_multiplier(document: Table) -> None:
    document["ops"]["stem"]["control"]["multiplier"][0] += 5


def _int4(document: Table) -> None:
    document["tensors"]["total"] |= {"dtype": "int4", "zero_point": [0]}


def _int32(document: Table) -> None:
    document["tensors"]["total"]["dtype"] = "int32"
    document["tensors"]["total"]["zero_point"] = [0]


def _no_scale(document: Table) -> None:
    document["tensors"]["total"]["scale"] = [-1.0]


def _unknown_key(document: Table) -> None:
    document["tensors"]["total"]["colour"] = "blue"


def _wide_clamp(document: Table) -> None:
    document["ops"]["stem"]["control"]["act_max"] = 300


def _own_pool(document: Table) -> None:
    document["tensors"]["pooled"]["scale"] = [0.5]


@pytest.mark.parametrize(
    ("edit", "code", "text"),
    [
        (_sha, "TG-C002", "net.tflite: the CTable is of 'net' (sha256 000000000000...), one of this file (sha256 "),
        (_without_stem, "TG-C004", "net: the CTable has no tensor 'stem', an entry for every tensor was expected."),
        (_other_multiplier, "TG-C005", "operator 'stem': multipliers, shifts or offsets do not follow from the scales"),
        (_int4, "TG-C005", "tensor 'pooled': is int8, int4 was expected, as 'total' is."),
        (_int32, "TG-C005", "tensor 'total': is int32, int16 or fewer bits were expected of the CPU's kernels."),
        (_no_scale, "TG-C003", "edited.ctable.json, tensors.total.scale.0: Input should be greater than 0"),
        (_unknown_key, "TG-C003", "edited.ctable.json, tensors.total.colour: Extra inputs are not permitted"),
        (_wide_clamp, "TG-C005", "operator 'stem': the clamp is [-128, 300], a range within [-128, 127] was expected."),
        (_own_pool, "TG-C005", "tensor 'pooled': must have the quantization of 'total'."),
    ],
)
def test_s0_15_tables_that_cannot_be_followed(
    files: tuple[Path, Path, Path], tmp_path: Path, edit: Callable[[Table], None], code: str, text: str
) -> None:
    model, _, table = files
    for command in (["compile", model, "-o", tmp_path / "out", "--ctable"], ["ctable", "check"]):
        ended = tinygen(*command, _edited(table, tmp_path, edit), *([model] if command[0] == "ctable" else []))
        assert ended.code == 2
        assert ended.stderr.splitlines()[-1 if command[0] == "compile" else 0].startswith(f"tinygen: {code} ")
        assert text in ended.stderr or command[0] == "ctable"
    assert not (tmp_path / "out").exists()


def _nan(images: Any) -> None:
    images[5, 0, 0, 0] = np.nan


def _infinite(images: Any) -> None:
    images[0, 1, 1, 2] = np.inf


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"in0": samples(6).reshape(6, 4, 48)[:, :3]}, "array 'in0' has shape [6, 3, 48], [samples, 8, 8, 3] was"),
        ({"a": samples(2), "b": samples(2)}, "holds the arrays ['a', 'b'], one named 'image' or 'in0' was expected."),
        ({"in0": samples(2).astype(np.int8)}, "array 'in0' has elements of int8, float32 were expected for input"),
        ({"in0": samples(0)}, "TG-C001 data.npz: 0 samples to calibrate with, 300 to 500 were expected."),
    ],
)
def test_s0_13_samples_that_cannot_be_used(
    files: tuple[Path, Path, Path], tmp_path: Path, arrays: dict[str, Any], text: str
) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, **arrays)
    ended = tinygen("calibrate", files[0], "--data", data, "-o", tmp_path / "t.json")
    assert (ended.code, text in ended.stderr) == (2, True), ended.stderr
    assert not (tmp_path / "t.json").exists()


@pytest.mark.parametrize("spoil", [_nan, _infinite])
def test_samples_without_numbers(files: tuple[Path, Path, Path], tmp_path: Path, spoil: Callable[[Any], None]) -> None:
    images = samples(40)
    spoil(images)
    np.save(tmp_path / "data.npy", images)
    ended = tinygen("calibrate", files[0], "--data", tmp_path / "data.npy", "-o", tmp_path / "t.json")
    number = 5 if spoil is _nan else 0
    assert ended.code == 2
    assert f"data.npy: array 'in0', sample {number} holds NaN or infinity, finite numbers were" in ended.stderr


def test_other_wrong_uses(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    model, data, table = files
    out, taken = tmp_path / "t.json", tmp_path / "taken.json"
    taken.write_text("{}")
    cases: list[tuple[list[str | Path], int, str]] = [
        (
            ["calibrate", model, "--data", data, "-o", out, "--policy", "best"],
            2,
            "--policy: is 'best', one of max",
        ),
        (["calibrate", model, "--data", data, "-o", out, "--samples", "0"], 2, "TG-C001 samples.npz: 0 samples"),
        (["calibrate", model, "--data", model, "-o", out], 2, "cannot be read as samples"),
        (["calibrate", model, "--data", tmp_path / "no.npz", "-o", out], 2, "No such file"),
        (["calibrate", DIGITS, "--data", data, "-o", out], 3, "is quantized already, a float32 model was expected"),
        (["calibrate", model, "--data", data, "-o", taken], 2, "is there, and no CTable; a new name was expected."),
        (["calibrate", model, "--data", data, "-o", model, "--force"], 2, "net.tflite: is read by this command"),
        (
            ["calibrate", model, "--data", data, "-o", out, "--tensor-policy", "x=max"],
            2,
            "--tensor-policy x: net has",
        ),
        (["compile", DIGITS, "-o", tmp_path / "o", "--ctable", table], 3, "is quantized already"),
        (["compile", model, "-o", tmp_path / "o", "--ctable", model], 2, "TG-C003"),
        (["validate", model, "--ctable", table, "--against", "litert"], 2, "runs net.tflite in float32, simulator was"),
    ]
    for arguments, code, text in cases:
        ended = tinygen(*arguments)
        assert (ended.code, text in ended.stderr) == (code, True), (arguments, ended.stderr)
    assert not out.exists()


def test_the_table_does_not_depend_on_the_batches_and_tensors_may_have_policies(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    model, data, table = files
    again, mixed = tmp_path / "again.json", tmp_path / "mixed.json"
    assert tinygen("calibrate", model, "--data", data, "-t", "mps2-an386", "-o", again).code == 0
    assert again.read_text() == table.read_text()
    ended = tinygen("calibrate", model, "--data", data, "-o", mixed, "--tensor-policy", "stem=max", "--json")
    assert (ended.code, ended.document["policy"], ended.document["samples"]) == (0, "mixed: mse, max", 24)
    differences = tinygen("ctable", "diff", table, mixed, "--json").document["differences"]
    assert {d["name"] for d in differences if d["field"] == "policy" and d["part"] == "tensors"} == {"stem"}
    assert tinygen("ctable", "diff", table, mixed, "--exit-code").code == 5
    assert SHAPE[0] == 1


def test_equalization_and_adaptive_rounding_stand_in_the_table(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    model, data, _ = files
    out = tmp_path / "t.ctable.json"
    ended = tinygen("calibrate", model, "--data", data, "-o", out, "--equalize", "--rounding", "adaptive")
    assert ended.code == 0, ended.stderr
    document = json.loads(out.read_text())
    assert document["preparation"] == ["equalize"]
    assert any(entry["rounded_otherwise"] for entry in document["ops"].values())
    assert tinygen("ctable", "check", out, model).code == 0
    assert tinygen("validate", model, "--ctable", out, "--samples", "2", "-t", "host").code == 0
    assert tinygen("simulate", model, "--ctable", out, "--data", data).code == 0
    wrong = tinygen("calibrate", model, "--data", data, "-o", out, "--rounding", "up")
    assert (wrong.code, "--rounding: is 'up', one of adaptive, nearest was expected" in wrong.stderr) == (2, True)
