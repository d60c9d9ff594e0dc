"""Converters of other frameworks run in a process of their own, with limits of time, memory and output."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tinygen.errors import TinygenError, ToolError, UnsupportedModelError, UsageError
from tinygen.system.work import work_folder

_PACKAGES = Path(__file__).resolve().parents[2]  # the folder that tinygen is imported from
_START = "import sys; sys.path.append(sys.argv[1]); from tinygen.frontends.conversion_worker import main; main()"
_ERRORS = {kind.__name__: kind for kind in (ToolError, UnsupportedModelError, UsageError)}  # and what is one of these
_MOST_REPORT_BYTES = 1 << 16
_LAST_WORDS = 400  # letters


@dataclass(frozen=True)
class ConversionLimits:
    """What a conversion may take."""

    seconds: float = 900.0
    memory_bytes: int = 8 << 30  # of its data and stacks, where the system can limit them
    file_bytes: int = 2 << 30  # of each file that it writes


@dataclass(frozen=True)
class Job:
    """What the process is told."""

    converter: str  # module:function of (source, out, trusts), which raises errors of tinygen
    source: str
    out: str
    report: str  # file for the error that it ends with
    trusts: bool  # whether code in the model may run
    memory_bytes: int
    file_bytes: int


def kind_of(error: TinygenError) -> str:
    """Which error the process that waits for a conversion raises: of a more special one, its base."""
    return next((name for name, kind in _ERRORS.items() if isinstance(error, kind)), UnsupportedModelError.__name__)


def convert(
    converter: str, source: Path, out: Path, trusts: bool = False, limits: ConversionLimits | None = None
) -> str:
    """Write what `converter`, `module:function`, makes of `source` to `out`, which appears complete or not at all.

    Returns what it has printed. Raises the converter's errors, and UnsupportedModelError where it ends in any other way
    or exceeds a limit.
    """
    within = limits or ConversionLimits()
    with work_folder(out.parent) as folder:  # no two processes share one
        fresh, report, printed = (folder / name for name in (f"model{out.suffix}", "report.json", "printed.txt"))
        job = Job(converter, str(source), str(fresh), str(report), trusts, within.memory_bytes, within.file_bytes)
        code = _run(job, source.name, printed, within.seconds)
        text = printed.read_bytes().decode(errors="replace")
        _check(source.name, code, report, text)
        if fresh.is_symlink() or not fresh.is_file() or fresh.stat().st_size > within.file_bytes:
            raise UnsupportedModelError(
                f"{source.name}: its conversion gave no file of at most {within.file_bytes:,} bytes, one was expected. "
                "Convert it by hand."
            )
        fresh.replace(out)
    return text


def _run(job: Job, name: str, printed: Path, seconds: float) -> int:
    """The exit code. The other end of its stdin is this process alone: it ends when that is closed."""
    command = [sys.executable, "-P", "-c", _START, str(_PACKAGES), json.dumps(asdict(job))]
    with printed.open("wb") as words:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=words, stderr=subprocess.STDOUT, start_new_session=True
        )
        with _ended(process):
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise UnsupportedModelError(
                    f"{name}: its conversion takes more than {seconds:g} s, an end was expected. Convert it by hand."
                ) from None


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Nothing of the process, or of those that it has started, is left behind."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def _check(name: str, code: int, report: Path, printed: str) -> None:
    """Raise the error that a conversion has ended with."""
    if code == 0:
        return
    try:
        with report.open(encoding="utf-8") as stream:
            found = json.loads(stream.read(_MOST_REPORT_BYTES))
        raise _ERRORS[found["error"]](found["message"])
    except (OSError, ValueError, KeyError, TypeError):
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise UnsupportedModelError(
            f"{name}: its conversion ended with {how}, a converted model was expected. Convert it by hand. "
            f"Its last words: {printed[-_LAST_WORDS:].strip()!r}"
        ) from None
