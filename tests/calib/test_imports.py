"""Tables from other tools' files, and how they are repaired."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tinygen.ir.types import Array


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
    assert tinygen("validate", model, "--ctable", again, "--samples", "2", "-t", "host").code == 0


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
    assert tinygen("validate", model, "--ctable", refined, "--samples", "2", "-t", "host").code == 0


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
        assert tinygen("validate", model, "--ctable", refined, "--samples", "2", "-t", "host").code == 0


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
    assert tinygen("validate", model, "--ctable", refined, "--samples", "2", "-t", "host").code == 0


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


def _shifted_network(folder: Path) -> tuple[Path, dict[str, Array]]:
    """What ONNC's Cortex-M target takes: integers as weights, and a constant that is added behind a convolution."""
    rng = np.random.default_rng(0)
    values: dict[str, Array] = {
        "w": rng.integers(-40, 41, (6, 3, 3, 3)).astype(np.float32),
        "b": rng.integers(-2000, 2001, (1, 6, 1, 1)).astype(np.float32),
        "m": rng.integers(-100, 101, (54, 4)).astype(np.float32),
        "shape": np.array([1, 54], np.int64),
    }
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["conv"], kernel_shape=[3, 3]),
        onnx.helper.make_node("Add", ["conv", "b"], ["sum"]),
        onnx.helper.make_node("Relu", ["sum"], ["relu"]),
        onnx.helper.make_node("MaxPool", ["relu"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        onnx.helper.make_node("Reshape", ["pool", "shape"], ["flat"]),
        onnx.helper.make_node("MatMul", ["flat", "m"], ["y"]),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "shifted",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 8, 8])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4])],
        [onnx.numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    file = folder / "shifted.onnx"
    onnx.save(model, str(file))
    return file, values


def test_s0_19_the_shifts_of_onnc_for_cortex_m(tmp_path: Path) -> None:
    """The integers of the C against sums that are shifted to the right as CMSIS-NN's q7 functions did; each of both
    roundings may be off by one step, which the second layer's sums of 54 products of such take further.
    """
    model, values = _shifted_network(tmp_path)
    shifts, table, out, data = tmp_path / "shift.txt", tmp_path / "t.json", tmp_path / "o.npz", tmp_path / "x.npz"
    shifts.write_text("7,1,7,10\n")
    ended = tinygen("ctable", "import", shifts, "--model", model, "-o", table)
    assert ended.code == 0, ended.stderr
    entries = _tensors(table)
    assert {name: entries[name]["scale"] for name in ("x", "relu", "y")} == {
        "x": [1.0],
        "relu": [256.0],
        "y": [2.0**18],
    }
    assert [entry["scale"] for entry in entries.values() if entry["kind"] == "weights"] == [[1.0], [1.0]]
    assert tinygen("validate", model, "--ctable", table, "--samples", "2", "-t", "host").code == 0
    x = np.random.default_rng(1).integers(-128, 128, (20, 3, 8, 8)).astype(np.float32)
    np.savez(data, in0=x)
    assert tinygen("run", model, "--ctable", table, "--input", data, "--output", out, "-t", "host").code == 0
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    filters, bias, matrix = (values[name].astype(np.float64) for name in "wbm")
    sums = np.einsum("nchwij,ocij->nohw", windows.astype(np.float64), filters) + bias
    stored = np.clip(np.floor(sums / 256 + 0.5), 0, 127)
    pooled = stored.reshape(20, 6, 3, 2, 3, 2).max((3, 5)).reshape(20, 54)
    wanted = np.clip(np.floor(pooled @ matrix / 2**10 + 0.5), -128, 127)
    with np.load(out) as found:
        scores = next(iter(found.values())).reshape(20, 4) / 2.0**18
    assert np.abs(scores - wanted).max() <= 1 and (scores == wanted).mean() > 0.9 and wanted.std() > 5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("7,1,7", "3 shifts, 4 were expected for the nodes of shifted.onnx"),
        ("7,1,7,40", "a shift of 40, 0 to 31 was expected"),
        ("7,1,7,-1", "a shift of -1, 0 to 31 was expected"),
    ],
)
def test_shifts_that_do_not_fit_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    model, _ = _shifted_network(tmp_path)
    shifts = tmp_path / "shift.txt"
    shifts.write_text(text)
    ended = tinygen("ctable", "import", shifts, "--model", model, "-o", tmp_path / "t.json")
    assert ended.code == 2
    assert (
        f"shift.txt: cannot be read ({problem}), list of shifts of ONNC was expected. Check the file." in ended.stderr
    )


def test_shifts_count_nodes_of_onnx_alone(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "shift.txt").write_text("7, 7")
    ended = tinygen("ctable", "import", tmp_path / "shift.txt", "--model", files[0], "-o", tmp_path / "t.json")
    assert (ended.code, "it counts the nodes of an ONNX file, which the model is none of" in ended.stderr) == (2, True)
