"""What parts of a schedule do to memory, each looked at once; and the blocks that several of them take together.

A buffer that only one part touches has the same lifetime wherever that part runs, only later. Of the others the uses
are strung together.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Generic, NamedTuple, TypeVar

from tinygen.planner.memory.block import Block, InPlace, Part, Pattern, read_tick, written_tick
from tinygen.planner.memory.lifetimes import Access, Traffic, Use, parts_of, uses_of

Key = TypeVar("Key", bound=Hashable)

_Parts = tuple[Part, ...]


class _Pair(NamedTuple, Generic[Key]):
    """An operand that a result may take the place of, each with the choice of where its buffer holds its rows."""

    operand_choice: int
    operand: Access[Key]
    result_choice: int
    result: Access[Key]


@dataclass(eq=False)
class Trace(Generic[Key]):
    """What some steps do to memory, for each choice of where buffers hold their rows."""

    steps: int
    uses: tuple[Mapping[Key, Sequence[Use]], ...]
    sizes: tuple[Mapping[Key, int], ...]
    pairs: tuple[_Pair[Key], ...]
    _alone_cache: dict[tuple[Key, tuple[int, ...]], list[tuple[int, Pattern]]] = field(default_factory=dict, init=False)
    _like: "Trace[Key] | None" = None  # the trace that has other sizes

    def resized(self, bytes: Mapping[Key, int]) -> "Trace[Key]":
        """The same steps where some buffers have other sizes: scratch, of which no other steps know, and of which each
        step that uses it uses all. Those of 0 bytes are not there."""
        sizes = tuple({key: n for key, size in each.items() if (n := bytes.get(key, size))} for each in self.sizes)
        return Trace(self.steps, self.uses, sizes, self.pairs, _like=self)

    def alone(self, key: Key) -> list[tuple[int, Pattern]]:
        """Bytes and parts of a buffer that no other steps use, for each choice that differs."""
        return (self._like or self)._alone(key, tuple(sizes[key] for sizes in self.sizes))

    def _alone(self, key: Key, sizes: tuple[int, ...]) -> list[tuple[int, Pattern]]:
        """The same, where the buffer has other sizes: found once for each of them."""
        if (key, sizes) not in self._alone_cache:
            uses = zip((each[key] for each in self.uses), sizes, (each[key] for each in self.sizes), strict=True)
            found = [(size, parts_of(_scaled(own, size, before), size)) for own, size, before in uses]
            self._alone_cache[key, sizes] = [(size, Pattern(parts, self)) for size, parts in _different(found)]
        return self._alone_cache[key, sizes]


@dataclass(frozen=True)
class Ports(Generic[Key]):
    """What surrounds steps."""

    sizes: Mapping[Key, int]  # of buffers that need not be touched
    before: frozenset[Key]  # buffers that hold values when the first step begins
    after: frozenset[Key]  # buffers that hold values when the last step has ended


def trace(traffic: Sequence[Sequence[Traffic[Key]]], size: Callable[[Key, Sequence[Use]], int]) -> Trace[Key]:
    """The trace of steps: for each choice what every step does; `size` are bytes of a buffer that is used like that."""
    pairs = dict.fromkeys(chain.from_iterable(_pairs(moment) for moment in zip(*traffic, strict=True)))
    uses = tuple(uses_of(each) for each in traffic)
    sizes = tuple({key: size(key, found) for key, found in each.items()} for each in uses)
    return Trace(len(traffic[0]), uses, sizes, tuple(pairs))


def _pairs(moment: Sequence[Traffic[Key]]) -> Iterator[_Pair[Key]]:
    """The pairs of one step, for each choice of the operand's buffer and of the result's."""
    if not any(each.in_place for each in moment):
        return
    for reading, writing in product(range(len(moment)), repeat=2):
        for read in moment[reading].in_place:
            write = moment[writing].writes[0]
            if read.key != write.key:
                yield _Pair(reading, read, writing, write)


def blocks_of(
    traces: Sequence[Trace[Key]], ports: Ports[Key], name: Callable[[Key], str], align: Callable[[Key], int]
) -> tuple[dict[Key, tuple[Block, ...]], tuple[InPlace, ...]]:
    """The blocks of steps one after the other, of each buffer those to choose from; results in place of operands."""
    users: dict[Key, list[tuple[int, Trace[Key]]]] = {key: [] for key in ports.sizes}  # with their first steps
    first_step = 0
    for found in traces:
        for key in found.sizes[0]:
            users.setdefault(key, []).append((first_step, found))
        first_step += found.steps
    end = written_tick(max(first_step - 1, 0))
    blocks = {
        key: tuple(
            Block(name(key), size, align(key), parts, pattern, read_tick(of[0][0]) if pattern else 0)
            for size, parts, pattern in _choices(key, of, ports, end)
        )
        for key, of in users.items()
    }
    in_place = (_placed(pair, blocks) for found in traces for pair in found.pairs)
    return blocks, tuple(dict.fromkeys(in_place))


def _choices(
    key: Key, users: Sequence[tuple[int, Trace[Key]]], ports: Ports[Key], end: int
) -> list[tuple[int, _Parts, Pattern | None]]:
    """Bytes and parts of a buffer, for each choice that differs."""
    is_there, kept_to = key in ports.before, end if key in ports.after else None
    if not users:
        size = ports.sizes[key]
        return [(size, parts_of((), size, is_there=is_there, kept_to=kept_to), None)]
    if len(users) == 1 and not is_there and kept_to is None:
        ((first_step, found),) = users
        return [(size, _later(pattern.parts, first_step), pattern) for size, pattern in found.alone(key)]
    choices = []
    for choice in range(len(users[0][1].uses)):
        size = max(found.sizes[choice][key] for _, found in users)
        uses = [
            Use(offset, bytes, tick + read_tick(first_step), is_write)
            for first_step, found in users
            for offset, bytes, tick, is_write in found.uses[choice][key]
        ]
        choices.append((size, parts_of(uses, size, is_there=is_there, kept_to=kept_to)))
    return [(size, parts, None) for size, parts in _different(choices)]


def _scaled(uses: Sequence[Use], size: int, before: int) -> Sequence[Use]:
    """Uses of all of a buffer that had another size; those of one that did not as they are."""
    return uses if size == before else [use._replace(bytes=size) for use in uses]


def _different(choices: Sequence[tuple[int, _Parts]]) -> list[tuple[int, _Parts]]:
    """Without those that have the parts of the first."""
    first, *others = choices
    return [first, *(choice for choice in others if choice[1] != first[1])]


def _later(parts: _Parts, steps: int) -> _Parts:
    return tuple(Part(part.offset, part.bytes, part.live << read_tick(steps)) for part in parts) if steps else parts


def _placed(pair: _Pair[Key], blocks: Mapping[Key, Sequence[Block]]) -> InPlace:
    operands, results = blocks[pair.operand.key], blocks[pair.result.key]
    operand = operands[min(pair.operand_choice, len(operands) - 1)]
    result = results[min(pair.result_choice, len(results) - 1)]
    return InPlace(operand, pair.operand.offset, result, pair.result.offset, pair.operand.bytes)
