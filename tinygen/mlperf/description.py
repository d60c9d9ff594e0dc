"""What a firmware folder says of itself, so that the runner can start it."""

import json
from dataclasses import dataclass
from pathlib import Path

from tinygen.errors import UsageError

DESCRIPTION_FILE = "mlperf.json"


@dataclass(frozen=True)
class Description:
    """The task of a folder, its board and its programs."""

    task: str
    board: str
    qemu_machine: str | None
    program: str  # stem of the ELF files

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
