"""What stands in an executable: its instructions and where its symbols lie."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tinygen.errors import ToolError
from tinygen.targets import Board, Isa
from tinygen.targets.isa import RISCV_SETS

# RISC-V's instructions of 32 bits are one word there, Thumb's two halfwords.
_LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{4} ?){1,2})\s*\t(\S+)(?:\t(.*))?$", re.MULTILINE)
_RISCV_OPTIONS = ("-M", "no-aliases,numeric")
_OPTIONS = {
    Isa.MVE: ("-m", "armv8.1-m.main", "-M", "force-thumb"),  # attributes of the file do not suffice for these
    **dict.fromkeys(RISCV_SETS, _RISCV_OPTIONS),
}
_THUMB_BIT = 1


@dataclass(frozen=True)
class Instruction:
    """One instruction of Thumb or RISC-V."""

    address: int
    size: int  # bytes: 2 or 4
    mnemonic: str  # without the width suffixes .n and .w
    operands: str
    is_riscv: bool = False


@dataclass(frozen=True)
class Symbol:
    """A function or variable; `address` of a function without the Thumb bit."""

    address: int
    size: int  # bytes

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.address + self.size


def disassemble(elf: Path, board: Board) -> dict[int, Instruction]:
    """The instructions of `elf` by address. ToolError where objdump is missing or fails."""
    tools = board.toolset
    objdump = shutil.which(tools.disassembler)
    if objdump is None:
        raise ToolError(
            f"{tools.disassembler}: not found on PATH, needed for modelled cycles. Install {tools.binutils_package}."
        )
    options = _OPTIONS.get(board.isa, ())
    done = subprocess.run([objdump, "-d", *options, str(elf)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"{tools.disassembler}: failed with exit code {done.returncode}:\n{done.stderr[-500:]}")
    read = _riscv_instruction if board.isa.is_riscv else _instruction
    found = (read(*match) for match in _LINE.findall(done.stdout))
    return {instruction.address: instruction for instruction in found}


def _instruction(address: str, halfwords: str, mnemonic: str, operands: str) -> Instruction:
    plain = mnemonic.removesuffix(".n").removesuffix(".w")
    return Instruction(int(address, 16), 2 * len(halfwords.split()), plain, operands.split("\t")[0].strip())


def _riscv_instruction(address: str, word: str, mnemonic: str, operands: str) -> Instruction:
    """Compressed ones by what they stand for: the name without `c.`."""
    plain = mnemonic.removeprefix("c.")
    return Instruction(int(address, 16), len(word.strip()) // 2, plain, operands.split("#")[0].strip(), is_riscv=True)


def symbols(elf: Path) -> dict[str, Symbol]:
    """Functions and variables of `elf` by name; of local symbols with equal names the last."""
    with elf.open("rb") as stream:
        tables = [part for part in ELFFile(stream).iter_sections() if isinstance(part, SymbolTableSection)]
        return {
            symbol.name: Symbol(_address(symbol["st_value"], symbol["st_info"]["type"]), symbol["st_size"])
            for table in tables
            for symbol in table.iter_symbols()
            if symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT")
        }


def _address(value: int, kind: str) -> int:
    return value & ~_THUMB_BIT if kind == "STT_FUNC" else value
