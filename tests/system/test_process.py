"""Programs that end with their parent, and otherwise are as they are without it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tinygen.system import process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not Linux: programs do not end with their parent")

SHELL = "/bin/sh"


def _tied(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(process.tied([SHELL, "-c", script]), capture_output=True, text=True, check=False)


def test_exit_codes_and_output_pass() -> None:
    ended = _tied("echo out; echo err >&2; exit 7")
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "out\n", "err\n")
    assert _tied("kill -TERM $$").returncode == -signal.SIGTERM


def test_the_program_is_the_child_itself() -> None:
    with subprocess.Popen(process.tied([SHELL, "-c", "echo $$ $PPID"]), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.read().split() == [str(child.pid), str(os.getpid())]


def test_no_signal_is_ignored_that_was_not() -> None:
    """Python ignores some, and a program that it becomes would too."""
    plain = subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True, text=True, check=True)
    assert _tied("grep SigIgn /proc/self/status").stdout == plain.stdout


def test_it_ends_with_a_parent_that_is_killed() -> None:
    """Nothing but the program holds the pipe's other end: its end is the pipe's."""
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:
        os.dup2(writer, 1)
        subprocess.run(process.tied([SHELL, "-c", "echo started; exec sleep 3600"]), check=False)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        assert stream.readline() == "started\n"
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        assert stream.read() == ""


def test_it_does_not_start_where_the_parent_has_ended_already(tmp_path: Path) -> None:
    command = process.tied([SHELL, "-c", f"touch {tmp_path / 'started'}"])
    orphaned = [str(os.getppid()) if part == str(os.getpid()) else part for part in command]
    assert subprocess.run(orphaned, check=False).returncode == 1
    assert not any(tmp_path.iterdir())


def test_an_end_is_seen_without_the_lock_of_popen() -> None:
    """A signal's exception may have left that locked: then `poll` says for ever that the program runs."""
    with subprocess.Popen(["true"], stdin=subprocess.DEVNULL) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with child._waitpid_lock:  # type: ignore[attr-defined]
            assert child.poll() is None
            assert process.has_ended(child)
        assert child.wait() == 0
        assert process.has_ended(child)
