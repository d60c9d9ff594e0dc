"""What a firmware folder says of itself, so that the runner can start it."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tinygen.build.qemu import Machine
from tinygen.errors import UsageError
from tinygen.targets.board import QEMU_CPU, QEMU_MACHINE
from tinygen.targets.toolset import CORTEX_M, TOOLSETS

DESCRIPTION_FILE = "mlperf.json"
LARGEST_BLOCK = 2048  # samples, of which several fit beside each other into what board and emulator share


@dataclass(frozen=True)
class Description:
    """The task of a folder, its board and its programs."""

    task: str
    board: str
    qemu_machine: str | None
    program: str  # stem of the ELF files
    block_samples: int | None = None  # that a call takes, where the firmware listens; None: it takes downloads
    qemu_cpu: str | None = None
    family: str = CORTEX_M.family  # of instruction sets

    def __post_init__(self) -> None:
        """Raises ValueError where a value is of another type, machine or core have options behind them, or the program
        is in another folder."""
        texts = (self.task, self.board, self.program, self.qemu_machine or "", self.qemu_cpu or "", self.family)
        if not all(isinstance(text, str) for text in texts) or type(self.block_samples) not in (int, type(None)):
            raise ValueError("values of other types than texts and a whole number of samples")
        if self.qemu_machine is not None and not re.fullmatch(QEMU_MACHINE, self.qemu_machine):
            raise ValueError(f"no machine of QEMU: {self.qemu_machine!r}")
        if self.qemu_cpu is not None and not re.fullmatch(QEMU_CPU, self.qemu_cpu):
            raise ValueError(f"no core of QEMU: {self.qemu_cpu!r}")
        if self.family not in {tools.family for tools in TOOLSETS}:
            raise ValueError(f"no family of instruction sets: {self.family!r}")
        if self.block_samples is not None and not 0 < self.block_samples <= LARGEST_BLOCK:
            raise ValueError(f"no number of samples: {self.block_samples!r}")
        if not re.fullmatch("[a-z0-9_]+", self.program):
            raise ValueError(f"no stem of a program: {self.program!r}")

    @property
    def machine(self) -> Machine | None:
        """What stands for the board in QEMU, if anything does."""
        (tools,) = (tools for tools in TOOLSETS if tools.family == self.family)
        return None if self.qemu_machine is None else Machine(self.qemu_machine, self.qemu_cpu, tools)

    @property
    def uart_elf(self) -> str:
        """The program that talks over the UART."""
        return f"{self.program}.elf"

    @property
    def semihosting_elf(self) -> str:
        """The program that talks through semihosting."""
        return f"{self.program}-semihosting.elf"


def read_description(folder: Path) -> Description:
    """The description in `folder`; UsageError where there is none."""
    file = folder / DESCRIPTION_FILE
    try:
        return Description(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise UsageError(
            f"{file}: is missing or damaged, a firmware folder was expected. Make one with `tinygen mlperf TASK MODEL`."
        ) from None
