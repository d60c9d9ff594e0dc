"""Memory around the blocks of an arena that no kernel may touch: whoever reads or writes a byte there is found."""

from collections.abc import Mapping, Sequence
from itertools import count, pairwise

from tests.support.batches import stacked_offsets
from tinygen.build.disassembly import symbols
from tinygen.build.execute import Sample, execute
from tinygen.build.firmware import Image
from tinygen.build.instruction_counts import plugin_option
from tinygen.codegen.harness import GUARD_BYTES
from tinygen.errors import MismatchError
from tinygen.ir.types import Array
from tinygen.planner.memory.block import Block
from tinygen.planner.schedule.schedule import Schedule

_ARENA = "guarded_arena"  # of the harness
_FENCE_BYTES = 64
_GRANULE = 8  # of address sanitizer: blocks may end at any byte, and begin at a multiple of it


def fenced_offsets(items: Sequence[Sequence[Block]]) -> dict[Block, int]:
    """The place of each block as stacked_offsets orders them, with a fence before each; every second one is aligned to
    no more than it has to be, so that what needs more is found as well."""
    stacked = stacked_offsets(items)
    found, end = {}, 0
    for number, block in zip(count(), sorted(stacked, key=lambda block: (stacked[block], block.bytes))):
        begin = -(-(end + _FENCE_BYTES) // _GRANULE) * _GRANULE
        found[block] = begin + block.align * (number % 2)
        end = found[block] + block.bytes
    return found


def fences(schedule: Schedule) -> list[tuple[int, int]]:
    """Where no block lies, from byte to before byte, ascending; the first one begins at 0."""
    used = sorted((schedule.offsets[buffer], buffer.bytes) for buffer in schedule.buffers)
    ends = [(0, 0), *((begin, begin + bytes) for begin, bytes in used)]
    return [(before[1], after[0]) for before, after in pairwise(ends)]


def is_fenced(schedule: Schedule) -> bool:
    """Whether blocks lie where fenced_offsets put them: what main RAM has no room for is placed in another way."""
    return all(end - begin >= _FENCE_BYTES for begin, end in fences(schedule))


def run(image: Image, schedule: Schedule, inputs: Sequence[Sample]) -> Sequence[Sequence[Array]]:
    """The outputs for each sample; MismatchError where QEMU has seen a load or a store between blocks or beside them
    all, where these are fenced. On the host that is for address sanitizer to find: see `watched`."""
    if schedule.board.is_host or not is_fenced(schedule):
        return execute(image, schedule, inputs).outputs
    folder = image.elf.parent
    ranges, crossed = folder / "fences.txt", folder / "crossed.txt"
    arena, size = symbols(image.elf)[_ARENA].address + GUARD_BYTES, schedule.arena_bytes
    around = [*fences(schedule), (size, size + GUARD_BYTES)]
    ranges.write_text("".join(f"{arena + begin:x} {arena + end:x}\n" for begin, end in around))
    plugin = plugin_option(image.elf, schedule.board, folder / "counts.txt")
    found = execute(image, schedule, inputs, f"{plugin},fences={ranges},crossed={crossed}")
    places = {buffer.name: (arena + schedule.offsets[buffer], buffer.bytes) for buffer in schedule.buffers}
    if crossings := crossed.read_text().splitlines():
        raise MismatchError(f"instruction, address, bytes: {crossings[:3]} are beside all blocks: {places}")
    return found.outputs


def watched(files: Mapping[str, str], name: str, schedule: Schedule) -> dict[str, str]:
    """The sources of a model, which takes an arena of its own instead of the one that it is given: address sanitizer
    lets nobody touch bytes of it where no block lies."""
    source, begin = files[f"{name}.c"], "    context->arena = untyped(arena);\n"
    assert source.count(begin) == 1 and is_fenced(schedule)
    ranges = ", ".join(f"{{{first}, {end}}}" for first, end in fences(schedule))
    own = (
        f"    static _Alignas({2 * _GRANULE}) int8_t watched[{schedule.arena_bytes}];\n"
        f"    static const int32_t fences[][2] = {{{ranges}}};\n\n"
        f"    for (size_t i = 0; i < sizeof fences / sizeof fences[0]; ++i) {{\n"
        f"        __asan_poison_memory_region(watched + fences[i][0], (size_t)(fences[i][1] - fences[i][0]));\n"
        f"    }}\n"
        f"    context->arena = untyped(watched);\n"
    )
    text = "#include <sanitizer/asan_interface.h>\n" + source.replace(begin, own)
    return {**files, f"{name}.c": text}
