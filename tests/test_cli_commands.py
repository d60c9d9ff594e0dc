"""What the commands print: documents with the keys of the contract, tables, and numbers that agree with each other."""

import json
import platform
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console, RenderableType

from tests.support.command_line import DIGITS, DIGITS_DATA, tinygen
from tests.support.litert import needs_litert, run_reference
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tinygen import paths, targets
from tinygen.build.inventory import take_inventory
from tinygen.frontends.tflite.importer import INTEGER_READERS, READERS
from tinygen.ir.types import Array
from tinygen.report.document import json_text
from tinygen.report.health import health_table, judge
from tinygen.tasks import validation as validation_task
from tinygen.verify.comparison import Side
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import FirstMismatch, Validation

DIGITS_ARENA = 1536  # conv 4x4x32 -> 4x4x64 with both whole: 512 + 1024
DIGITS_MACS = 59_648  # 8*8*16*9 + 4*4*16*9 + 4*4*16*32 + 4*4*32*9 + 4*4*32*64 + 256*10
OUTPUT = "StatefulPartitionedCall_1:0"

INSPECT_KEYS = {
    "model",
    "target",
    "fits",
    "arena_bytes",
    "lower_bound_bytes",
    "unsplit_bytes",
    "macs",
    "extra_macs",
    "const_bytes",
    "peak_step",
    "unsupported",
}
BENCH_KEYS = {
    "instructions",
    "cycles_model",
    "cycles_band",
    "flash_fetches",
    "flash_data_fetches",
    "arena_bytes",
    "ram_bytes",
    "stack_bytes",
    "code_bytes",
    "const_bytes",
    "flash_bytes",
    "per_op",
}


def test_inspect() -> None:
    ended = tinygen("inspect", DIGITS, "--json", "--kernels", "portable", "--ops", "-O", "time")
    document = ended.document
    assert (ended.code, ended.stderr) == (0, "kernels: portable\n")
    assert document.keys() >= INSPECT_KEYS
    assert document["target"] == "mps2-an386"
    assert document["fits"] is True
    assert document["arena_bytes"] == document["unsplit_bytes"] == document["lower_bound_bytes"] == DIGITS_ARENA
    assert (document["macs"], document["extra_macs"]) == (DIGITS_MACS, 0)
    assert document["unsupported"] == []
    peak = document["peak_step"]
    assert (peak["index"], peak["operator"], peak["live_bytes"]) == (4, "CONV_2D", DIGITS_ARENA)
    assert sorted(buffer["bytes"] for buffer in peak["buffers"]) == [512, 1024]
    assert sum(row["macs"] for row in document["ops"]) == DIGITS_MACS
    assert [row["operator"] for row in document["ops"]][:3] == ["CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"]
    assert document["ops"][0]["inputs"] == [[1, 8, 8, 1]]


def test_inspect_of_a_model_that_does_not_fit() -> None:
    ended = tinygen("inspect", DIGITS, "--json", "--ram", "1K", "--split", "off")
    assert ended.code == 4
    assert ended.document.keys() >= INSPECT_KEYS
    assert (ended.document["fits"], ended.document["arena_bytes"]) == (False, DIGITS_ARENA)
    assert "the arena needs 1536 bytes of RAM, 1024 are available" in ended.stderr
    exact = tinygen("inspect", DIGITS, "--json", "--ram", str(DIGITS_ARENA), "--split", "off")
    assert (exact.code, exact.document["fits"]) == (0, True)


def test_inspect_of_a_model_that_fits_when_it_is_split() -> None:
    limit = DIGITS_ARENA - 256
    document = tinygen("inspect", DIGITS, "--json", "--ram", str(limit)).document
    assert document["lower_bound_bytes"] <= document["arena_bytes"] <= limit < document["unsplit_bytes"] == DIGITS_ARENA
    assert (document["fits"], document["macs"]) == (True, DIGITS_MACS)
    assert document["extra_macs"] >= 0
    smallest = tinygen("inspect", DIGITS, "--json", "-O", "ram").document
    assert smallest["arena_bytes"] <= document["arena_bytes"]


def test_inspect_of_an_unsupported_model(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y = writer.tensor("x", (1, 4), "float32"), writer.tensor("y", (1, 4), "float32")
    writer.operator("CUSTOM", [x], [y])
    model = tmp_path / "custom.tflite"
    model.write_bytes(writer.finish([x], [y]))
    ended = tinygen("inspect", model, "--json")
    assert ended.code == 3
    assert ended.document.keys() >= INSPECT_KEYS
    assert (ended.document["fits"], ended.document["arena_bytes"]) == (False, None)
    [fault] = ended.document["unsupported"]
    assert fault.keys() == {"operator", "index", "name", "reason"}
    assert (fault["operator"].partition(":")[0], fault["index"], fault["name"]) == ("CUSTOM", 0, "y")


def test_inspect_prints_tables_without_json() -> None:
    ended = tinygen("inspect", DIGITS, "--ops")
    assert re.search(r"arena +1,152 bytes of 4,185,856", ended.stdout)
    assert re.search(r"macs +59,648", ended.stdout, re.IGNORECASE)
    assert "arm_softmax_s8" in ended.stdout
    assert tinygen("analyze", DIGITS, "--ops").stdout == ended.stdout


def test_run_shows_what_litert_computes(tmp_path: Path) -> None:
    samples = np.load(DIGITS_DATA)["in0"][:3]
    np.savez(tmp_path / "x.npz", in0=samples)
    ended = tinygen(
        "run",
        DIGITS,
        "--json",
        "--input",
        tmp_path / "x.npz",
        "--output",
        tmp_path / "y.npz",
        "-t",
        "host",
        "-O",
        "time",
    )
    assert ended.code == 0
    document = ended.document
    assert (document["samples"], document["arena_bytes"], document["instructions"]) == (3, DIGITS_ARENA, None)
    outputs = np.array(document["outputs"][OUTPUT])
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["out0"], outputs)
    np.testing.assert_array_equal(
        outputs, np.concatenate([run_reference(DIGITS, [sample[np.newaxis]]).outputs[0] for sample in samples])
    )


def test_run_draws_inputs_from_the_seed() -> None:
    runs = [
        tinygen("run", DIGITS, "--json", *seed, "-t", "host").document["outputs"]
        for seed in ([], ["--seed", "0"], ["--seed", "1"])
    ]
    assert runs[0] == runs[1] != runs[2]


def test_run_takes_both_meanings_of_input(tmp_path: Path) -> None:
    """`--input` names a file, and says on all commands whether the input is resident."""
    np.save(tmp_path / "x.npy", np.load(DIGITS_DATA)["in0"][:2])
    ended = tinygen("run", DIGITS, "--json", "--input", "resident", "--input", tmp_path / "x.npy", "-t", "host")
    assert (ended.code, ended.document["samples"]) == (0, 2)
    assert tinygen("run", DIGITS, "--json", "--input", "resident", "-t", "host").document["samples"] == 1


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.zeros((2, 8, 8), np.int8).repeat(2, 1),
            "array 'in0' has shape [2, 16, 8], [samples, 8, 8, 1] was expected for input 'serving_default_image:0'. "
            "Reshape it.",
        ),
        (
            np.full((1, 8, 8, 1), 0.5, np.float32),
            "array 'in0', sample 0 holds 0.5, a whole number of -128..127 was expected for input "
            "'serving_default_image:0'. Convert the array, or correct what made it.",
        ),
        (
            np.full((1, 8, 8, 1), 128),
            "array 'in0', sample 0 holds 128, a whole number of -128..127 was expected for input "
            "'serving_default_image:0'. Convert the array, or correct what made it.",
        ),
        (np.zeros((0, 8, 8, 1), np.int8), "holds 0 samples, at least 1 was expected."),
    ],
)
def test_run_refuses_arrays_that_are_no_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: Array, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", array)
    ended = tinygen("run", DIGITS, "--input", "x.npy", "-t", "host")
    assert (ended.code, ended.stderr.splitlines()[-1]) == (2, f"tinygen: x.npy: {message}")


def test_run_takes_whole_numbers_in_float_arrays(tmp_path: Path) -> None:
    samples = np.load(DIGITS_DATA)["in0"][:2]
    np.save(tmp_path / "int.npy", samples)
    np.save(tmp_path / "float.npy", samples.astype(np.float64))
    documents = [
        tinygen("run", DIGITS, "--json", "--input", tmp_path / name, "-t", "host").document
        for name in ("int.npy", "float.npy")
    ]
    assert documents[0]["outputs"] == documents[1]["outputs"]


@pytest.mark.qemu
@requires_qemu
def test_bench_and_run_count_the_same() -> None:
    ended = tinygen("bench", DIGITS, "--json", "--per-op", "--kernels", "portable", "--cc-opt", "s", "-O", "time")
    document = ended.document
    assert (ended.code, ended.stderr) == (0, "kernels: portable\n")
    assert document.keys() >= BENCH_KEYS
    assert document["arena_bytes"] == DIGITS_ARENA
    assert document["ram_bytes"] >= document["arena_bytes"] + document["stack_bytes"]
    assert sum(row["macs"] for row in document["per_op"]) == DIGITS_MACS
    assert sum(row["instructions"] for row in document["per_op"]) == pytest.approx(document["instructions"], rel=0.02)
    asked = ("-t", "cortex-m4", "--kernels", "portable", "--cc-opt", "s", "-O", "time")
    run = tinygen("run", DIGITS, "--json", *asked).document
    assert run["instructions"] == pytest.approx(document["instructions"], rel=0.001)


@pytest.mark.qemu
@requires_qemu
def test_bench_compares_with_other_kernels() -> None:
    document = tinygen("bench", DIGITS, "--json", "--kernels", "portable", "--compare", "portable").document
    other = document.pop("compare")
    assert document.pop("per_op_gain") == []
    assert document.keys() >= other.keys() >= BENCH_KEYS
    assert {key: document[key] for key in other} == other
    shown = tinygen("bench", DIGITS, "--kernels", "portable", "--compare", "portable").stdout
    assert re.search(r"instructions +[\d,]+ +[\d,]+ +1\.00", shown)


@needs_litert
def test_validate() -> None:
    ended = tinygen("validate", DIGITS, "--json", "--data", DIGITS_DATA, "--samples", "3", "-t", "host")
    document = ended.document
    assert ended.code == 0
    expected = {
        "exact": True,
        "samples": 3,
        "mismatches": 0,
        "first_mismatch": None,
        "oracle": "litert",
        "target": "host",
    }
    assert document | expected == document
    assert document["max_abs_diff"] == 0
    assert document["kernels"] in ("cmsis-nn", "portable")
    layers = tinygen(
        "verify", DIGITS, "--json", "--samples", "1", "--per-layer", "--against", "simulator", "-t", "host"
    ).document["layers"]
    assert [layer["operator"] for layer in layers if layer["operator"] == "CONV_2D"] == ["CONV_2D"] * 3


def test_a_mismatch_ends_with_code_5_and_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    first = FirstMismatch("CONV_2D", "conv", Side.TARGET)
    found = Validation(False, 4, 3, 17, first, Oracle.SIMULATOR, "host", "portable", ())
    monkeypatch.setattr(validation_task, "validate", lambda *_: found)
    ended = tinygen("validate", DIGITS, "--json", "--against", "simulator", "-t", "host")
    assert ended.code == 5
    assert (ended.document["exact"], ended.document["mismatches"]) == (False, 17)
    assert (
        ended.document["first_mismatch"] | {"operator": "CONV_2D", "name": "conv"} == ended.document["first_mismatch"]
    )
    assert ended.stderr.splitlines()[-1] == (
        "tinygen: digits_int8.tflite on host: 17 elements differ from simulator in 4 samples, 0 were expected. "
        "First: CONV_2D 'conv' (target). Please report this."
    )


def test_targets() -> None:
    rows = tinygen("targets", "--json").document["targets"]
    assert [row["name"] for row in rows] == list(targets.names())
    m4 = next(row for row in rows if row["name"] == "mps2-an386")
    assert (m4["core"], m4["isa"], m4["ram_bytes"], m4["qemu_machine"]) == ("cortex-m4", "dsp", 4 << 20, "mps2-an386")
    shown = tinygen("targets").stdout
    assert re.search(r"stm32vldiscovery +cortex-m3 +scalar +8K +128K +stm32vldiscovery", shown)


def test_supported_ops() -> None:
    document = tinygen("supported-ops", "--json").document
    rows = document["tflite"]
    assert [row["operator"] for row in rows] == sorted({*READERS, *INTEGER_READERS})
    assert all(row["meaning"] or row["remark"] for row in rows)
    markdown = tinygen("supported-ops", "--markdown").stdout.splitlines()
    assert markdown[:2] == ["| TFLite operator | computes | remark |", "|---|---|---|"]
    assert len(markdown) == len(rows) + len(document["onnx"]) + 5
    assert all(line.count("|") == 4 for line in markdown if line)
    assert {"Conv", "QLinearConv", "Shape", "Softmax"} <= {row["operator"] for row in document["onnx"]}
    assert all(row["operator"] in tinygen("supported-ops").stdout for row in rows)


def test_doctor() -> None:
    document = tinygen("doctor", "--json").document
    tools = {tool["name"]: tool for tool in document["tools"]}
    assert tools["python"]["version"] == platform.python_version()
    assert {
        "C compiler",
        "arm-none-eabi-gcc",
        "newlib",
        "qemu-system-arm",
        "CMSIS-NN",
        "ai-edge-litert",
    } <= tools.keys()
    assert (tools["qemu-system-arm"]["version"] is not None) == (shutil.which("qemu-system-arm") is not None)
    assert all(tool["remedy"] for name, tool in tools.items() if name != "python")


def test_doctor_fits_a_terminal() -> None:
    """Whatever is missing, and whatever the others say of themselves."""
    long = "arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205"
    for version in (None, long, f"commit {'0123456789' * 4}"):
        tools = tuple(replace(tool, version=version, path="/" + "x" * 200) for tool in take_inventory())
        text = _printed(health_table(judge(tools)))
        assert max(map(len, text.splitlines())) <= 120
        assert "xxx" not in text
        assert (version is None) is ("git submodule update --init, or set TINYGEN_CMSIS_NN" in text)
    assert all(shown in tinygen("doctor", "-v").stdout for shown in ("Where they are", str(shutil.which("cc"))))


def test_example_writes_into_folders_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    ended = tinygen("example", file)
    assert (ended.code, ended.stderr) == (
        2,
        f"tinygen: {file}: cannot be made (File exists). Choose another folder.\n",
    )


def test_a_wheel_is_not_told_of_submodules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paths, "_INSTALLED", tmp_path)
    assert {tool.name: tool.remedy for tool in take_inventory()}["CMSIS-NN"] == "set TINYGEN_CMSIS_NN"


def test_the_host_measures_nothing_and_says_so() -> None:
    ended = tinygen("bench", DIGITS, "-t", "host")
    assert ended.code == 0
    assert "Nothing is measured on the host: these bytes are planned. Name a board with -t." in ended.stderr
    assert "arena" in ended.stdout
    assert "instructions" not in ended.stdout


def _printed(table: RenderableType) -> str:
    console = Console(width=1000)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def test_documents_are_plain_json() -> None:
    document = {
        "path": Path("a"),
        "oracle": Oracle.LITERT,
        "nan": float("nan"),
        "none": None,
        "rows": (Side.TARGET, 1.5),
    }
    assert json.loads(json_text(document)) == {
        "path": "a",
        "oracle": "litert",
        "nan": None,
        "none": None,
        "rows": ["target", 1.5],
    }
    with pytest.raises(TypeError, match="object has no JSON form"):
        json_text({"x": object()})


def test_run_with_a_streamed_input_and_a_stored_output() -> None:
    """The rows that the application gives and takes make the same outputs as whole ones."""
    modes: list[list[str]] = [[], ["--input", "streamed"], ["--results", "stored"]]
    ended = [tinygen("run", DIGITS, "--kernels", "portable", "--json", *more, "-t", "host") for more in modes]
    assert [run.code for run in ended] == [0, 0, 0]
    whole, streamed, stored = (json.loads(run.stdout) for run in ended)
    assert whole["outputs"] == streamed["outputs"] == stored["outputs"]
