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
from tinygen.targets import Board, Flash, Memory

_START = "tg_count_start"
_STOP = "tg_count_stop"
_HANDLER = "SysTick_Handler"  # of the other way to count; when it interrupts the model depends on the host's clock
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
    instruction_fetches: int = 0  # reads of flash that no cache spared, to get the instruction
    data_fetches: int = 0  # the same for what it loads


Profile = tuple[Executed, ...]  # in the order of addresses


def profiles(image: Image, schedule: Schedule, inputs: Sequence[Sample]) -> Mapping[int, Profile]:
    """Run `image` and count: all in entry 0, or, of Measure.INSTRUCTIONS_PER_OPERATOR, by the operators' places
    in execution order, from 1.

    Raises ToolError where the QEMU at hand takes no plugin.
    """
    counts = image.elf.parent / _COUNTS_FILE
    execute(image, schedule, inputs, plugin_option(image.elf, schedule.board, counts))
    return read_profiles(image.elf, schedule.board, counts)


def plugin_option(elf: Path, board: Board, counts: Path) -> str:
    """What QEMU is told so that it counts `elf` into the file `counts`; ToolError where it cannot."""
    known = symbols(elf)
    parts = [str(counting_plugin(board.toolset)), f"out={counts}"]
    parts += [f"start={known[_START].address:x}", f"stop={known[_STOP].address:x}"]
    handler = known.get(_HANDLER)
    if handler is not None:
        parts.append(f"handler={handler.address:x}:{handler.end:x}")
    table = known.get(_TABLE)
    if table is not None:
        parts += [f"table={table.address:x}", f"entries={table.size // _ENTRY_BYTES}"]
    if board.flash is not None:
        parts += _flash_arguments(board.code_memory, board.flash)
    return ",".join(parts)


def _flash_arguments(memory: Memory, flash: Flash) -> list[str]:
    caches = {"icache": flash.instruction_cache, "dcache": flash.data_cache}
    return [
        f"flash={memory.origin:x}:{memory.end:x}:{flash.width}",
        *(f"{name}={cache.lines}:{cache.bytes}:{cache.associativity}" for name, cache in caches.items()),
    ]


def read_profiles(elf: Path, board: Board, counts: Path, harness: Sequence[str] = HARNESS) -> Mapping[int, Profile]:
    """What was counted, joined with the code of `elf`; functions of the `harness` are left out."""
    known = symbols(elf)
    code = disassemble(elf, board)
    left_out = [known[name] for name in harness if name in known]
    return {entry: _profile(found, code, left_out) for entry, found in _read(counts).items()}


_Counts = tuple[int, ...]  # executed, fallen through, fetches of the instruction, fetches of data


def _read(file: Path) -> Mapping[int, dict[int, _Counts]]:
    """What was counted by entry and address; QEMU may have translated an address more than once."""
    entries: dict[int, dict[int, _Counts]] = defaultdict(dict)
    for entry, address, counts in _lines(file):
        before = entries[entry].get(address, (0,) * len(counts))
        entries[entry][address] = tuple(map(sum, zip(before, counts, strict=True)))
    return entries


def _lines(file: Path) -> Iterator[tuple[int, int, _Counts]]:
    for line in file.read_text(encoding="ascii").splitlines():
        entry, address, *counts = line.split()
        yield int(entry), int(address, 16), tuple(map(int, counts))


def _profile(found: Mapping[int, _Counts], code: Mapping[int, Instruction], harness: Sequence[Symbol]) -> Profile:
    """What was executed outside of the functions of the harness."""
    own = [address for address in sorted(found) if not any(part.address <= address < part.end for part in harness)]
    unknown = next((address for address in own if address not in code), None)
    if unknown is not None:
        raise ToolError(f"disassembly: has no instruction at {unknown:#x}, which QEMU executed. Please report this.")
    return tuple(Executed(code[address], *found[address]) for address in own)
