"""Tables from other tools' files, and how they are repaired."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The float model, and the table that quantized models are made of."""
    model, data = write_float_model(tmp_path)
    table = tmp_path / "net.ctable.json"
    assert tinygen("calibrate", model, "--data", data, "-o", table).code == 0
    return model, table


def _tensors(table: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(table.read_text())["tensors"]
    return found


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_s0_19_quantized_models_give_their_table_back(files: tuple[Path, Path], tmp_path: Path, suffix: str) -> None:
    model, table = files
    quantized, again = tmp_path / f"q{suffix}", tmp_path / "again.ctable.json"
    assert tinygen("quantize", model, "--ctable", table, "-o", quantized).code == 0
    assert tinygen("ctable", "import", quantized, "--model", model, "-o", again).code == 0
    before, after = _tensors(table), _tensors(again)
    assert before.keys() == after.keys()
    for name, entry in before.items():
        found = after[name]
        assert (found["scale"], found["zero_point"], found["kind"]) == (
            entry["scale"],
            entry["zero_point"],
            entry["kind"],
        )
    assert tinygen("ctable", "check", again, model).code == 0
    assert tinygen("validate", model, "--ctable", again, "--samples", "2").code == 0


def _ranges(table: Path) -> dict[str, tuple[float, float]]:
    return {n: tuple(e["range"]) for n, e in _tensors(table).items() if e["kind"] == "activation"}


def test_s0_19_ranges_of_onnxruntime_are_repaired_and_changes_are_said(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    model, table = files
    ranges = _ranges(table) | {"branch": (-9.0, 1.0)}
    entries = {
        name: {
            "CLS": "TensorData",
            "lowest": {"CLS": "numpy.array", "data": [low], "dtype": "float32"},
            "highest": {"CLS": "numpy.array", "data": [high], "dtype": "float32"},
        }
        for name, (low, high) in ranges.items()
    }
    source, imported, refined = (tmp_path / name for name in ("calibration.json", "i.json", "r.json"))
    source.write_text(json.dumps({"CLS": "TensorsData", "data": entries}))
    ended = tinygen("ctable", "import", source, "--model", model, "-o", imported)
    assert (ended.code, "break a constraint of the kernels" in ended.stderr) == (0, True), ended.stderr
    assert tinygen("compile", model, "--ctable", imported, "-o", tmp_path / "out").code == 2
    assert tinygen("ctable", "check", imported, model).code == 2
    ended = tinygen("calibrate", model, "--refine", "--ctable-in", imported, "-o", refined, "--json")
    assert ended.code == 0, ended.stderr
    shared = {"total", "pooled", "branch", "both", "flat"}
    assert {change["name"] for change in ended.document["changes"]} <= shared | {"scores"}
    entries = _tensors(refined)
    assert len({(*entries[name]["scale"], *entries[name]["zero_point"]) for name in shared}) == 1
    low, high = entries["branch"]["range"]
    assert low == pytest.approx(-9.0, rel=0.01)
    assert high == pytest.approx(max(ranges["total"][1], ranges["branch"][1]), rel=0.02)
    assert entries["stem"]["locked"] and entries["stem"]["scale"] == _tensors(imported)["stem"]["scale"]
    assert tinygen("validate", model, "--ctable", refined, "--samples", "2").code == 0


def test_a_symmetric_engine_gets_symmetric_scales(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, table = files
    for scheme in ("symmetric", "pow2"):
        refined = tmp_path / f"{scheme}.json"
        ended = tinygen("calibrate", model, "--refine", "--ctable-in", table, "-o", refined, "--scheme", scheme)
        assert ended.code == 0, ended.stderr
        entries = _tensors(refined)
        for name in ("image", "stem", "depthwise", "total", "logits"):
            assert entries[name]["zero_point"] == [0]
            assert scheme == "symmetric" or np.log2(entries[name]["scale"][0]).is_integer()
            assert entries[name]["scale"][0] * 128 >= max(map(abs, _ranges(table)[name])) * 0.99
        assert tinygen("validate", model, "--ctable", refined, "--samples", "2").code == 0


def test_scales_of_fake_quantized_modules_and_thresholds_of_onnc(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, _ = files
    names = ["image", "stem", "depthwise", "total", "branch", "logits"]
    state = {f"{name}.activation_post_process.scale": np.array([0.02 + 0.01 * i]) for i, name in enumerate(names)}
    state |= {f"{name}.activation_post_process.zero_point": np.array([100 + i]) for i, name in enumerate(names)}
    torch, onnc = tmp_path / "state.npz", tmp_path / "net.prototxt"
    np.savez(torch, **state)  # type: ignore[arg-type]
    onnc.write_text("".join(f'layer {{\n  name: "{n}"\n  threshold_y: {i + 1.5}\n}}\n' for i, n in enumerate(names)))
    for source, expected in ((torch, ([0.03], [-27])), (onnc, ([2.5 / 128], [0]))):
        out = tmp_path / f"{source.stem}.ctable.json"
        ended = tinygen("ctable", "import", source, "--model", model, "-o", out)
        assert ended.code == 0, ended.stderr
        stem = _tensors(out)["stem"]
        assert (np.float32(stem["scale"][0]), stem["zero_point"]) == (np.float32(expected[0][0]), expected[1])
    onnc.write_text('layer { name: "stem" threshold_y: 2.0 }')
    missing = tinygen("ctable", "import", onnc, "--model", model, "-o", tmp_path / "m.json")
    assert missing.code == 2
    assert "TG-C004 net: nothing is known of tensor 'image', nor of those that share its range" in missing.stderr
    for name in ("a.json", "a.npz", "a.txt", "a.h5"):
        (tmp_path / name).write_text("{}")
        assert tinygen("ctable", "import", tmp_path / name, "--model", model, "-o", tmp_path / "n.json").code == 2
    wrong = tinygen("calibrate", model, "--refine", "-o", tmp_path / "n.json")
    assert (wrong.code, "--refine: takes --ctable-in" in wrong.stderr) == (2, True)
    assert len(samples(1)) == 1


def test_s0_19_the_text_of_onnc_for_bm1880(files: tuple[Path, Path], tmp_path: Path) -> None:
    """All fields that ONNC's NetCalibrationParameter has, with blobs inside of layers; s = threshold / 128."""
    model, _ = files
    names = {"image": 1.0, "stem": 2.5, "depthwise": 3.25, "total": 4.0, "branch": 1.75, "logits": 6.0}
    layer = """layer {{
  name: "{name}"
  blob_param {{
    name: "{name}"
    threshold_y: {value}
  }}
  right_shift_width: 7
  threshold_x_quantized: 93
  threshold_x_quantized: 127
}}
"""
    text, out = tmp_path / "bm1880.prototxt", tmp_path / "t.json"
    text.write_text('name: "net"\n' + "".join(layer.format(name=n, value=v) for n, v in names.items()))
    ended = tinygen("ctable", "import", text, "--model", model, "-o", out)
    assert ended.code == 0, ended.stderr
    entries = _tensors(out)
    assert {name: entries[name]["scale"] for name in names} == {name: [v / 128] for name, v in names.items()}
    assert all(entries[name]["locked"] and entries[name]["zero_point"] == [0] for name in names)
    refined = tmp_path / "r.json"
    repaired = tinygen("calibrate", model, "--refine", "--ctable-in", out, "-o", refined)
    assert repaired.code == 0, repaired.stderr
    assert tinygen("validate", model, "--ctable", refined, "--samples", "2").code == 0


@pytest.mark.parametrize("kind", ["ort", "torch", "onnc"])
def test_damaged_files_are_refused(files: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    model, out = files[0], tmp_path / "t.json"
    np.savez_compressed(tmp_path / "whole.npz", x=np.arange(500))
    whole = (tmp_path / "whole.npz").read_bytes()
    damaged = {
        "cut.npz": whole[:300],
        "changed.npz": whole[:200] + bytes(64) + whole[264:],
        "text.json": b"[1, 2",
        "deep.json": b"[" * 100_000,
        "other.json": b'{"data": {"x": "y"}}',
        "bytes.json": b"\xff\xfe",
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        ended = tinygen("ctable", "import", tmp_path / name, "--from", kind, "--model", model, "-o", out)
        assert ended.code == 2, (name, ended.stderr)
        assert re.search(rf"TG-C003 .*{name}: cannot be read \(.*\), .* was expected\. Check the file\.", ended.stderr)
        assert not re.search("codec|subscriptable|indices|attribute|recursion", ended.stderr)
    assert not out.exists()
