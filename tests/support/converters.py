"""Converters for tests: what a framework could do to the process that it runs in."""

# ruff: noqa: ARG001 - all take what converters take

import os
import subprocess
import sys
import time
from pathlib import Path

from tinygen.budget import BudgetError
from tinygen.errors import ToolError


def copy(source: Path, out: Path, trusts: bool) -> None:
    """Writes the file and whether it is trusted; prints."""
    print("hello")
    out.write_bytes(source.read_bytes() + bytes([trusts]))


def built(source: Path, out: Path, trusts: bool) -> None:
    """Writes the TFLite file that the Python file names, under whatever suffix is asked for."""
    assert trusts
    named = str(source).rpartition(":")[0]
    out.write_bytes(Path(Path(named).read_text().strip()).read_bytes())


def nothing(source: Path, out: Path, trusts: bool) -> None:
    """Writes nothing."""


def stop(source: Path, out: Path, trusts: bool) -> None:
    """Fails half way, with an error of tinygen's."""
    out.write_bytes(b"half")
    raise ToolError(f"{source.name}: stopped, with \u00e4 and \x1b.")


def spend(source: Path, out: Path, trusts: bool) -> None:
    """Exceeds a limit: an error that is a special case of the one for models."""
    raise BudgetError(f"{source.name}: 5 operators, at most 4 were expected. Make the model smaller.")


def crash(source: Path, out: Path, trusts: bool) -> None:
    """Ends as a crash in a framework's C++ does."""
    print("last words", flush=True)
    os.abort()


def fail(source: Path, out: Path, trusts: bool) -> None:
    """An error that nobody has thought of."""
    raise RuntimeError("unthought-of")


def hang(source: Path, out: Path, trusts: bool) -> None:
    """Never ends, and neither does what it has started, whose number it leaves beside the source."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10**6)"])
    source.with_name("pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(10**6)


def hoard(source: Path, out: Path, trusts: bool) -> None:
    """Takes memory without an end."""
    kept = []
    while True:
        kept.append(bytearray(1 << 24))


def pour(source: Path, out: Path, trusts: bool) -> None:
    """Writes without an end."""
    with out.open("wb") as stream:
        while True:
            stream.write(bytes(1 << 16))


def link(source: Path, out: Path, trusts: bool) -> None:
    """Gives another file instead of one of its own."""
    out.symlink_to(source)
