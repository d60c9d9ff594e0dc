"""The command parser on the host, under sanitizers, against a model of the protocol."""

import os
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mlperf.protocol import Firmware
from tests.support.tools import requires_clang
from tinygen import paths
from tinygen.build.toolchain import WARNINGS, Sanitizer, for_board
from tinygen.targets import load

CAPACITY = 64  # small, so that its end is met often
STREAMS = 20_000
SOURCES = ("command_line.c", "commands.c", "download.c", "submitter.c", "main.c")
API = os.environ.get("TINYGEN_MLPERF_API")  # folder benchmark/ of mlcommons/tiny
CONFIG = '#define TH_VENDOR_NAME_STRING "tinygen"\n#define TH_MODEL_VERSION "kws01"\n'


def _build(folder: Path, cc: str | None = None) -> Path:
    (folder / "mlperf_config.h").write_text(CONFIG)
    mlperf = paths.RUNTIME_C / "mlperf"
    sources = [*(mlperf / file for file in SOURCES), mlperf / "scores.c", Path(__file__).with_name("feeder.c")]
    toolchain = for_board(load("host"), cc=cc, sanitizers=(Sanitizer.ADDRESS, Sanitizer.UNDEFINED))
    flags = [*WARNINGS, f"-DMAX_DB_INPUT_SIZE={CAPACITY}"]
    return toolchain.link(toolchain.compile(sources, [folder, mlperf], flags, folder), None, folder / "parser")


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("parser"))


def _said(parser: Path, stream: str) -> list[str]:
    done = subprocess.run([parser], input=stream.encode("latin-1"), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    text = done.stdout.decode("latin-1")
    assert text.endswith("\r\n")
    return text.removesuffix("\r\n").split("\r\n")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("name", ["m-name-dut-[tinygen]"]),
        ("profile", ["m-profile-[ULPMark for tinyML Firmware V0.0.1]", "m-model-[kws01]"]),
        ("timestamp", ["m-lap-us-20"]),
        ("", ["e-[Unknown command: ]"]),
        ("frobnicate 1 2", ["e-[Unknown command: frobnicate]"]),
        ("name" + "x" * 76, ["e-[Unknown command: name" + "x" * 76 + "]"]),
        ("name" + "x" * 77, ["e-[Command longer than 80 characters]"]),
        ("db", ["e-[Command 'db' requires a subcommand]"]),
        ("db load", ["e-[Command 'db load' requires the # of bytes]"]),
        ("db load 0", ["e-[Command 'db load' must be >0 bytes]"]),
        ("db load -3", ["e-[Command 'db load' must be >0 bytes]"]),
        ("db load 65", ["Supplied buffer size 65 exceeds maximum of 64"]),
        ("db load 99999999999999999999", ["Supplied buffer size 2147483647 exceeds maximum of 64"]),
        ("db load 64", ["m-[Expecting 64 bytes]"]),
        ("db 00", ["e-[0 of 0 bytes are loaded]"]),
        ("infer 0", ["e-[Inference iterations must be >0]"]),
        ("infer 1 -1", ["e-[Inference warmup must be >=0]"]),
        ("\r\nname", ["m-name-dut-[tinygen]"]),
    ],
)
def test_answers(parser: Path, command: str, answer: list[str]) -> None:
    boot = ["m-timestamp-mode-performance", "m-lap-us-10", "m-init-done", "m-ready"]
    assert _said(parser, f"{command}%") == [*boot, *answer, "m-ready"]


def test_download_and_inference(parser: Path) -> None:
    stream = "db load 10%db 000102030405060708%db print%db 09ffff%db 00%infer 3 2%infer%results%"
    assert _said(parser, stream)[4:] == [
        *("m-[Expecting 10 bytes]", "m-ready", "m-ready"),
        *("m-buffer-00-01-02-03-04-05-06-07", "m-buffer-08", "m-ready"),
        *("m-load-done", "m-ready", "e-[10 of 10 bytes are loaded]", "m-ready"),
        *("m-input-10-30194", "m-warmup-start-2", "m-warmup-done", "m-infer-start-3"),
        *("m-lap-us-20", "m-lap-us-30", "m-infer-done", "m-results-[5]", "m-ready"),
        *("m-input-10-30194", "m-warmup-start-10", "m-warmup-done", "m-infer-start-1"),
        *("m-lap-us-40", "m-lap-us-50", "m-infer-done", "m-results-[16]", "m-ready"),
        *("m-results-[16]", "m-ready"),
    ]


def test_help_ends(parser: Path) -> None:
    said = _said(parser, "help%name%")
    assert said[4] == "ULPMark for tinyML Firmware V0.0.1"
    assert said[-3:] == ["m-ready", "m-name-dut-[tinygen]", "m-ready"]


def _command(source: random.Random) -> str:
    digits = "".join(source.choices("0123456789abcdefABCDEF", k=source.randrange(72)))
    return source.choice(
        (
            "name",
            "profile",
            "timestamp",
            "results",
            "db print",
            "db",
            "db load",
            f"db load {source.randrange(-2, CAPACITY + 4)}",
            f"db {digits}",
            f"db {digits[: len(digits) // 2 * 2]}",
            f"db {digits[: len(digits) // 2 * 2]}",
            f"db  {digits} {digits}",
            f"infer {source.randrange(-1, 9)} {source.randrange(-1, 9)}",
            f"infer {source.randrange(4)}",
            "infer",
            " " * source.randrange(90),
            "".join(chr(source.randrange(1, 256)) for _ in range(source.randrange(200))),
        )
    )


def _damaged(source: random.Random, command: str) -> str:
    """Bytes lost, doubled or replaced; numbers of inferences stay small."""
    if not command or source.random() < 0.7:
        return command
    start = source.randrange(len(command))
    end = min(len(command), start + source.randrange(4))
    noise = "" if command.startswith("infer") else "".join(source.choices("% \r\n\0zZ\xff0-", k=source.randrange(3)))
    return command[:start] + noise + command[end:]


def _streams(source: random.Random) -> Iterator[str]:
    for _ in range(STREAMS):
        commands = (_damaged(source, _command(source)) for _ in range(source.randrange(1, 5)))
        yield "".join(command + source.choice("%%%%%%%%%%%%%%%%%%% ") for command in commands) + "%"


@pytest.mark.parametrize("seed", [1])
def test_random_streams(parser: Path, seed: int) -> None:
    """Thousands of streams, one after the other: every answer is that of the model, and no byte is out of bounds."""
    streams = list(_streams(random.Random(seed)))
    firmware = Firmware(CAPACITY)
    expected = firmware.boot() + [line for stream in streams for line in firmware.answers(stream)]
    said = _said(parser, "".join(streams))
    differing = next((i for i, (a, b) in enumerate(zip(said, expected, strict=False)) if a != b), None)
    assert differing is None, f"line {differing}: {said[differing - 3 : differing + 2]} {expected[differing]!r}"
    assert len(said) == len(expected)


def _sessions(source: random.Random) -> Iterator[str]:
    """What a runner sends: downloads as long as announced, inferences, questions, and words that are no commands."""
    for _ in range(1000):
        data = source.randbytes(source.choice((8, 16, 64, source.randrange(1, CAPACITY))))
        yield from source.choices(
            ("name", "profile", "timestamp", "results", "foo bar", "db", "db load", "infer 0"), k=2
        )
        yield f"db load {len(data)}"
        yield from (f"db {data[start : start + 31].hex()}" for start in range(0, len(data), 31))
        yield from ("db print",) * (len(data) % 8 == 0)
        yield source.choice(("infer 1 0", "infer 5 2", "infer 3", "infer", "infer 2x 3y"))


@pytest.mark.skipif(API is None, reason="$TINYGEN_MLPERF_API not set: the parser is not compared with the official one")
def test_answers_are_those_of_the_official_api(parser: Path, tmp_path: Path) -> None:
    mlperf = paths.RUNTIME_C / "mlperf"
    official = tmp_path / "official.o"
    options = ["-w", "-std=gnu++17", '-DTH_MODEL_VERSION="kws01"', f"-I{API}", "-c", mlperf / "official_api.cpp"]
    subprocess.run(["c++", *map(str, options), "-o", str(official)], check=True)
    (tmp_path / "mlperf_config.h").write_text(CONFIG.replace("tinygen", "unspecified"))
    sources = [mlperf / "submitter.c", mlperf / "main.c", Path(__file__).with_name("feeder.c")]
    toolchain = for_board(load("host"))
    objects = toolchain.compile(sources, [tmp_path, mlperf], WARNINGS, tmp_path)
    program = toolchain.link([*objects, official], None, tmp_path / "official")
    stream = "".join(f"{command}%" for command in _sessions(random.Random(2)))
    expected = [line.replace("unspecified", "tinygen") for line in _said(program, stream)]
    assert _said(parser, stream) == expected


def test_functions_of_the_official_api_are_declared_by_it(parser: Path) -> None:
    """No more of its names than the two sides call each other by; the header says whose they are."""
    header = (paths.RUNTIME_C / "mlperf" / "mlperf_api.h").read_text()
    assert "is EEMBC's and the MLPerf authors'" in header
    shown = subprocess.run(["nm", "--defined-only", parser], capture_output=True, text=True, check=True).stdout
    defined = set(re.findall(r"\b(ee_\w+)$", shown, re.MULTILINE))
    assert defined == {
        *("ee_benchmark_initialize", "ee_get_buffer", "ee_serial_callback", "ee_serial_command_parser_callback")
    }


@requires_clang
def test_clang_builds_it_without_warnings(tmp_path: Path) -> None:
    assert _said(_build(tmp_path, "clang"), "name%")[4] == "m-name-dut-[tinygen]"
