"""`tinygen quantize-weights`: files, dry runs, and what is refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support.command_line import tinygen
from tests.support.shared import shared_file
from tests.support.weight_models import convolution, dequantize_nodes, matmul
from tinygen.compress import (
    CompressionGranularity,
    DType,
    PowerOfTwo,
    Pruning,
    palettize_weights,
    prune_weights,
    quantize_weights,
)


@pytest.fixture
def linear(tmp_path: Path) -> Path:
    onnx.save(matmul(64, 48, added=True), tmp_path / "linear.onnx")
    return tmp_path / "linear.onnx"


def test_it_writes_what_the_function_makes(linear: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    ended = tinygen(
        "quantize-weights", linear, out, "--dtype", "fp4_e2m1fn", "--granularity", "per_block", "--e8m0", "floor"
    )
    assert ended.code == 0, ended.stderr
    block = CompressionGranularity.PER_BLOCK
    expected = quantize_weights(onnx.load(linear), DType.FP4_E2M1FN, granularity=block, e8m0=PowerOfTwo.FLOOR)
    assert onnx.load(out) == expected
    assert len(dequantize_nodes(expected)) == 1
    line = next(line for line in ended.stdout.splitlines() if "quantized" in line)
    assert line.split() == ["weights", "64x48", "12,288", "1,632", "quantized"]
    assert "read by Add, which takes no weights" in ended.stdout


def test_s3_02_a_dry_run_lists_what_changes_and_why_the_rest_stays(linear: Path, tmp_path: Path) -> None:
    ended = tinygen("quantize-weights", linear, "--dtype", "int4", "--dry-run", "--json")
    assert ended.code == 0, ended.stderr
    document = ended.document
    weights, added = document["weights"]
    assert weights["name"] == "weights" and weights["kept_because"] == ""
    assert (weights["bytes"], weights["coded_bytes"]) == (64 * 48 * 4, 64 * 48 // 2 + 48 * 4)
    assert added["kept_because"] == "read by Add, which takes no weights"
    assert document["saved_bytes"] == weights["bytes"] - weights["coded_bytes"]
    assert document["output"] is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["linear.onnx"]


def test_s3_03_what_fails_is_noted(tmp_path: Path) -> None:
    onnx.save(convolution(32, 16), tmp_path / "in.onnx")
    ended = tinygen(
        "quantize-weights", tmp_path / "in.onnx", tmp_path / "out.onnx", "--dtype", "int4", "--granularity",
        "per_block", "--block-size", "48",
    )  # fmt: skip
    assert ended.code == 0
    assert "'weights' stays as it is: Invalid block_sizes [1, 48, 0, 0]" in ended.stderr


def test_weights_in_files_beside_the_model_become_part_of_it(tmp_path: Path) -> None:
    model = matmul(64, 48)
    weights = numpy_helper.to_array(model.graph.initializer[0])
    onnx.save(model, tmp_path / "in.onnx", save_as_external_data=True, location="data.bin", size_threshold=0)
    assert tinygen("quantize-weights", tmp_path / "in.onnx", tmp_path / "out.onnx", "--dtype", "int8").code == 0
    value = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
    (found,) = ReferenceEvaluator(onnx.load(tmp_path / "out.onnx")).run(None, {"input": value})
    expected = value @ weights
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


def test_tflite_models_are_written_as_onnx(tmp_path: Path) -> None:
    model = shared_file("models/mlperf_tiny/kws_fp32_qualcomm.tflite")
    ended = tinygen("quantize-weights", model, tmp_path / "out.onnx", "--dtype", "int4", "--json")
    assert ended.code == 0, ended.stderr
    changed = [weights for weights in ended.document["weights"] if not weights["kept_because"]]
    assert len(dequantize_nodes(onnx.load(tmp_path / "out.onnx"))) == len(changed) > 0


def test_palettes_and_sparse_weights_are_what_the_functions_make(linear: Path, tmp_path: Path) -> None:
    def written(*arguments: str) -> onnx.ModelProto:
        ended = tinygen(arguments[0], linear, tmp_path / "out.onnx", *arguments[1:], "--force")
        assert ended.code == 0, ended.stderr
        return onnx.load(tmp_path / "out.onnx")

    model = onnx.load(linear)
    found = written("palettize-weights", "--bits", "3", "--group-size", "4", "--channel-scales", "--sparsity", "60%")
    assert found == palettize_weights(model, 3, 4, True, pruning=Pruning(0.6))
    assert written("prune-weights", "--n-of-m", "2:4") == prune_weights(model, n_of_m=(2, 4))
    assert written("quantize-weights", "--dtype", "int4", "--sparsity", "0.75") == quantize_weights(
        model, DType.INT4, pruning=Pruning(0.75)
    )


def test_dry_runs_of_palettes_and_pruning_say_what_they_save(linear: Path, tmp_path: Path) -> None:
    size = 64 * 48
    for arguments, done, stored in (
        (("palettize-weights", "--bits", "4"), "palettized", size // 2 + 4 * 16 + 4),
        (("prune-weights", "--sparsity", "75%"), "pruned", size // 8 + size + 4),
    ):
        ended = tinygen(arguments[0], linear, "--dry-run", "--json", *arguments[1:])
        assert ended.code == 0, ended.stderr
        weights, added = ended.document["weights"]
        assert (weights["coded_bytes"], weights["kept_because"]) == (stored, "")
        assert added["kept_because"] == "read by Add, which takes no weights"
        assert ended.document["saved_bytes"] == 4 * size - stored
        text = tinygen(arguments[0], linear, "--dry-run", *arguments[1:]).stdout
        assert next(line for line in text.splitlines() if " weights " in f" {line} ").split()[-1] == done
    assert sorted(p.name for p in tmp_path.iterdir()) == ["linear.onnx"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("palettize-weights", "--bits", "5"), "TG-W302 bits is 5, one of 1, 2, 3, 4, 6, 8 was expected"),
        (("palettize-weights", "--group-size", "-1"), "TG-W302 group_size is -1, a number from 0 on was expected"),
        (("palettize-weights", "--n-of-m", "2of4"), "--n-of-m: is '2of4', two numbers such as 2:4 were expected"),
        (("prune-weights",), "TG-W302 sparsity or n_of_m was expected: it says how many weights become 0"),
        (("prune-weights", "--sparsity", "most"), "--sparsity: is 'most', a share of 0% to 100%"),
        (("prune-weights", "--sparsity", "100%"), "TG-W302 sparsity is 1.0, a share from 0 to below 1 was expected"),
        (("prune-weights", "--n-of-m", "4:2"), "TG-W302 n_of_m is 4:2, of up to 256 weights some but not all"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_palettes_and_sparsities_have_clear_errors(
    linear: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    ended = tinygen(arguments[0], linear, tmp_path / "out.onnx", *arguments[1:])
    assert (ended.code, message in ended.stderr) == (2, True), ended.stderr
    assert not (tmp_path / "out.onnx").exists()


_REFUSED = [
    (["--dtype", "int5"], "--dtype: is 'int5', one of int8, int4,"),
    (["--dtype", "fp32"], "TG-W302 Unsupported weight dtype FP32"),
    (["--dtype", "int4", "--qscheme", "odd"], "--qscheme: is 'odd', one of symmetric, asymmetric was expected"),
    (["--dtype", "int4", "--granularity", "x"], "--granularity: is 'x', one of per_tensor, per_channel, per_block"),
    (["--dtype", "int4", "--block-size", "0"], "TG-W302 block_size is 0, a positive number was expected"),
    (["--dtype", "int4", "--weight-num-threshold", "-1"], "TG-W302 weight_num_threshold is -1"),
    (["--dtype", "int4", "--scale-dtype", "fp8_e8m0fnu"], "TG-W302 scale_dtype must be None for integer dtype INT4"),
    (["--dtype", "fp8_e5m2", "--scale-dtype", "int8"], "TG-W302 Invalid scale_dtype INT8"),
    (["--dtype", "fp4_e2m1fn"], "TG-W302 DType.FP4_E2M1FN requires granularity="),
    (["--dtype", "int4", "--e8m0", "up"], "--e8m0: is 'up', one of floor, ceil, search was expected"),
    (["--dtype", "int4", "--compat", "x"], "--compat: is 'x', one of tinygen, coreai was expected"),
]


@pytest.mark.parametrize(("arguments", "message"), _REFUSED, ids=[" ".join(r[0][2:]) or r[0][1] for r in _REFUSED])
def test_bad_arguments_have_clear_errors(linear: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    ended = tinygen("quantize-weights", linear, tmp_path / "out.onnx", *arguments)
    assert ended.code == 2
    assert message in ended.stderr
    assert not (tmp_path / "out.onnx").exists()


def test_a_dry_run_writes_nothing(linear: Path, tmp_path: Path) -> None:
    """With the file that it would write, or without one."""
    for named in ((tmp_path / "out.onnx",), ()):
        ended = tinygen("quantize-weights", linear, *named, "--dtype", "INT4", "--dry-run", "--json")
        assert (ended.code, ended.document["output"]) == (0, None)
    assert not (tmp_path / "out.onnx").exists()
    ended = tinygen("quantize-weights", linear, "--dtype", "int4")
    assert (ended.code, "OUT: is missing, a file to write was expected" in ended.stderr) == (2, True)


def test_bad_files_have_clear_errors(linear: Path, tmp_path: Path) -> None:
    def failing(*arguments: str | Path) -> tuple[int, str]:
        ended = tinygen("quantize-weights", *arguments, "--dtype", "int8")
        return ended.code, ended.stderr

    (tmp_path / "damaged.onnx").write_bytes(b"\xff\xff\xff")
    (tmp_path / "empty.onnx").write_bytes(b"")
    code, text = failing(tmp_path / "damaged.onnx", tmp_path / "out.onnx")
    assert code == 3 and "damaged.onnx: it is no protobuf message of ONNX, an ONNX model was expected" in text
    code, text = failing(tmp_path / "empty.onnx", tmp_path / "out.onnx")
    assert code == 3 and "empty.onnx: it holds no operators" in text
    code, text = failing(tmp_path / "missing.onnx", tmp_path / "out.onnx")
    assert code == 2 and "missing.onnx: there is no such file" in text
    code, text = failing(linear, tmp_path / "out.tflite")
    assert code == 2 and "has the suffix '.tflite', .onnx was expected" in text
    code, text = failing(linear, linear)
    assert code == 2 and "is read by this command, another name was expected" in text
