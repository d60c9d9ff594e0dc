"""Running `tinygen` in tests: in this process, or as a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

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
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


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
