"""One run of the runner: a program found or built, started, driven, and what came of it."""

import shutil
import subprocess
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tinygen.errors import BuildError, ToolError, UsageError
from tinygen.mlperf.dataset import DataSet
from tinygen.mlperf.description import DESCRIPTION_FILE, read_description
from tinygen.mlperf.device import Device, DeviceIdentity
from tinygen.mlperf.runner import Accuracy, Performance, Progress, accuracy, performance
from tinygen.mlperf.tasks import Task
from tinygen.mlperf.transport import Transport, TransportKind, open_port, qemu_semihosting, qemu_uart

_SHIM = Path(__file__).resolve().parent / "official_runner"  # with a sitecustomize.py
_ELF = b"\x7fELF"  # begins such files
_SHOWN_LINES = 12
_SOURCES = ("mlperf", "model", "target")  # folders
_USB_ID = "0483:374B"  # of the device under test in the runner's lists of devices


class Mode(StrEnum):
    """What is measured."""

    ACCURACY = "accuracy"
    PERFORMANCE = "performance"


@dataclass(frozen=True)
class BenchmarkProgram:
    """Firmware that can be started."""

    elf: Path
    task: str | None  # None: nobody has said it
    machine: str | None  # of QEMU


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


def find_program(path: Path, transport: TransportKind) -> BenchmarkProgram:
    """The program in a firmware folder, built where it has to be; or an ELF file of any other origin."""
    folder = path if path.is_dir() else path.parent
    if not path.is_dir() and not (folder / DESCRIPTION_FILE).is_file():
        return BenchmarkProgram(_existing(path), None, None)
    description = read_description(folder)
    elves = {
        TransportKind.UART: description.uart_elf,
        TransportKind.SEMIHOSTING: description.semihosting_elf,
    }
    if not path.is_dir() and path.name not in elves.values():
        return BenchmarkProgram(_existing(path), description.task, description.qemu_machine)
    elf = folder / elves[transport]
    if not _is_current(elf):
        _make(elf)
    return BenchmarkProgram(elf, description.task, description.qemu_machine)


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


def start(program: BenchmarkProgram, machine: str, transport: TransportKind) -> AbstractContextManager[Transport]:
    """QEMU with the program, ready to be talked to; UsageError where the file is no program."""
    check_elf(program.elf)
    run = qemu_uart if transport is TransportKind.UART else qemu_semihosting
    return run(program.elf, machine)


def runner_command(pty: str) -> str:
    """How the benchmark's own runner is pointed at a pty: to be called in its folder benchmark/runner."""
    return (
        f"TINYGEN_SERIAL_PORTS={pty}={_USB_ID} PYTHONPATH={_SHIM} "
        "python main.py -d devices_kws_ic_vww.yaml -s DATASETS -m a"
    )


def attach(port: str, task: Task) -> AbstractContextManager[Transport]:
    """A board that runs already, at a serial port."""
    return open_port(port, baud=task.baud)


def drive(
    transport: Transport, task: Task, data: DataSet, plan: SessionPlan, progress: Progress
) -> tuple[DeviceIdentity, Accuracy | Performance]:
    """Identify the device as the runner does, then measure."""
    device = Device(transport)
    identity = device.identify()
    if identity.model != task.model_version:
        raise UsageError(
            f"firmware: is for {identity.model}, {task.model_version} was expected. Choose the task of this program."
        )
    if plan.mode is Mode.ACCURACY:
        return identity, accuracy(device, task, data, plan.samples, progress)
    return identity, performance(device, task, data, plan.iterations, plan.warmups, progress)


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
