"""How bytes get to the firmware and back: over the UART of a board that QEMU models, or through semihosting."""

import os
import re
import select
import subprocess
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tinygen.build.qemu import Machine
from tinygen.errors import ToolError
from tinygen.mlperf.sound_link import SoundLink, sound_link
from tinygen.system.process import has_ended, tied
from tinygen.system.serial_port import opened
from tinygen.system.work import work_folder
from tinygen.targets import Sound

_PTY = re.compile(r"redirected to (/dev/\S+) ")
_BY_INSTRUCTIONS = ("-icount", "shift=6")  # 2**6 ns each: the speed of slow boards, for which the runner's numbers are
_START_S = 10.0  # QEMU names its pty at once
_QUIET_S = 0.3  # what the firmware says at boot has passed
_LOOK_S = 1.0  # between two looks whether QEMU still runs
_HUNG_UP_S = 0.05
_READ_BYTES = 65536
_OUTSTANDING = 64  # commands; their answers fit into a pipe
_REGISTERS = re.compile(r"(R\d+|XPSR|FPSCR|[sd]\d+)[=:]")  # lines of a register dump
_SHOWN_CHARACTERS = 300
_RAM_FILE = "ram"  # of the board, where it is shared
_COMMANDS, _REPLIES = "mlperf.commands", "mlperf.replies"  # names as in port_semihosting.c


class TransportKind(StrEnum):
    """How the firmware is talked to."""

    UART = "uart"
    SEMIHOSTING = "semihosting"


@dataclass(frozen=True)
class Emulator:
    """QEMU while it runs."""

    process: subprocess.Popen[bytes]
    log: Path  # what it prints: the name of its pty, the report of a fault

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return has_ended(self.process)

    @property
    def words(self) -> str:
        """The end of what it has printed."""
        return self.log.read_bytes().decode(errors="replace")[-_SHOWN_CHARACTERS:]

    @property
    def report(self) -> str:
        """What it says of a fault, without the registers."""
        lines = self.log.read_bytes().decode(errors="replace").splitlines()
        said = [line.strip() for line in lines if line.strip() and not _REGISTERS.match(line)]
        return " ".join(said)[:_SHOWN_CHARACTERS]


@dataclass(frozen=True)
class Transport:
    """Two open ends, and how many commands may be under way."""

    commands: int  # file descriptors
    replies: int
    outstanding: int  # commands that are sent before an answer is waited for
    emulator: Emulator | None  # that answers; None: a real device

    def write(self, data: bytes, timeout_s: float) -> None:
        """Send all of `data`; ToolError where the other side takes nothing."""
        while data:
            _, ready, _ = select.select([], [self.commands], [], timeout_s)
            if not ready:
                self._check_alive()
                raise ToolError(f"firmware: takes no commands for {timeout_s:g} s, an answer was expected.")
            try:
                data = data[os.write(self.commands, data) :]
            except OSError as error:
                time.sleep(_HUNG_UP_S)  # a program that was ended hangs up before it is known to have ended
                self._check_alive()
                raise ToolError(f"firmware: the line is broken ({error.strerror}), an answer was expected.") from None

    def read(self, timeout_s: float) -> bytes:
        """What has come, at least one byte; nothing where nothing comes in time."""
        end = time.monotonic() + timeout_s
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self.replies], [], [], min(left, _LOOK_S))
            received = self._received() if ready else b""
            if received:
                return received
            self._check_alive()
        return b""

    def _received(self) -> bytes:
        """What stands at the line; nothing, after a moment, where the other side has hung up."""
        try:
            received = os.read(self.replies, _READ_BYTES)
        except OSError:
            received = b""
        if not received:
            time.sleep(_HUNG_UP_S)
        return received

    def drain(self) -> None:
        """Forget what has come, until it is quiet."""
        while self.read(_QUIET_S):
            pass

    def _check_alive(self) -> None:
        if self.emulator is not None and self.emulator.has_ended:
            raise ToolError(
                f"firmware: ended with code {self.emulator.process.wait()}, an answer was expected. Choose the "
                f"board that it is made for. QEMU says: {self.emulator.report}"
            )


@contextmanager
def open_pty(path: str, emulator: Emulator | None = None) -> Iterator[Transport]:
    """The pty of a board that is emulated, raw; what came before is forgotten."""
    pty = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        tty.setraw(pty)
        yield _drained(Transport(pty, pty, 1, emulator))
    finally:
        os.close(pty)


@contextmanager
def open_port(path: str, baud: int) -> Iterator[Transport]:
    """The serial port of a board; what came before is forgotten."""
    with opened(path, baud) as port:
        yield _drained(Transport(port.fileno(), port.fileno(), 1, None))


def _drained(transport: Transport) -> Transport:
    transport.drain()
    return transport


@contextmanager
def qemu_pty(elf: Path, machine: Machine, counts_instructions: bool = False) -> Iterator[tuple[str, Emulator]]:
    """QEMU running `elf`, and the path of the pty that its UART is on.

    `counts_instructions`: its clock moves by 64 ns with each instruction, so that times are the same on any machine;
    it is the host's clock otherwise.
    """
    with _qemu(elf, machine, "pty", options=_BY_INSTRUCTIONS if counts_instructions else ()) as emulator:
        yield _pty_path(emulator), emulator


@contextmanager
def qemu_listening(
    elf: Path, machine: Machine, sound: Sound, block_samples: int
) -> Iterator[tuple[str, Emulator, SoundLink]]:
    """QEMU running firmware that listens: the path of its pty, and where samples go in and pins are seen."""
    shared = f"memory-backend-file,id=sound,size={sound.size},mem-path={_RAM_FILE},share=on"
    with _qemu(elf, machine, "pty", properties=",memory-backend=sound", options=("-object", shared)) as emulator:
        path = _pty_path(emulator)
        ram = emulator.log.with_name(_RAM_FILE)
        yield path, emulator, sound_link(ram, sound, block_samples, lambda: emulator.has_ended)


@contextmanager
def qemu_uart(elf: Path, machine: Machine) -> Iterator[Transport]:
    """QEMU running `elf` with its UART open."""
    with qemu_pty(elf, machine) as (path, emulator), open_pty(path, emulator) as transport:
        yield transport


@contextmanager
def qemu_semihosting(elf: Path, machine: Machine) -> Iterator[Transport]:
    """QEMU running the semihosting variant of the firmware: its two files are pipes."""
    with ExitStack() as stack:
        ends: list[int] = []

        def make_pipes(folder: Path) -> None:
            for name in (_COMMANDS, _REPLIES):
                os.mkfifo(folder / name)
                ends.append(os.open(folder / name, os.O_RDWR | os.O_NONBLOCK))  # both ways: nobody is waited for
                stack.callback(os.close, ends[-1])

        emulator = stack.enter_context(_qemu(elf, machine, "none", make_pipes))
        transport = Transport(ends[0], ends[1], _OUTSTANDING, emulator)
        transport.read(_START_S)  # what it says at boot, however long QEMU takes to begin
        transport.drain()
        yield transport


@contextmanager
def _qemu(
    elf: Path,
    machine: Machine,
    serial: str,
    prepare: Callable[[Path], None] | None = None,
    properties: str = "",
    options: Sequence[str] = (),
) -> Iterator[Emulator]:
    """QEMU in a folder of its own, which is prepared first."""
    command = [*machine.command("run firmware", properties), "-serial", serial]
    command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(elf.resolve()), *options]
    with work_folder() as folder:
        if prepare is not None:
            prepare(folder)
        log = folder / "qemu.log"
        with (
            log.open("wb") as output,
            subprocess.Popen(
                tied(command), cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            ) as process,
        ):
            try:
                yield Emulator(process, log)
            finally:
                process.kill()


def _pty_path(emulator: Emulator) -> str:
    end = time.monotonic() + _START_S
    while time.monotonic() < end and not emulator.has_ended:
        found = _PTY.search(emulator.words)
        if found:
            return found[1]
        time.sleep(0.01)
    raise ToolError(f"QEMU: names no pty within {_START_S:g} s, one was expected. It printed: {emulator.words!r}")
