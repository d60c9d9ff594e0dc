"""Several networks in one memory.

Networks that run one after another take the same bytes, but for states, which are kept from call to call; networks that
may interrupt each other have no byte in common. In a cascade, the output of one network lies where the next one looks
for its input. Each network keeps the places of its own plan: only its arena is moved.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import lcm

from tinygen.errors import UsageError
from tinygen.ir.graph import Port
from tinygen.planner.memory.block import Block, Part, forbidden
from tinygen.planner.memory.placement import place
from tinygen.planner.schedule.schedule import Arena, Schedule


@dataclass(frozen=True)
class Handover:
    """An output of a network that is an input of the one that runs next."""

    giver: str
    output: int
    taker: str
    input: int


@dataclass(frozen=True, eq=False)
class Joint:
    """Where the arenas of all networks lie."""

    schedules: Mapping[str, Schedule]  # by the network's name
    together: frozenset[frozenset[str]]  # pairs of networks that may interrupt each other
    handovers: tuple[Handover, ...]
    offsets: Mapping[tuple[str, str], int]  # of a network's arena in a memory, by the names of both

    @property
    def align(self) -> int:
        """Alignment of all arenas."""
        return lcm(*(schedule.arena_align for schedule in self.schedules.values()))

    @cached_property
    def arenas(self) -> tuple[Arena, ...]:
        """One for each memory that is used, the fastest first."""
        board = next(iter(self.schedules.values())).board
        ends: dict[str, int] = {}
        for name, schedule in self.schedules.items():
            for arena in schedule.arenas:
                memory = arena.memory.name
                ends[memory] = max(ends.get(memory, 0), self.offsets[name, memory] + arena.bytes)
        return tuple(Arena(memory, ends[memory.name]) for memory in board.rams if memory.name in ends)

    @property
    def arena_bytes(self) -> int:
        """Size of all of them."""
        return sum(arena.bytes for arena in self.arenas)


def join(
    schedules: Mapping[str, Schedule], together: frozenset[frozenset[str]], handovers: Sequence[Handover]
) -> Joint:
    """Places for the networks' arenas; UsageError where a cascade cannot hand its output on.

    `together`: pairs of networks. Ticks of the blocks are no steps here: there is one for each network, at which it
    runs, and one for each pair that may run at once.
    """
    for handover in handovers:
        _check(schedules, together, handover)
    live = _ticks(tuple(schedules), together)
    memories = dict.fromkeys(arena.memory.name for schedule in schedules.values() for arena in schedule.arenas)
    offsets: dict[tuple[str, str], int] = {}
    for memory in memories:
        used = {n: s for n, s in schedules.items() if any(arena.memory.name == memory for arena in s.arenas)}
        chains = list(_chains(used, handovers, memory))
        blocks = [_block(used, chain, memory, live) for chain in chains]
        places = place([[block] for block in blocks])
        for chain, block in zip(chains, blocks, strict=True):
            offsets |= {(name, memory): places[block] + offset for name, offset in chain.items()}
    return Joint(schedules, together, tuple(handovers), offsets)


def _ticks(names: Sequence[str], together: frozenset[frozenset[str]]) -> dict[str, int]:
    """When each network runs, as a set of ticks."""
    found = {name: 1 << index for index, name in enumerate(names)}
    for tick, pair in enumerate(sorted(map(sorted, together)), len(names)):
        for name in pair:
            found[name] |= 1 << tick
    return found


def _chains(schedules: Mapping[str, Schedule], handovers: Sequence[Handover], memory: str) -> Iterator[dict[str, int]]:
    """Networks whose arenas keep their distances: cascades, or one. With offsets from the first of their bytes."""
    chain_of = {name: {name: 0} for name in schedules}
    for handover in handovers:
        giver, taker = (schedules[name] for name in (handover.giver, handover.taker))
        output, input = giver.graph.output_tensors[handover.output], taker.graph.input_tensors[handover.input]
        if giver.memory(giver.places[output].buffer).name != memory:
            continue
        first, second = chain_of[handover.giver], chain_of[handover.taker]
        distance = first[handover.giver] + giver.address(output) - taker.address(input) - second[handover.taker]
        joined = first | {name: offset + distance for name, offset in second.items()}
        chain_of |= dict.fromkeys(joined, joined)
    for chain in {id(chain): chain for chain in chain_of.values()}.values():
        lowest = min(chain.values())
        yield {name: offset - lowest for name, offset in chain.items()}


def _block(schedules: Mapping[str, Schedule], chain: Mapping[str, int], memory: str, live: Mapping[str, int]) -> Block:
    """The bytes of a chain: those of states live always, the others while their network runs. UsageError where two of
    its networks need the same byte at once."""
    always = (1 << max(ticks.bit_length() for ticks in live.values())) - 1
    align = lcm(*(schedules[name].arena_align for name in chain))
    own = {name: _parts(schedules[name], memory, live[name], always) for name in chain}
    for first, second in combinations(chain, 2):
        one, other = (Block(name, _end(own[name]), align, own[name]) for name in (first, second))
        distance = chain[second] - chain[first]
        if any(low < distance < high for low, high in forbidden(one, other)):
            raise UsageError(
                f"--cascade: where {first} hands its output on, {second} would write over what one of them keeps. "
                "Leave the option out, and copy the output."
            )
    shifted = [part._replace(offset=part.offset + chain[name]) for name in chain for part in own[name]]
    return Block("+".join(chain), _end(shifted), align, _flattened(shifted))


def _parts(schedule: Schedule, memory: str, live: int, always: int) -> tuple[Part, ...]:
    """The bytes of an arena, ascending."""
    [bytes] = [arena.bytes for arena in schedule.arenas if arena.memory.name == memory]
    states = (state.tensor for state in schedule.graph.states)
    kept = [
        Part(schedule.address(tensor), tensor.type.bytes, always)
        for tensor in states
        if schedule.memory(schedule.places[tensor].buffer).name == memory
    ]
    return _flattened([Part(0, bytes, live), *kept])


def _flattened(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts that do not overlap, ascending: each byte is live whenever one of the parts has it."""
    edges = sorted({edge for part in parts for edge in (part.offset, part.offset + part.bytes)})
    found: list[Part] = []
    for low, high in pairwise(edges):
        ticks = 0
        for part in parts:
            ticks |= part.live if part.offset <= low < part.offset + part.bytes else 0
        if ticks:
            found.append(Part(low, high - low, ticks))
    return tuple(found)


def _end(parts: Sequence[Part]) -> int:
    return max((part.offset + part.bytes for part in parts), default=0)


def _check(schedules: Mapping[str, Schedule], together: frozenset[frozenset[str]], handover: Handover) -> None:
    """Raise UsageError unless the output of one network can be the input of the other where it lies."""
    names = f"--cascade {handover.giver},{handover.taker}"
    if frozenset({handover.giver, handover.taker}) in together:
        raise UsageError(f"{names}: may interrupt each other (--together), one after the other was expected.")
    giver, taker = schedules[handover.giver], schedules[handover.taker]
    output, input = giver.graph.outputs[handover.output], taker.graph.inputs[handover.input]
    if output.tensor in giver.stored or input.tensor in taker.fetched:
        raise UsageError(f"{names}: the application gives or takes rows there, memory was expected. Leave one out.")
    one, other = (s.memory(s.places[p.tensor].buffer).name for s, p in ((giver, output), (taker, input)))
    if one != other:
        raise UsageError(f"{names}: the output lies in {one}, the input in {other}, one memory was expected.")


def matching(giver: Schedule, taker: Schedule) -> tuple[int, int] | None:
    """The first output and input that agree in type, shape and scale; None where there are none."""
    pairs = (
        (index, other)
        for index, output in enumerate(giver.graph.outputs)
        for other, input in enumerate(taker.graph.inputs)
        if agree(output, input)
    )
    return next(pairs, None)


def agree(output: Port, input: Port) -> bool:
    """Whether stored values mean the same there."""
    return output.tensor.type == input.tensor.type
