"""A submission as the results repositories of MLPerf Tiny have it: systems, code and results of one organization.

The layout is that of the README of github.com/mlcommons/tiny_results_v1.3, results under the names that the runner
gives them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen import __version__
from tinygen.build.toolchain import for_board
from tinygen.errors import UsageError
from tinygen.mlperf.description import DESCRIPTION_FILE, Description, read_description
from tinygen.mlperf.tasks import TASKS, Task
from tinygen.report.document import json_text
from tinygen.targets import Board, format_size, load

DIVISION = "closed"
MODES = {"a": "accuracy", "p": "performance", "e": "energy"}  # as the runner writes them, and as folders are called
_FILES = ("log.txt", "results.txt", "results.json")  # of a session of the runner
_LARGEST_FILE = 1 << 28  # bytes; samples of energy are the longest
_SOURCES = {".c", ".cpp", ".h", ".ld", ".json", ".md", ".txt", ".cmake", ""}  # suffixes; "": Makefile
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MODEL = re.compile(r"^Device model retrieved: (\w+)$", re.MULTILINE)
_ERROR = re.compile(r"ERROR[^\n]*")
_FOUND = {"top-1": re.compile(r"Top 1% = ([\d.]+)"), "AUC": re.compile(r"AUC = ([\d.]+)")}


@dataclass(frozen=True)
class Firmware:
    """A folder of `tinygen mlperf TASK`."""

    folder: Path
    description: Description


@dataclass(frozen=True)
class RunnerSession:
    """One run of the benchmark's own runner."""

    folder: Path
    task: Task
    mode: str  # accuracy, performance or energy
    files: Mapping[str, str]  # texts by name


@dataclass(frozen=True)
class Submission:
    """What is submitted, and what a round asks for beside it."""

    organization: str
    system: str
    files: Mapping[str, str]  # texts by path
    missing: tuple[str, ...]


def submission(
    organization: str, system: str, firmwares: Sequence[Firmware], sessions: Sequence[RunnerSession]
) -> Submission:
    """The folder of an organization's system.

    UsageError where names are none, firmware is for several boards or twice for a task, or a session is of no firmware
    among these, twice there, or broke the rules of the closed division.
    """
    for role, name in (("--organization", organization), ("--system", system)):
        if not _NAME.fullmatch(name):
            raise UsageError(f"{role}: is '{name}', letters, digits, '_', '.' and '-' were expected. Correct it.")
    by_task = _once({firmware.folder: firmware.description.task for firmware in firmwares}, "firmware")
    boards = {firmware.description.board for firmware in firmwares}
    if len(boards) != 1:
        raise UsageError(f"firmware: is for {', '.join(sorted(boards))}, one board was expected. Make one per system.")
    _once({session.folder: f"{session.task.name} {session.mode}" for session in sessions}, "session")
    for session in sessions:
        if session.task.name not in by_task:
            raise UsageError(f"{session.folder}: is of {session.task.name}, without firmware. Name that too.")
        _check_rules(session)
    (board,) = boards
    root = f"{DIVISION}/{organization}"
    files = {f"{root}/systems/{system}.json": _system(organization, load(board))}
    for firmware in firmwares:
        code = f"{root}/code/{firmware.description.task}/{system}"
        files |= {f"{code}/{name}": text for name, text in _sources(firmware.folder)}
    for session in sessions:
        results = f"{root}/results/{system}/{session.task.name}/{session.mode}"
        files |= {f"{results}/{name}": text for name, text in session.files.items()}
    return Submission(organization, system, files, tuple(_missing(by_task, sessions)))


def read_firmware(folder: Path) -> Firmware:
    """UsageError where the folder is none of `tinygen mlperf TASK`."""
    description = read_description(folder)
    if description.task not in TASKS:
        raise UsageError(f"{folder / DESCRIPTION_FILE}: task is '{description.task}', one of {', '.join(TASKS)} was "
                         "expected. Make the folder anew.")  # fmt: skip
    return Firmware(folder, description)


def read_session(folder: Path) -> RunnerSession:
    """A folder `sessions/<time>` of the runner; UsageError where it is none, or the run has not come to its end."""
    files = {name: _text(folder / name) for name in _FILES}
    found = _MODEL.search(files["log.txt"])
    task = next((task for task in TASKS.values() if found and task.model_version == found[1]), None)
    mode = MODES.get(_mode(folder, files["results.json"]))
    if task is None or mode is None:
        raise UsageError(
            f"{folder}: says no task and mode of MLPerf Tiny, a session of its runner was expected. Name a folder of "
            "its `sessions`."
        )
    return RunnerSession(folder, task, mode, files)


def _mode(folder: Path, text: str) -> str:
    try:
        document = json.loads(text)
        return str(document[0]["mode"])
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        raise UsageError(f"{folder / 'results.json'}: is damaged, results of the runner were expected. Run it "
                         "again.") from None  # fmt: skip


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise UsageError(f"{file}: is larger than {_LARGEST_FILE:,} bytes, a text of the runner was expected.")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(
            f"{file}: cannot be read as text, a session of the benchmark's runner was expected: log.txt, results.txt "
            "and results.json."
        ) from None


def _check_rules(session: RunnerSession) -> None:
    """The runner's own complaints, and the quality that the closed division asks for."""
    results = session.files["results.txt"]
    error = _ERROR.search(session.files["log.txt"]) or _ERROR.search(results)
    if error:
        raise UsageError(f"{session.folder}: the runner says '{error[0].strip()}', valid results were expected. "
                         "Run it again.")  # fmt: skip
    if session.mode != "accuracy" or session.task.quality is None:
        return
    name, unit = ("AUC", 1.0) if session.task.name == "ad" else ("top-1", 100.0)
    found = _FOUND[name].search(results)
    if found is None or float(found[1]) < session.task.quality * unit:
        shown = "is missing" if found is None else f"is {found[1]}"
        raise UsageError(
            f"{session.folder}: {name} {shown}, at least {session.task.quality * unit:g} was expected in the closed "
            "division."
        )


def _once(names: Mapping[Path, str], what: str) -> set[str]:
    seen: set[str] = set()
    for folder, name in names.items():
        if name in seen:
            raise UsageError(f"{folder}: is a second {what} of {name}, one was expected. Leave one out.")
        seen.add(name)
    return seen


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    """What the firmware is built from, without what `make` and runs have left there."""
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        is_made = name.name == "results.json" or any(part.startswith(".") for part in name.parts)
        if not is_made and file.is_file() and not file.is_symlink() and file.suffix in _SOURCES:
            yield name.as_posix(), _text(file)


def _missing(tasks: Iterable[str], sessions: Sequence[RunnerSession]) -> Iterator[str]:
    there = {(session.task.name, session.mode) for session in sessions}
    for task in tasks:
        for mode in ("accuracy", "performance"):
            if (task, mode) not in there:
                yield f"{task}: a session in {mode} mode"
    yield "systems: what the empty fields of the description ask for, and the round's checklist"


def _system(organization: str, board: Board) -> str:
    """The description of a system with the keys of v1.3; what a board's file does not say is empty."""
    clock = "" if board.flash is None else f"{board.flash.clock_hz / 1e6:g} MHz"
    filled = {
        "Submitter": organization,
        "Division": DIVISION.capitalize(),
        "Status": "",
        "Board Name": board.description,
        "SoC Name": "",
        "Processor(s) Name": board.cpu,
        "Processor(s) Frequencies": clock,
        "Processor memory type and capacity": f"{format_size(sum(ram.size for ram in board.rams))} RAM",
        "Processor storage type and capacity": f"{format_size(board.flash_bytes)} flash",
        "Accelerator": "",
        "Accelerator(s) Frequencies": "",
        "Hardware Notes": "",
        "Inference Framework": f"tinygen {__version__}",
        "Software Libraries": "",
        "Operating System": "bare metal",
        "Other Software Stack": "",
        "Software Notes": "",
        "Quantization Method": "TensorFlow int8 quantization, as in the reference models",
        "ML Model Compiler(s)": f"tinygen {__version__}",
        "General Compiler(s)": for_board(board).version,
        "Training and Quantization Notes": "",
    }
    return json_text(filled) + "\n"
