"""One run of the runner: a program found or built, started, driven, and what came of it."""

import os
import shutil
import subprocess
import tty
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tinygen.build.qemu import Machine, machine_of
from tinygen.errors import BuildError, ToolError, UsageError
from tinygen.mlperf.dataset import DataSet
from tinygen.mlperf.description import DESCRIPTION_FILE, read_description
from tinygen.mlperf.device import Device, DeviceIdentity
from tinygen.mlperf.interface_board import InterfaceBoard
from tinygen.mlperf.listening import Listened, listen
from tinygen.mlperf.power_monitor import EnergyBench
from tinygen.mlperf.runner import Accuracy, Performance, Progress, accuracy, performance
from tinygen.mlperf.tasks import Task
from tinygen.mlperf.tracks import read_track, read_truth
from tinygen.mlperf.transport import (
    Transport,
    TransportKind,
    open_port,
    open_pty,
    qemu_listening,
    qemu_pty,
    qemu_semihosting,
    qemu_uart,
)
from tinygen.targets import Board

_SHIM = Path(__file__).resolve().parent / "official_runner"  # with a sitecustomize.py
_ELF = b"\x7fELF"  # begins such files
_SHOWN_LINES = 12
_SOURCES = ("mlperf", "model", "target")  # folders
_USB_ID = "0483:374B"  # of the device under test in the runner's lists of devices
_BOARD_USB_ID = "0483:374E"  # of the interface board
_MONITOR_USB_ID = "0483:5740"  # of an LPM01A there


class Mode(StrEnum):
    """What is measured."""

    ACCURACY = "accuracy"
    PERFORMANCE = "performance"


@dataclass(frozen=True)
class BenchmarkProgram:
    """Firmware that can be started."""

    elf: Path
    task: str | None  # None: nobody has said it
    machine: Machine | None
    board: str | None = None
    block_samples: int | None = None  # that it takes at once, where it listens


@dataclass(frozen=True)
class SessionPlan:
    """What a session does."""

    mode: Mode
    samples: int | None = None  # of accuracy mode; None: all
    iterations: int | None = None  # of performance mode; None: as many as the rules ask for
    warmups: int | None = None


@dataclass(frozen=True)
class Session:
    """What the runner has found."""

    task: str
    mode: Mode
    transport: str
    target: str  # QEMU's machine, or the serial port
    device: DeviceIdentity
    data: str
    accuracy: Accuracy | None
    performance: Performance | None
    listening: Listened | None


def find_program(path: Path, transport: TransportKind) -> BenchmarkProgram:
    """The program in a firmware folder, built where it has to be; or an ELF file of any other origin."""
    folder = path if path.is_dir() else path.parent
    if not path.is_dir() and not (folder / DESCRIPTION_FILE).is_file():
        return BenchmarkProgram(_existing(path), None, None)
    description = read_description(folder)
    if description.block_samples is not None and transport is not TransportKind.UART:
        raise UsageError(f"--transport {transport}: {folder} listens, uart was expected. Leave the option out.")
    elves = {
        TransportKind.UART: description.uart_elf,
        TransportKind.SEMIHOSTING: description.semihosting_elf,
    }
    if not path.is_dir() and path.name not in elves.values():
        _existing(path)
        return BenchmarkProgram(
            path, description.task, description.machine, description.board, description.block_samples
        )
    elf = folder / elves[transport]
    if not _is_current(elf):
        _make(elf)
    return BenchmarkProgram(elf, description.task, description.machine, description.board, description.block_samples)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"{path}: does not exist, an ELF file or a firmware folder was expected. Correct the path.")
    return path


def _is_current(elf: Path) -> bool:
    """Whether the program is there and younger than its sources; the user may have made it with options of his own."""
    if not elf.is_file():
        return False
    sources = (*elf.parent.glob("*.*"), *(file for name in _SOURCES for file in (elf.parent / name).rglob("*.[ch]")))
    return all(file.stat().st_mtime <= elf.stat().st_mtime for file in sources if file.suffix in {".c", ".h", ".ld"})


def check_elf(file: Path) -> None:
    """Raise UsageError where the file is no program."""
    with file.open("rb") as stream:
        if stream.read(len(_ELF)) != _ELF:
            raise UsageError(f"{file}: is no ELF file, firmware was expected. Name what `make` has built.")


def start(program: BenchmarkProgram, machine: Machine, transport: TransportKind) -> AbstractContextManager[Transport]:
    """QEMU with the program, ready to be talked to; UsageError where the file is no program."""
    check_elf(program.elf)
    run = qemu_uart if transport is TransportKind.UART else qemu_semihosting
    return run(program.elf, machine)


def runner_command(pty: str | None, interface: str | None = None, monitor: str | None = None) -> str:
    """How the benchmark's own runner is pointed at a pty, and that of an interface board or a power monitor: to be
    called in its folder benchmark/runner."""
    ports, devices, mode = f"{pty}={_USB_ID}", "devices_kws_ic_vww.yaml", "a"
    if interface is not None:
        ports, devices, mode = f"{ports},{interface}={_BOARD_USB_ID}", "devices_sww.yaml", "p"
    if monitor is not None:  # the firmware is behind the interface board
        ports, devices, mode = f"{interface}={_BOARD_USB_ID}", "devices_kws_ic_vww.yaml", "e"
        ports = f"{ports},{monitor}={_MONITOR_USB_ID}"
    return f"TINYGEN_SERIAL_PORTS={ports} PYTHONPATH={_SHIM} python main.py -d {devices} -s DATASETS -m {mode}"


@contextmanager
def playing(program: BenchmarkProgram, board: Board, folder: Path) -> Iterator[tuple[str, InterfaceBoard]]:
    """QEMU with a program that listens: the path of its pty, and an interface board that plays tracks of a folder.

    UsageError where the file is no program, or the board's emulator shares no RAM.
    """
    check_elf(program.elf)
    machine = machine_of(board)
    if board.sound is None or machine is None or program.block_samples is None:
        raise UsageError(
            f"--target {board.name}: has no [sound] and [qemu] in its TOML file, or {program.elf} does not listen. "
            "Use the benchmark's own runner with an interface board."
        )
    with qemu_listening(program.elf, machine, board.sound, program.block_samples) as (path, _, link):
        yield path, InterfaceBoard(link, folder)


def drive_tracks(
    program: BenchmarkProgram, board: Board, task: Task, truth: Path, progress: Progress
) -> tuple[DeviceIdentity, Listened]:
    """Play the tracks of a truth file, which stand beside it, and count what the firmware hears."""
    tracks = read_truth(truth)
    with playing(program, board, truth.parent) as (path, interface), open_pty(path) as transport:
        for track in tracks:
            read_track(truth.parent, track.file)  # refused before the first one is played
        device = Device(transport)
        identity = _identified(device, task)
        return identity, listen(device, interface, tracks, progress)


@contextmanager
def monitored(program: BenchmarkProgram, machine: Machine) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """QEMU with a program behind an interface board, beside an emulated power monitor: the paths of their ptys, and
    what serves them. The clock is that of a slow board, by instructions."""
    check_elf(program.elf)
    with (
        qemu_pty(program.elf, machine, counts_instructions=True) as (path, emulator),
        open_pty(path, emulator) as transport,
        own_pty() as (interface, interface_end),
        own_pty() as (power, power_end),
    ):
        bench = EnergyBench(transport.commands, interface_end, power_end)
        yield interface, power, lambda: bench.serve(lambda: emulator.has_ended)


@contextmanager
def own_pty() -> Iterator[tuple[str, int]]:
    """A pty of an emulated device: its path for others, and the descriptor by which the device answers."""
    own, others = os.openpty()
    try:
        tty.setraw(others)
        yield os.ttyname(others), own
    finally:
        os.close(own)
        os.close(others)


def attach(port: str, task: Task) -> AbstractContextManager[Transport]:
    """A board that runs already, at a serial port."""
    return open_port(port, task.baud)


def drive(
    transport: Transport, task: Task, data: DataSet, plan: SessionPlan, progress: Progress
) -> tuple[DeviceIdentity, Accuracy | Performance]:
    """Identify the device as the runner does, then measure."""
    device = Device(transport)
    identity = _identified(device, task)
    if plan.mode is Mode.ACCURACY:
        return identity, accuracy(device, task, data, plan.samples, progress)
    return identity, performance(device, task, data, plan.iterations, plan.warmups, progress)


def _identified(device: Device, task: Task) -> DeviceIdentity:
    identity = device.identify()
    if identity.model != task.model_version:
        raise UsageError(
            f"firmware: is for {identity.model}, {task.model_version} was expected. Choose the task of this program."
        )
    return identity


def _make(elf: Path) -> None:
    make = shutil.which("make")
    if make is None:
        raise ToolError("make: not found on PATH, needed to build the firmware. Install the Debian package make.")
    command = [make, "-s", "-j2", "-C", str(elf.parent), elf.name]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        blamed = [line for line in done.stderr.splitlines() if line.strip()]
        shown = "\n".join(blamed[-_SHOWN_LINES:])
        raise BuildError(f"{elf.parent}: make failed with exit code {done.returncode}:\n{shown}")
