"""Running `tinygen` in tests: in this process, or as a process of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tinygen.cli import app

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
DIGITS_DATA = DIGITS.with_name("digits_test.npz")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.stdout)


def tinygen(*arguments: str | Path) -> Ended:
    """Run a command in this process; nothing but SystemExit may come out of it."""
    stdout, stderr = StringIO(), StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr), pytest.raises(SystemExit) as ended:
        app([str(argument) for argument in arguments], prog_name="tinygen")
    return Ended(int(ended.value.code or 0), _plain(stdout.getvalue()), _plain(stderr.getvalue()))


def _plain(text: str) -> str:
    """Without the colours that the parser's own messages have under FORCE_COLOR and on build servers."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def tinygen_process(*arguments: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> Ended:
    """Run a command as its own process, in `cwd`."""
    done = subprocess.run(
        [sys.executable, "-c", "from tinygen.cli import main; main()", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@contextmanager
def interruptible_process(*arguments: str | Path, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that runs beside the test, ended with it.

    It obeys SIGINT and SIGQUIT, which shells make programs ignore that they start in the background, and those pass on.
    """
    obey = "import signal as s; s.signal(s.SIGINT, s.default_int_handler); s.signal(s.SIGQUIT, s.SIG_DFL)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{obey}; from tinygen.cli import main; main()", *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
