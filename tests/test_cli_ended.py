"""Commands that are ended, by whatever: QEMU ends with them, and their folders go, at the latest with the next one."""

import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS, interruptible_process
from tests.support.program import build_program
from tests.support.tools import requires_qemu
from tinygen import targets
from tinygen.build import toolchain
from tinygen.system.work import work_folder

pytestmark = [pytest.mark.qemu, requires_qemu]

BOARD = "mps2-an386"
PLANNED = (DIGITS, "-t", BOARD, "--kernels", "portable")
COMMANDS: dict[str, tuple[str | Path, ...]] = {
    "run": ("run", *PLANNED),
    "validate": ("validate", *PLANNED, "--against", "simulator"),
    "bench": ("bench", *PLANNED),
    "serve": ("mlperf", "serve", "program.elf", "-t", BOARD),
    "mlperf run": ("mlperf", "run", "program.elf", "-t", BOARD, "--task", "ad", "--mode", "performance"),
    "semihosting": (
        *("mlperf", "run", "program.elf", "-t", BOARD, "--task", "ad", "--mode", "performance"),
        *("--transport", "semihosting"),
    ),
}
CODES = {
    signal.SIGTERM: 143,
    signal.SIGHUP: 129,
    signal.SIGINT: 130,
    signal.SIGKILL: -signal.SIGKILL,
    signal.SIGQUIT: -signal.SIGQUIT,
}
_GUARD_S = 60  # against hanging only


@dataclass(frozen=True)
class Emulator:
    """QEMU as the test sees it: one end of a pipe, whose other end QEMU holds as long as it lives."""

    pipe: int

    def wait_for_start(self) -> int:
        """Its process id."""
        return int(self._read())

    def wait_for_end(self, guard_s: float = _GUARD_S) -> bool:
        """Whether it ends."""
        return self._read(guard_s) == b""

    def _read(self, guard_s: float = _GUARD_S) -> bytes:
        ready, _, _ = select.select([self.pipe], [], [], guard_s)
        return os.read(self.pipe, 100) if ready else b"nothing"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files of commands that the test starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """A QEMU on PATH that says when it starts, and whose processor then stands still."""
    folder, fifo = tmp_path / "bin", tmp_path / "alive"
    folder.mkdir()
    os.mkfifo(fifo)
    script = folder / "qemu-system-arm"
    real = shutil.which("qemu-system-arm")
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *"-M none"*) exec {real} "$@";; esac\n'
        f'exec 9>{fifo}\necho $$ >&9\nexec {real} -S "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    pipe = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    yield Emulator(pipe)
    os.close(pipe)


@contextmanager
def _started(name: str, folder: Path, emulator: Emulator) -> Iterator[subprocess.Popen[str]]:
    """A command that waits for QEMU; what survives where the test fails is ended too."""
    source = folder / "main.c"
    source.write_text("int main(void) { return 0; }\n")
    build_program(toolchain.for_board(targets.load(BOARD)), [source], folder)
    with interruptible_process(*COMMANDS[name], cwd=folder) as process:
        qemu = emulator.wait_for_start()
        try:
            yield process
        finally:
            if not emulator.wait_for_end(0):
                os.kill(qemu, signal.SIGKILL)


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_survives(
    name: str, number: signal.Signals, tmp_path: Path, temporary: Path, emulator: Emulator
) -> None:
    with _started(name, tmp_path, emulator) as process:
        process.send_signal(number)
        assert process.wait(_GUARD_S) == CODES[number]
        assert emulator.wait_for_end()
    if CODES[number] < 0:  # it had no time to tidy up
        assert any(temporary.iterdir())
        with work_folder(temporary):
            pass
    assert not any(temporary.iterdir())


def test_signals_while_it_ends(tmp_path: Path, temporary: Path, emulator: Emulator) -> None:
    with _started("serve", tmp_path, emulator) as process:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
            process.send_signal(number)
        process.wait(_GUARD_S)
        assert emulator.wait_for_end()
    with work_folder(temporary):
        pass
    assert not any(temporary.iterdir())
