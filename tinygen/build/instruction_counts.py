"""How often each instruction of a measuring program was executed between its counter's start and stop."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen.build.counting_plugin import counting_plugin
from tinygen.build.disassembly import Instruction, Symbol, disassemble, symbols
from tinygen.build.execute import Sample, execute
from tinygen.build.firmware import Image
from tinygen.errors import ToolError
from tinygen.planner.schedule.schedule import Schedule
from tinygen.targets import Board

_START = "tg_count_start"
_STOP = "tg_count_stop"
_TABLE = "operator_instructions"  # of the harness that counts per operator
HARNESS = (_START, _STOP, "after_call", "main")  # functions whose instructions are not the model's
_ENTRY_BYTES = 8
_COUNTS_FILE = "counts.txt"


@dataclass(frozen=True)
class Executed:
    """An instruction and what it did."""

    instruction: Instruction
    count: int
    fallen_through: int  # times that the instruction behind it came next; of a branch: it was not taken


Profile = tuple[Executed, ...]  # in the order of addresses


def profiles(image: Image, schedule: Schedule, inputs: Sequence[Sample]) -> Mapping[int, Profile]:
    """Run `image` and count: all in entry 0, or, of Measure.INSTRUCTIONS_PER_OPERATOR, by the operators' places
    in execution order, from 1.

    Raises ToolError where the QEMU at hand takes no plugin.
    """
    counts = image.elf.parent / _COUNTS_FILE
    execute(image, schedule, inputs, plugin_option(image.elf, counts))
    return read_profiles(image.elf, schedule.board, counts)


def plugin_option(elf: Path, counts: Path) -> str:
    """What QEMU is told so that it counts `elf` into the file `counts`; ToolError where it cannot."""
    known = symbols(elf)
    parts = [str(counting_plugin()), f"out={counts}"]
    parts += [f"start={known[_START].address:x}", f"stop={known[_STOP].address:x}"]
    table = known.get(_TABLE)
    if table is not None:
        parts += [f"table={table.address:x}", f"entries={table.size // _ENTRY_BYTES}"]
    return ",".join(parts)


def read_profiles(elf: Path, board: Board, counts: Path, harness: Sequence[str] = HARNESS) -> Mapping[int, Profile]:
    """What was counted, joined with the code of `elf`; functions of the `harness` are left out."""
    known = symbols(elf)
    code = disassemble(elf, board)
    left_out = [known[name] for name in harness if name in known]
    return {entry: _profile(found, code, left_out) for entry, found in _read(counts).items()}


def _read(file: Path) -> Mapping[int, dict[int, tuple[int, int]]]:
    """Executions and falls through by entry and address; QEMU may have translated an address more than once."""
    entries: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for entry, address, count, fallen_through in _lines(file):
        before = entries[entry].get(address, (0, 0))
        entries[entry][address] = (before[0] + count, before[1] + fallen_through)
    return entries


def _lines(file: Path) -> Iterator[tuple[int, int, int, int]]:
    for line in file.read_text(encoding="ascii").splitlines():
        entry, address, count, fallen_through = line.split()
        yield int(entry), int(address, 16), int(count), int(fallen_through)


def _profile(
    found: Mapping[int, tuple[int, int]], code: Mapping[int, Instruction], harness: Sequence[Symbol]
) -> Profile:
    """What was executed outside of the functions of the harness."""
    own = [address for address in sorted(found) if not any(part.address <= address < part.end for part in harness)]
    unknown = next((address for address in own if address not in code), None)
    if unknown is not None:
        raise ToolError(f"disassembly: has no instruction at {unknown:#x}, which QEMU executed. Please report this.")
    return tuple(Executed(code[address], *found[address]) for address in own)
