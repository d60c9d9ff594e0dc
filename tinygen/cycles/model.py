"""Cycles and histograms of what was executed."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from tinygen.build.disassembly import Instruction
from tinygen.build.instruction_counts import Executed, Profile
from tinygen.cycles.kind import Kind, jumps_back, kind_of, loads_pc, read, transferred, written
from tinygen.cycles.timing import UNCHECKED, Timing
from tinygen.targets import Flash

_FEW_FLOATS = 0.05  # of the instructions: what the conversion of a network's outputs may take
_SINGLE = (Kind.LOAD_MULTIPLE, Kind.STORE_MULTIPLE, Kind.DIVIDE, Kind.FLOAT_DIVIDE, Kind.PREDICATE)  # issued alone
_FLOAT_ARITHMETIC = (Kind.FLOAT, Kind.FLOAT_MULTIPLY_ADD, Kind.FLOAT_DIVIDE)


def instructions(profile: Profile) -> int:
    """How many were executed."""
    return sum(executed.count for executed in profile)


def histogram(profile: Profile) -> Mapping[Kind, int]:
    """Executed instructions by kind, the most frequent first."""
    counts: Counter[Kind] = Counter()
    for executed in profile:
        counts[kind_of(executed.instruction)] += executed.count
    return dict(counts.most_common())


def instruction_fetches(profile: Profile) -> int:
    """Reads of flash for instructions that no cache spared; 0 where the board does not describe its flash."""
    return sum(executed.instruction_fetches for executed in profile)


def data_fetches(profile: Profile) -> int:
    """The same for what is loaded."""
    return sum(executed.data_fetches for executed in profile)


def cycles(profile: Profile, timing: Timing, flash: Flash | None = None) -> int:
    """Modelled cycles of `profile`: what the core takes, and the wait states of each read of `flash`."""
    wait = 0 if flash is None else flash.wait
    return _core_cycles(profile, timing) + wait * (instruction_fetches(profile) + data_fetches(profile))


def band(profile: Profile, timing: Timing, flash: Flash | None) -> float:
    """How far silicon may be from the modelled cycles, as a share of them: docs/cycles.md."""
    counts = histogram(profile)
    floats = sum(number for kind, number in counts.items() if kind.is_float)
    if flash is None or floats > _FEW_FLOATS * sum(counts.values()):
        return UNCHECKED
    return timing.band


def _core_cycles(profile: Profile, timing: Timing) -> int:
    """Each instruction by its kind and by the one before it in the program."""
    total = 0
    was_paired = False
    for before, executed in pairwise((None, *profile)):
        assert executed is not None
        neighbour = before if before is not None and _is_behind(executed, before) else None
        was_paired = neighbour is not None and not was_paired and timing.issue > 1 and _pairs(neighbour, executed)
        if not was_paired:
            total += executed.count * _own_cycles(executed, neighbour, timing)
        total += _refill(executed, timing) + _stall(executed, neighbour, timing)
    return total


def _is_behind(executed: Executed, before: Executed) -> bool:
    """Whether `before` is the instruction in front of it and usually led to it."""
    instruction = before.instruction
    return instruction.address + instruction.size == executed.instruction.address and before.fallen_through > 0


def _own_cycles(executed: Executed, before: Executed | None, timing: Timing) -> int:
    """Without stalls and refills."""
    kind = kind_of(executed.instruction)
    previous = kind_of(before.instruction) if before is not None else None
    match kind:
        case Kind.MULTIPLY:
            return timing.multiply
        case Kind.LONG_MULTIPLY:
            return timing.long_multiply
        case Kind.DIVIDE:
            return timing.divide
        case Kind.LOAD:
            return timing.pipelined_load if previous is Kind.LOAD else timing.load
        case Kind.STORE:
            return timing.store
        case Kind.LOAD_MULTIPLE | Kind.STORE_MULTIPLE:
            return timing.multiple + -(-transferred(executed.instruction) // timing.registers_a_cycle)
        case Kind.CALL:
            return timing.call
        case Kind.PREDICATE:
            return timing.predicate
        case Kind.LOOP:
            return 0 if executed.instruction.mnemonic.startswith("le") else 1
        case Kind.FLOAT:
            return timing.float_operation
        case Kind.FLOAT_MULTIPLY_ADD:
            return timing.float_multiply_add
        case Kind.FLOAT_LOAD:
            return timing.float_load
        case Kind.FLOAT_STORE:
            return timing.float_store
        case Kind.FLOAT_DIVIDE:
            return timing.float_divide
        case Kind.BRANCH | Kind.ARITHMETIC:
            return 1
    is_overlapped = previous is not None and previous.is_vector and previous is not kind
    return timing.overlapped_vector if is_overlapped else timing.vector


def _refill(executed: Executed, timing: Timing) -> int:
    """Cycles of filling the pipeline behind jumps that are not calls; a loop's end jumps for nothing."""
    if kind_of(executed.instruction) is Kind.BRANCH:
        if timing.predicts:
            return 0
        is_foretold = timing.predicts_backward and jumps_back(executed.instruction)
        return timing.refill * (executed.fallen_through if is_foretold else executed.count - executed.fallen_through)
    is_return = kind_of(executed.instruction) in (Kind.LOAD, Kind.LOAD_MULTIPLE) and loads_pc(executed.instruction)
    return timing.refill * executed.count if is_return else 0


def _stall(executed: Executed, before: Executed | None, timing: Timing) -> int:
    """Cycles of waiting for what the instruction in front has loaded, or computed with floats."""
    latency = 0 if before is None else _latency(before.instruction, timing)
    if before is None or not latency:
        return 0
    needed = written(before.instruction) & read(executed.instruction)
    return latency * min(before.count, executed.count) if needed else 0


def _latency(instruction: Instruction, timing: Timing) -> int:
    """Cycles until a result is there, beyond those of the instruction."""
    kind = kind_of(instruction)
    if kind.is_load:
        return timing.load_use
    is_arithmetic = kind in _FLOAT_ARITHMETIC and not instruction.mnemonic.startswith("vmov")
    return timing.float_latency if is_arithmetic else 0


def _pairs(first: Executed, second: Executed) -> bool:
    """Whether a core that issues two at a time issues these together: no result of one needed, no unit twice."""
    kinds = (kind_of(first.instruction), kind_of(second.instruction))
    if any(kind in _SINGLE for kind in kinds) or kinds[0] in (Kind.BRANCH, Kind.CALL):
        return False
    if kinds[0] is kinds[1] and kinds[0] not in (Kind.ARITHMETIC, Kind.LOAD, Kind.FLOAT_LOAD):
        return False
    result = written(first.instruction)
    return not result & (read(second.instruction) | written(second.instruction))
