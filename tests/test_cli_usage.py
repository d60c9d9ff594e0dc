"""What the command line says where something is wrong: whole messages, exit codes, never a traceback."""

import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer import Typer
from typer.main import get_command

from tests.support.command_line import DIGITS, DIGITS_DATA, Ended, interruptible_process, tinygen, tinygen_process
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_arm_gcc
from tinygen import __version__, targets
from tinygen.cli import compile as compile_module
from tinygen.cli.group import ENTRIES
from tinygen.cli.terminal import INTERRUPTED
from tinygen.targets.toolset import WITHOUT_TOOLS

BOARDS = ", ".join(targets.names())
CORES = (
    "cortex-m0, cortex-m0plus, cortex-m3, cortex-m4, cortex-m7, cortex-m23, cortex-m33, cortex-m52, cortex-m55, "
    "cortex-m85, rv32imc, rv32imac, rv32imafc, rv32imac_zve32x, hazard3"
)
SIZE_FORMS = "is not a positive number of bytes, expected a form like 64K, 64KiB, 65536 or 0x10000. Correct the size."

NOT_OWN = (
    "is not empty and was not made by tinygen, an empty or new folder was expected. "
    "Choose another output folder, or overwrite files there with --force."
)


def said(ended: Ended) -> str:
    """The error message, which stands last, after what a command noted."""
    notes = [line for line in ended.stderr.splitlines(keepends=True) if line.startswith(("kernels: ", "plan: "))]
    return ended.stderr.removeprefix("".join(notes)).removeprefix("tinygen: ").rstrip("\n")


@pytest.fixture(autouse=True)
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "empty.tflite").write_bytes(b"")
    (tmp_path / "text.tflite").write_text("no flatbuffer at all")
    (tmp_path / "weights.bin").write_bytes(b"\0")
    (tmp_path / "mine.json").write_text("{}")
    np.savez(tmp_path / "mine.npz", in0=np.zeros((1, 8, 8, 1), np.int8))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.tflite").mkdir()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("model", "code", "message"),
    [
        ("none.tflite", 2, "none.tflite: there is no such file. Name a .tflite or .onnx model."),
        ("folder", 2, "folder: is a folder, a model file was expected. Name a .tflite or .onnx model."),
        ("folder.tflite", 2, "folder.tflite: is a folder, a model file was expected. Name a .tflite or .onnx model."),
        (
            "weights.bin",
            3,
            "weights.bin: has the suffix '.bin', one of .tflite, .lite, .tfl, .onnx, .mlir, .relay, .keras, .h5, .pt2, "
            "model.py:function, folder of a SavedModel was expected. "
            "Convert the model, or rename the file.",
        ),
        (
            "empty.tflite",
            3,
            "empty.tflite: is not a valid TFLite model: the file has 0 bytes, expected at least 8. "
            "Convert or download it again.",
        ),
        (
            "text.tflite",
            3,
            "text.tflite: is not a valid TFLite model: the file identifier is b'latb', expected b'TFL3'. "
            "Convert or download it again.",
        ),
        ("n" * 300 + ".tflite", 1, "n" * 300 + ".tflite: File name too long."),
    ],
)
@pytest.mark.parametrize("command", ["inspect", "compile"])
def test_models_that_are_none(command: str, model: str, code: int, message: str) -> None:
    ended = tinygen(command, model, *(["-o", "out"] if command == "compile" else []))
    assert (ended.code, said(ended), ended.stdout) == (code, message, "")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["-t", "mps2-an368"],
            f"target 'mps2-an368': is not known, expected a TOML file, one of {BOARDS}, {CORES}, or one of "
            f"{len(targets.parts())} parts. "
            "Did you mean mps2-an386 or mps2-an385 or mps2-an383?",
        ),
        (["-t", "none.toml"], "none.toml: does not exist, expected a board's TOML file. Correct the path."),
        (["--ram", "64X"], f"size '64X': {SIZE_FORMS}"),
        (["--ram", "0"], f"size '0': {SIZE_FORMS}"),
        (["--flash", "many"], f"size 'many': {SIZE_FORMS}"),
        (["-O", "speed"], "--optimize: is 'speed', one of time, ram, size, balanced was expected. Choose one of them."),
        (
            ["--kernels", "fast"],
            "--kernels: is 'fast', one of auto, cmsis-nn, portable, native was expected. Choose one of them.",
        ),
        (["--cc-opt", "0"], "--cc-opt: is '0', one of s, 2, 3 was expected. Choose one of them."),
        (
            ["--ctable", "m.json", "--calibrate", "m.npz"],
            "--ctable and --calibrate: both are given, one was expected. Leave one out.",
        ),
    ],
)
@pytest.mark.parametrize("command", ["compile", "inspect", "run", "validate", "bench"])
def test_planning_options(command: str, options: list[str], message: str) -> None:
    ended = tinygen(command, DIGITS, *options, *(["-o", "out"] if command == "compile" else []))
    assert (ended.code, said(ended), ended.stdout) == (2, message, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["-n", "3-digits"],
            "--name: is '3-digits', a C identifier was expected (letters, digits, underscores; no reserved name). "
            "Try 'model_3_digits'.",
        ),
        (
            ["--project", "bazel"],
            "--project: is 'bazel', one of make, cmake, zephyr, arduino, platformio, esp-idf, cmsis-pack was expected. "
            "Choose one of them.",
        ),
        (
            ["--report", "html,pdf"],
            "--report: is 'pdf', one of json, html was expected. Choose one of them.",
        ),
        (["--dump", "out"], "--dump out: is the output folder, another one was expected. Choose one."),
        (["--dump", "out/in"], "--dump out/in: lies in the output folder, one outside was expected. Choose one."),
        (["--dump", "taken"], f"taken: {NOT_OWN}"),
        (["--report", "html,"], "--report: is '', one of json, html was expected. Choose one of them."),
        (["-n", "n" * 65], "--name: has 65 letters, at most 64 were expected. Choose a shorter one."),
        (
            ["--kernels", "portable", "--cmsis-nn", "taken"],
            "--kernels portable, --cmsis-nn: are given both, one was expected. Leave one of them out.",
        ),
        (["-o", "taken", "--dump", "graphs"], f"taken: {NOT_OWN}"),
        (["-o", "weights.bin"], "weights.bin: is a file, a folder was expected. Choose another output folder."),
        (
            ["-o", "/proc/tinygen"],
            "/proc/tinygen: cannot be written (No such file or directory). Choose another output folder.",
        ),
    ],
)
def test_options_of_compile(work_folder: Path, options: list[str], message: str) -> None:
    before = sorted(path.name for path in work_folder.rglob("*"))
    ended = tinygen("compile", DIGITS, "-o", "out", *options)
    assert (ended.code, said(ended), ended.stdout) == (2, message, "")
    assert sorted(path.name for path in work_folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", DIGITS, "--input", "none.npy"],
            "none.npy: cannot be read as samples (No such file or directory), an .npz or .npy file of numpy was "
            "expected. Write it with numpy.save or numpy.savez.",
        ),
        (
            ["validate", DIGITS, "--data", "weights.bin"],
            "weights.bin: cannot be read as samples (it is in another form, or damaged), an .npz or .npy file of numpy "
            "was expected. Write it with numpy.save or numpy.savez.",
        ),
        (
            ["run", DIGITS, "--input", "a.npy", "--input", "b.npy"],
            "--input: names the files a.npy, b.npy, one was expected. Put all arrays into one .npz.",
        ),
        (
            ["run", DIGITS, "--output", "y.csv"],
            "--output y.csv: has the suffix '.csv', '.npz' was expected. Rename it.",
        ),
        (
            ["validate", DIGITS, "--against", "keras"],
            "--against: is 'keras', one of litert, ort, tflm, simulator was expected. Choose one of them.",
        ),
        (
            ["bench", DIGITS, "--compare", "tflm"],
            "--compare: is 'tflm', one of cmsis-nn, portable was expected. Choose one of them.",
        ),
        (
            ["bench", DIGITS, "-o", "out"],
            "--output: is for --suite, which is not given, it was expected. Leave the option out.",
        ),
        (
            ["bench", "--suite", "mlperf", "--per-op"],
            "--per-op: is for MODEL, which is not given, it was expected. Leave the option out.",
        ),
        (
            ["run", DIGITS, "--input", "streamed", "--input", "resident"],
            "--input: is streamed and resident, one of them was expected. Leave the others out.",
        ),
        (
            ["run", DIGITS, "--output", "none/y.npz"],
            "none/y.npz: there is no folder none, one was expected. Make it, or choose another one.",
        ),
        (
            ["run", DIGITS, "--output", "mine.npz"],
            "mine.npz: is there, and not tinygen's; a new name was expected. Choose one, or add --force.",
        ),
        (
            ["run", DIGITS, "--input", "mine.npz", "--output", "mine.npz", "--force"],
            "mine.npz: is read by this command, another name was expected. Choose one.",
        ),
        (
            ["simulate", DIGITS, "--data", DIGITS_DATA, "--trace", "x.json", "--output", "x.json"],
            "--trace, --output: are both x.json, two files were expected. Choose another name for one.",
        ),
        (
            ["simulate", DIGITS, "--data", DIGITS_DATA, "--trace", "mine.json"],
            "mine.json: is there, and not tinygen's; a new name was expected. Choose one, or add --force.",
        ),
        (
            ["simulate", DIGITS, "--data", DIGITS_DATA, "--trace", "n" * 300],
            "n" * 300 + ": cannot be written (File name too long). Choose another file.",
        ),
        (
            ["inspect", DIGITS, "--dim", "batch=1", "--dim", "batch=2"],
            "--dim: names 'batch' with two sizes, one was expected. Leave one of them out.",
        ),
    ],
)
def test_options_of_other_commands(arguments: list[str | Path], message: str) -> None:
    ended = tinygen(*arguments)
    assert (ended.code, said(ended), ended.stdout) == (2, message, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["complie", "x"], "No such command 'complie'. Did you mean 'compile'?"),
        (["compile", "x.tflite"], "Missing option '-o'"),
        (["inspect"], "Missing argument 'MODEL'"),
        (["inspect", "x.tflite", "--rom", "3"], "No such option: --rom"),
        (["validate", "x.tflite", "--samples", "0"], "'--samples'"),
    ],
)
def test_what_the_parser_refuses(arguments: list[str], words: str) -> None:
    ended = tinygen(*arguments)
    assert ended.code == 2
    assert words in re.sub(r"[\s│]+", " ", ended.stderr)
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "x.tflite", "--rom", "3"], "No such option: --rom (Possible options: --op, --ram, --recompute)"),
        (["compile", "x.tflite"], "Missing option '-o'"),
        (["validate"], "Missing argument 'MODEL'"),
        (["validate", "x.tflite", "--samples", "many"], "Invalid value for '--samples': "),
        (["ctable", "diff", "a", "b", "--all"], "No such option: --all"),
        (["--rom"], "No such option: --rom"),
        (["complie"], "No such command 'complie'. Did you mean 'compile'?"),
        (["compile", ""], "Invalid value: The argument after 'compile' is empty, a text was expected."),
    ],
)
def test_what_the_parser_refuses_is_a_document_too(arguments: list[str], message: str) -> None:
    ended = tinygen(*arguments, "--json")
    assert (ended.code, ended.document["exit_code"], ended.document.keys()) == (2, 2, {"error", "exit_code"})
    assert ended.document["error"].startswith(message)
    assert ended.stderr != ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["foo"], f"No such command 'foo', one of {', '.join(entry.name for entry in ENTRIES)} was expected."),
        (["val"], "No such command 'val'. Did you mean 'validate'?"),
        (["quantise"], "No such command 'quantise'. Did you mean 'quantize'?"),
        (
            ["kws.tflite", "-t", "host"],
            "No such command 'kws.tflite': it is a model, a command was expected before it. "
            "Try 'tinygen compile kws.tflite'.",
        ),
        (["ctable", "shwo"], "No such command 'shwo'. Did you mean 'show'?"),
        (
            ["mlperf", "cats"],
            "No such command 'cats', one of kws, ic, vww, ad, sww, run, serve, submission, models was expected.",
        ),
    ],
)
def test_commands_that_are_none(arguments: list[str], message: str) -> None:
    ended = tinygen(*arguments, "--json")
    assert (ended.code, ended.document["error"]) == (2, message)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([""], "The first argument"),
        (["compile", "", "-o", "out"], "The argument after 'compile'"),
        (["compile", str(DIGITS), "-o", ""], "The argument after '-o'"),
        (["compile", str(DIGITS), "-o", "out", "-n", ""], "The argument after '-n'"),
        (["compile", str(DIGITS), "-o", "out", "--name="], "The value of '--name'"),
        (["run", str(DIGITS), "--report="], "The value of '--report'"),
    ],
)
def test_empty_texts(arguments: list[str], what: str, work_folder: Path) -> None:
    before = set(work_folder.rglob("*"))
    ended = tinygen(*arguments, "--json")
    message = f"Invalid value: {what} is empty, a text was expected. Is a variable of the shell not set?"
    assert (ended.code, ended.document["error"]) == (2, message)
    assert set(work_folder.rglob("*")) == before


ODD_VALUES = ("nan", "-1", "9" * 5000, "/", "a=é,")


def test_no_value_of_an_option_is_nonsense(work_folder: Path) -> None:
    """Each option of `inspect`, which has all that plan, refuses odd values by a message of its own."""
    before = set(work_folder.rglob("*"))
    options = [name for name in _options("inspect") if name not in ("--json", "--help")]
    assert {"--ram", "--recompute", "--max-drop", "--dim", "--weights", "--engine"} <= set(options)
    for option in options:
        for value in ODD_VALUES:
            ended = tinygen("inspect", DIGITS, "--kernels", "portable", "-q", f"{option}={value}")
            assert ended.code in (2, 3), (option, value, ended)
            assert "internal error" not in ended.stderr
            assert ended.stdout == ""
    assert set(work_folder.rglob("*")) == before


def _options(command: str) -> list[str]:
    """Those of a command that take a value."""
    entry = next(entry for entry in ENTRIES if entry.name == command)
    app = Typer(add_completion=False)
    app.command()(import_module(entry.module).command)
    parameters = get_command(app).params
    return [p.opts[-1] for p in parameters if p.param_type_name == "option" and not getattr(p, "is_flag", False)]


@pytest.mark.parametrize("share", ["101%", "1000000%", "1.5", "-1%", "nan", "inf", "5%%", "%"])
def test_shares_that_are_none(share: str) -> None:
    ended = tinygen("inspect", DIGITS, f"--recompute={share}")
    message = f"--recompute: is '{share}', a share of 0% to 100%, such as 5% or 0.05, was expected."
    assert (ended.code, said(ended)) == (2, message)


@pytest.mark.parametrize(
    "command", [["run", "-t", "host", "--input"], ["validate", "-t", "host", "--against", "simulator", "--data"]]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_without_numbers(command: list[str], value: float) -> None:
    writer = ModelWriter()
    real, stored = writer.tensor("x", (1, 4), "float32"), writer.tensor("q", (1, 4), scale=0.5, zero_point=0)
    output = writer.tensor("y", (1, 4), scale=0.5, zero_point=0)
    writer.operator("QUANTIZE", [real], [stored])
    writer.operator("RELU", [stored], [output])
    Path("float.tflite").write_bytes(writer.finish([real], [output]))
    samples = np.zeros((6, 4), np.float32)
    np.save("good.npy", samples)
    samples[4, 1] = value
    np.save("bad.npy", samples)
    name, *options = command
    assert tinygen(name, "float.tflite", "--kernels", "portable", *options, "good.npy").code == 0
    ended = tinygen(name, "float.tflite", "--kernels", "portable", *options, "bad.npy")
    assert (ended.code, said(ended)) == (
        2,
        "bad.npy: array 'in0', sample 4 holds NaN or infinity, finite numbers were expected. "
        "Remove the sample, or correct what made it.",
    )


def test_outputs_of_earlier_runs_are_replaced(work_folder: Path) -> None:
    """Those that tinygen wrote; others only with --force. What is written is whole."""
    run = ("run", DIGITS, "-t", "host", "--kernels", "portable", "--output")
    assert [tinygen(*run, "y.npz").code for _ in range(2)] == [0, 0]
    assert tinygen(*run, "mine.npz", "--force").code == 0
    with np.load("y.npz") as first, np.load("mine.npz") as second:
        assert np.array_equal(first["out0"], second["out0"])
    simulate = ("simulate", DIGITS, "--data", DIGITS_DATA, "--samples", "1", "--trace")
    assert [tinygen(*simulate, "t.json").code for _ in range(2)] == [0, 0]
    assert tinygen(*simulate, "mine.json", "--force").code == 0
    assert not list(work_folder.rglob("*.part"))


def test_operators_that_are_not_supported_are_all_listed() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "float32")
    y = writer.tensor("y", (1, 4), "float32")
    z = writer.tensor("z", (1, 4), "float32")
    writer.operator("CUSTOM", [x], [y])
    writer.operator("CUSTOM", [y], [z])
    Path("float.tflite").write_bytes(writer.finish([x], [z]))
    ended = tinygen("compile", "float.tflite", "-o", "out")
    assert ended.code == 3
    first, *causes = said(ended).splitlines()
    assert first == "float.tflite: 2 operators cannot be compiled. `tinygen supported-ops` lists what can."
    assert causes[0].startswith("  operator 0 (CUSTOM: 'y'): ")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--ram", "1K", "--split", "off", "--kernels", "portable"],
            "the arena needs 1536 bytes of RAM, 1024 are available without the stack.",
        ),
        (["--flash", "4K"], "weights and other constants need "),
    ],
)
def test_models_that_do_not_fit(options: list[str], words: str) -> None:
    ended = tinygen("compile", DIGITS, "-o", "out", *options)
    assert ended.code == 4
    assert said(ended).startswith("digits_int8 for mps2-an386: ")
    assert words in said(ended)
    assert not Path("out").exists()


def test_kernels_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGEN_CMSIS_NN", "nowhere")
    ended = tinygen("compile", DIGITS, "-o", "out", "--kernels", "cmsis-nn")
    assert ended.code == 6
    assert said(ended).startswith("CMSIS-NN: not found in ")
    assert said(ended).endswith(" or use --kernels portable.")
    found = tinygen("inspect", DIGITS, "-O", "time").stderr
    assert found == "kernels: native, else portable (CMSIS-NN not found)\n"


@pytest.mark.parametrize(
    ("target", "tools", "package", "instead"),
    [("host", [], "gcc", ""), ("mps2-an386", [], "gcc-arm-none-eabi", f" {WITHOUT_TOOLS}")],
)
def test_a_missing_compiler(work_folder: Path, target: str, tools: list[str], package: str, instead: str) -> None:
    ended = _without_tools(work_folder, tools, "run", DIGITS, "-t", target)
    assert ended.code == 6
    assert said(ended).endswith(
        f"not found on PATH, needed to build for {target}. Install the Debian package {package}.{instead}"
    )


@pytest.mark.parametrize("command", ["run", "bench", "validate"])
def test_parts_that_nothing_runs(command: str, work_folder: Path) -> None:
    """Said before anything is compiled."""
    ended = _without_tools(work_folder, [], command, DIGITS, "-t", "stm32l4r5zi")
    assert ended.code == 6
    assert said(ended) == (
        "stm32l4r5zi: has no QEMU machine, expected a board with one. Run it on hardware, or by its core: -t cortex-m4."
    )


def test_a_compiler_that_refuses_the_generated_c(work_folder: Path) -> None:
    """Another exit code than for one that is missing."""
    cc = work_folder / "bin" / "cc"
    cc.parent.mkdir()
    cc.write_text("#!/bin/sh\ncase $1 in --version) echo cc 1.0 ;; *) echo 'main.c:1: error: no' >&2; exit 1 ;; esac\n")
    cc.chmod(0o755)
    ended = _without_tools(work_folder, [], "run", DIGITS, "-t", "host")
    assert (ended.code, said(ended)) == (1, "cc: failed with exit code 1:\n  main.c:1: error: no")


@requires_arm_gcc
def test_a_missing_emulator(work_folder: Path) -> None:
    tools = ["arm-none-eabi-gcc", "arm-none-eabi-ar"]
    ended = _without_tools(work_folder, tools, "bench", DIGITS, "--kernels", "portable")
    assert (ended.code, said(ended)) == (
        6,
        "qemu-system-arm: not found on PATH, needed to run on mps2-an386. "
        f"Install the Debian package qemu-system-arm. {WITHOUT_TOOLS}",
    )


def test_nothing_is_needed_to_inspect_and_compile(work_folder: Path) -> None:
    assert _without_tools(work_folder, [], "inspect", DIGITS).code == 0
    assert _without_tools(work_folder, [], "compile", DIGITS, "-o", "out").code == 0


def test_doctor_without_a_compiler(work_folder: Path) -> None:
    ended = _without_tools(work_folder, [], "doctor", "--json")
    assert (ended.code, said(ended)) == (
        6,
        "C compiler: not found on PATH, needed for the host. Run `apt install gcc`.",
    )
    assert ended.document["host"] is ended.document["cortex_m"] is ended.document["riscv"] is False


def _without_tools(folder: Path, tools: list[str], *arguments: str | Path) -> Ended:
    """A command with nothing but `tools` on its PATH."""
    path = folder / "bin"
    path.mkdir(exist_ok=True)
    for tool in tools:
        found = next(Path(entry, tool) for entry in os.environ["PATH"].split(":") if Path(entry, tool).exists())
        (path / tool).symlink_to(found)
    return tinygen_process(*arguments, cwd=folder, environment={"PATH": str(path), "TINYGEN_CACHE": str(folder)})


def test_errors_in_json_mode_are_one_document() -> None:
    ended = tinygen("run", "none.tflite", "--json")
    assert ended.document == {
        "error": "none.tflite: there is no such file. Name a .tflite or .onnx model.",
        "exit_code": 2,
    }


def test_an_unexpected_error_is_one_line_and_with_v_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(compile_module, "compile_model", broken)
    message = "internal error (ZeroDivisionError: of all things). Please report it, with the model."
    ended = tinygen("compile", DIGITS, "-o", "out")
    assert (ended.code, said(ended), "Traceback" in ended.stderr) == (1, message, False)
    for before, after in (([], ["-v"]), (["-v"], [])):
        ended = tinygen(*before, "compile", DIGITS, "-o", "out", *after)
        assert (ended.code, "Traceback" in ended.stderr) == (1, True)
        assert ended.stderr.endswith(f"tinygen: {message}\n")


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(compile_module, "compile_model", greedy)
    ended = tinygen("compile", DIGITS, "-o", "out")
    assert (ended.code, said(ended)) == (1, "not enough memory: more was asked for than this machine has.")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_that_a_terminal_lacks(work_folder: Path, encoding: str) -> None:
    (work_folder / "net\u017c \u6570.tflite").write_bytes(DIGITS.read_bytes())
    asked = ("inspect", "net\u017c \u6570.tflite", "-q", "--kernels", "portable")
    terminal = {"PYTHONIOENCODING": f"{encoding}:strict", "PYTHONUTF8": "0"}
    ended = tinygen_process(*asked, "--json", cwd=work_folder, environment=terminal)
    assert (ended.code, ended.document["model"], ended.stderr) == (0, "net\u017c \u6570.tflite", "")
    shown = tinygen_process("inspect", *asked[1:2], cwd=work_folder, environment=terminal)
    assert (shown.code, "internal error" in shown.stderr) == (0, False)


def test_a_file_name_that_is_no_text() -> None:
    model = Path(os.fsdecode(b"bad\xff.tflite"))
    model.write_bytes(DIGITS.read_bytes())
    ended = tinygen("compile", model, "-o", "out", "--kernels", "portable", "--dump", "dump", "--json")
    assert (ended.code, ended.document["model"]) == (0, model.name)
    ended.stdout.encode()


def test_an_interrupt_ends_quietly(work_folder: Path) -> None:
    arguments = ("validate", DIGITS, "-t", "host", "--data", DIGITS_DATA, "--against", "simulator")
    with interruptible_process(*arguments, cwd=work_folder) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("kernels: ")  # now it builds and runs
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (INTERRUPTED, "tinygen: interrupted.\n")


def test_a_closed_pipe_is_no_traceback(work_folder: Path) -> None:
    with interruptible_process("supported-ops", "--json", cwd=work_folder) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
        process.wait(timeout=60)


def test_version_and_help() -> None:
    assert tinygen("--version").stdout == f"tinygen {__version__}\n"
    assert tinygen("-h").code == tinygen("--help").code == 0
    listed = tinygen("--help").stdout
    for entry in ENTRIES:
        assert entry.name in listed
        for name in (entry.name, *entry.aliases):
            shown = tinygen(name, "--help")
            assert shown.code == 0
            assert entry.example in re.sub(r"\s+", " ", shown.stdout)
    assert not any(alias in listed for entry in ENTRIES for alias in entry.aliases)


def test_help_loads_nothing_heavy(work_folder: Path) -> None:
    """Help takes under half a second only without numpy and the frontends."""
    program = (
        "import sys; sys.argv[1:] = ['--help']\nfrom tinygen.cli import main\ntry: main()\nfinally: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=work_folder, capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    heavy = {"numpy", "onnx", "ortools", "tflite", "pydantic", "jinja2", "ai_edge_litert", "tinygen.pipeline"}
    assert "tinygen.cli.group" in loaded
    assert heavy.isdisjoint(loaded)


def test_quiet_prints_nothing_but_errors() -> None:
    for before, after in (([], ["-q"]), (["-q"], [])):
        assert tinygen(*before, "inspect", DIGITS, *after) == Ended(0, "", "")
    assert said(tinygen("inspect", "none.tflite", "-q")) != ""
