"""A submission in the layout of the results repositories, of firmware folders and sessions of the runner."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.mlperf.programs import write_firmware
from tests.support.command_line import tinygen
from tests.support.tools import requires_arm_gcc
from tinygen.mlperf.tasks import TASKS

pytestmark = requires_arm_gcc

VALID = "1123.061000 ulp-mlperf: Median throughput is     23.032 inf./sec.\n"
ACCURATE = "1123.061000 ulp-mlperf: Top 1% = 90.1\n1123.061000 ulp-mlperf: AUC = 0.995\n"
ERROR = "ERROR 2 - loop exited before 10 seconds elapsed."
NAMED = ("--organization", "acme", "--system", "board_120MHz")


def _session(folder: Path, mode: str, results: str, model: str = "kws01") -> Path:
    """As the runner leaves it."""
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text(f"Logging initialized.\nDevice model retrieved: {model}\n")
    (folder / "results.txt").write_text(results)
    (folder / "results.json").write_text(json.dumps([{"infer": {"results": [0.5]}, "mode": mode}]))
    return folder


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("firmware") / "kws"
    write_firmware(TASKS["kws"], "nucleo-l4r5zi", folder)
    (folder / "kws.elf").write_bytes(b"\x7fELF")  # what `make` and runs leave there is no source
    (folder / "results.json").write_text("{}")
    return folder


def _written(folder: Path) -> Mapping[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    return {file.relative_to(folder).as_posix(): file.read_text() for file in files}


def test_layout(firmware: Path, tmp_path: Path) -> None:
    """systems, code by task and system, results by system, task and mode."""
    sessions = [_session(tmp_path / "a", "a", ACCURATE), _session(tmp_path / "p", "p", VALID)]
    named = ("--session", sessions[0], "--session", sessions[1], *NAMED, "-o", tmp_path / "out", "--json")
    ended = tinygen("mlperf", "submission", firmware, *named)
    assert (ended.code, ended.stderr) == (0, "")
    files = _written(tmp_path / "out")
    assert ended.document["files"] == sorted(files)
    results = "closed/acme/results/board_120MHz/kws"
    assert {file for file in files if "/results/" in file} == {
        f"{results}/{mode}/{name}"
        for mode in ("accuracy", "performance")
        for name in ("log.txt", "results.txt", "results.json")
    }
    assert (files[f"{results}/accuracy/results.txt"], files[f"{results}/performance/results.txt"]) == (ACCURATE, VALID)
    code = "closed/acme/code/kws/board_120MHz"
    assert {f"{code}/Makefile", f"{code}/submission.c", f"{code}/mlperf.json"} < files.keys()
    assert any(file.startswith(f"{code}/model/") for file in files)
    assert not {f"{code}/kws.elf", f"{code}/results.json"} & files.keys()
    assert files[f"{code}/submission.c"] == (firmware / "submission.c").read_text()
    system = json.loads(files["closed/acme/systems/board_120MHz.json"])
    assert (system["Submitter"], system["Division"]) == ("acme", "Closed")
    assert (system["Processor(s) Name"], system["Processor(s) Frequencies"]) == ("cortex-m4", "120 MHz")
    assert ended.document["missing"] == [
        "systems: what the empty fields of the description ask for, and the round's checklist"
    ]


def test_what_is_missing_is_said(firmware: Path, tmp_path: Path) -> None:
    session = _session(tmp_path / "p", "p", VALID)
    ended = tinygen("mlperf", "submission", firmware, "--session", session, *NAMED, "-o", tmp_path / "out", "--json")
    assert ended.document["missing"][0] == "kws: a session in accuracy mode"


NO_SESSION = (
    "says no task and mode of MLPerf Tiny, a session of its runner was expected. Name a folder of its `sessions`."
)


@pytest.mark.parametrize(
    ("mode", "results", "model", "message"),
    [
        ("p", f"ulp-mlperf: {ERROR}\n", "kws01",
         f"the runner says '{ERROR}', valid results were expected. Run it again."),
        ("a", ACCURATE.replace("90.1", "89.9"), "kws01",
         "top-1 is 89.9, at least 90 was expected in the closed division."),
        ("a", "", "kws01", "top-1 is missing, at least 90 was expected in the closed division."),
        ("p", VALID, "ic01", "is of ic, without firmware. Name that too."),
        ("p", VALID, "mine", NO_SESSION),
        ("x", VALID, "kws01", NO_SESSION),
    ],
)  # fmt: skip
def test_sessions_that_break_the_rules(
    mode: str, results: str, model: str, message: str, firmware: Path, tmp_path: Path
) -> None:
    session = _session(tmp_path / "session", mode, results, model)
    ended = tinygen("mlperf", "submission", firmware, "--session", session, *NAMED, "-o", tmp_path / "out")
    assert (ended.code, " ".join(ended.stderr.split())) == (2, f"tinygen: {session}: {message}")
    assert not (tmp_path / "out").exists()


def test_refusals(firmware: Path, tmp_path: Path) -> None:
    session, second = _session(tmp_path / "p", "p", VALID), _session(tmp_path / "q", "p", VALID)
    out = ("-o", tmp_path / "out")
    twice = tinygen("mlperf", "submission", firmware, "--session", session, "--session", second, *NAMED, *out)
    assert f"{second}: is a second session of kws performance, one was expected." in twice.stderr
    (session / "results.json").write_text("[" * 100_000)
    damaged = tinygen("mlperf", "submission", firmware, "--session", session, *NAMED, *out)
    assert "results.json: is damaged, results of the runner were expected." in damaged.stderr
    none = tinygen("mlperf", "submission", firmware, "--session", tmp_path, *NAMED, *out)
    assert "a session of the benchmark's runner was expected" in none.stderr
    outside = tinygen("mlperf", "submission", firmware, "--organization", "../x", "--system", "board", *out)
    assert "--organization: is '../x', letters, digits, '_', '.' and '-' were expected." in outside.stderr
    assert {twice.code, damaged.code, none.code, outside.code} == {2} and not (tmp_path / "out").exists()
