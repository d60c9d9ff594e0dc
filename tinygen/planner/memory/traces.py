"""What parts of a schedule do to memory, each looked at once; and the blocks that several of them take together.

A buffer that only some parts touch has the same lifetime wherever these run one after the other, only later. The uses
of several parts are strung together, once for all blocks in which they are as far from each other.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Generic, NamedTuple, TypeVar

from tinygen.planner.memory.block import Block, InPlace, Part, Pattern, read_tick, written_tick
from tinygen.planner.memory.lifetimes import Access, Traffic, Use, parts_of, uses_of

Key = TypeVar("Key", bound=Hashable)

_Parts = tuple[Part, ...]
_Patterns = list[tuple[int, Pattern]]  # of a buffer: its bytes with its parts, for each choice; equal ones are one


class _Pair(NamedTuple, Generic[Key]):
    """An operand that a result may take the place of, each with the choice of where its buffer holds its rows."""

    operand_choice: int
    operand: Access[Key]
    result_choice: int
    result: Access[Key]
    lead: int | None


@dataclass(eq=False)
class Trace(Generic[Key]):
    """What some steps do to memory, for each choice of where buffers hold their rows."""

    steps: int
    uses: tuple[Mapping[Key, Sequence[Use]], ...]
    sizes: tuple[Mapping[Key, int], ...]
    pairs: tuple[_Pair[Key], ...]
    _alone_cache: dict[tuple[Key, tuple[int, ...]], _Patterns] = field(default_factory=dict, init=False)
    _strung_cache: dict[Hashable, _Patterns] = field(default_factory=dict, init=False)  # with others, of which this is
    # the first
    _token: object = field(default_factory=object, init=False)  # stands for this one in what others keep
    _like: "Trace[Key] | None" = None  # the trace that has other sizes

    def resized(self, bytes: Mapping[Key, int]) -> "Trace[Key]":
        """The same steps where some buffers have other sizes: scratch, of which no other steps know, and of which each
        step that uses it uses all. Those of 0 bytes are not there."""
        sizes = tuple({key: n for key, size in each.items() if (n := bytes.get(key, size))} for each in self.sizes)
        return Trace(self.steps, self.uses, sizes, self.pairs, _like=self)

    @property
    def _original(self) -> "Trace[Key]":
        return self._like or self

    def alone(self, key: Key) -> _Patterns:
        """Bytes and parts of a buffer that no other steps use, for each choice."""
        return self._original._alone(key, tuple(sizes[key] for sizes in self.sizes))

    def strung(self, key: Key, users: "Sequence[_User[Key]]", *, is_there: bool, kept_to: int | None) -> _Patterns:
        """The same of a buffer that other steps use as well, no scratch: `users` are all of them, this one the first.
        `is_there` and `kept_to` as for `parts_of`."""
        known = self._original._strung_cache
        asked = key, is_there, kept_to, tuple((first_step, found._original._token) for first_step, found in users)
        if asked not in known:
            known[asked] = _strung(key, users, is_there=is_there, kept_to=kept_to)
        return known[asked]

    def _alone(self, key: Key, sizes: tuple[int, ...]) -> _Patterns:
        """The same, where the buffer has other sizes: found once for each of them."""
        if (key, sizes) not in self._alone_cache:
            found: dict[tuple[int, int], _Parts] = {}
            for uses, size, before in zip(self.uses, sizes, self.sizes, strict=True):
                if (id(uses[key]), size) not in found:
                    found[id(uses[key]), size] = parts_of(_scaled(uses[key], size, before[key]), size)
            choices = [(size, found[id(uses[key]), size]) for uses, size in zip(self.uses, sizes, strict=True)]
            self._alone_cache[key, sizes] = _patterns_of(choices)
        return self._alone_cache[key, sizes]


_User = tuple[int, Trace[Key]]  # with its first step


@dataclass(frozen=True)
class Ports(Generic[Key]):
    """What surrounds steps."""

    sizes: Mapping[Key, int]  # of buffers that need not be touched
    before: frozenset[Key]  # buffers that hold values when the first step begins
    after: frozenset[Key]  # buffers that hold values when the last step has ended


def trace(traffic: Sequence[Sequence[Traffic[Key]]], size: Callable[[Key, Sequence[Use]], int]) -> Trace[Key]:
    """The trace of steps: for each choice what every step does; `size` are bytes of a buffer that is used like that."""
    different = {id(each): (choice, each) for choice, each in reversed([*enumerate(traffic)])}
    in_place = {index for _, each in different.values() for index, step in enumerate(each) if step.in_place}
    moments = ([(choice, each[index]) for choice, each in different.values()] for index in sorted(in_place))
    pairs = dict.fromkeys(chain.from_iterable(map(_pairs, moments)))
    uses = {of: uses_of(each) for of, (_, each) in different.items()}
    first = uses[id(traffic[0])]
    for others in uses.values():
        others.update((key, own) for key, own in first.items() if others[key] == own)  # found equal once
    sizes = {of: {key: size(key, found) for key, found in each.items()} for of, each in uses.items()}
    choices = [id(each) for each in traffic]
    return Trace(len(traffic[0]), tuple(uses[of] for of in choices), tuple(sizes[of] for of in choices), tuple(pairs))


def _pairs(moment: Sequence[tuple[int, Traffic[Key]]]) -> Iterator[_Pair[Key]]:
    """The pairs of one step, for each choice of the operand's buffer and of the result's; `moment` has the step by each
    choice that differs."""
    for (reading, operand), (writing, result) in product(moment, repeat=2):
        for read in operand.in_place:
            if read.key != result.writes[0].key:
                yield _Pair(reading, read, writing, result.writes[0], operand.lead)


def blocks_of(
    traces: Sequence[Trace[Key]], ports: Ports[Key], name: Callable[[Key], str], align: Callable[[Key], int]
) -> tuple[dict[Key, tuple[Block, ...]], tuple[InPlace, ...]]:
    """The blocks of steps one after the other, of each buffer that of each choice; results in place of operands."""
    users: dict[Key, list[_User[Key]]] = {key: [] for key in ports.sizes}
    first_step = 0
    for found in traces:
        for key in found.sizes[0]:
            users.setdefault(key, []).append((first_step, found))
        first_step += found.steps
    end = written_tick(max(first_step - 1, 0))
    blocks = {key: tuple(_blocks(key, of, ports, end, name(key), align(key))) for key, of in users.items()}
    in_place = (_placed(pair, blocks) for found in traces for pair in found.pairs)
    return blocks, tuple(dict.fromkeys(in_place))


def _blocks(
    key: Key, users: Sequence[_User[Key]], ports: Ports[Key], end: int, name: str, align: int
) -> Iterator[Block]:
    """One for each choice; where choices are the same, so are they."""
    is_there, kept_to = key in ports.before, end if key in ports.after else None
    if not users:
        size = ports.sizes[key]
        yield Block(name, size, align, parts_of((), size, is_there=is_there, kept_to=kept_to))
        return
    begin = 0 if is_there else users[0][0]  # what is there is so at the first tick
    found: dict[Pattern, Block] = {}
    for size, pattern in _patterns(key, [(first - begin, user) for first, user in users], is_there, kept_to, begin):
        if pattern not in found:
            found[pattern] = Block(name, size, align, _later(pattern.parts, begin), pattern, read_tick(begin))
        yield found[pattern]


def _patterns(key: Key, users: Sequence[_User[Key]], is_there: bool, kept_to: int | None, begin: int) -> _Patterns:
    """Of a buffer that steps use; those of `users` are counted from step `begin`."""
    (_, first), *others = users
    if not others and not is_there and kept_to is None:
        return first.alone(key)
    return first.strung(key, users, is_there=is_there, kept_to=None if kept_to is None else kept_to - read_tick(begin))


def _strung(key: Key, users: Sequence[_User[Key]], *, is_there: bool, kept_to: int | None) -> _Patterns:
    found: dict[tuple[int, ...], tuple[int, _Parts]] = {}
    choices = []
    for choice in range(len(users[0][1].uses)):
        same = tuple([id(user.uses[choice][key]) for _, user in users])
        if same not in found:
            size = max(user.sizes[choice][key] for _, user in users)
            uses = [
                Use(offset, bytes, tick + read_tick(first_step), is_write)
                for first_step, user in users
                for offset, bytes, tick, is_write in user.uses[choice][key]
            ]
            found[same] = size, parts_of(uses, size, is_there=is_there, kept_to=kept_to)
        choices.append(found[same])
    return _patterns_of(choices)


def _scaled(uses: Sequence[Use], size: int, before: int) -> Sequence[Use]:
    """Uses of all of a buffer that had another size; those of one that did not as they are."""
    return uses if size == before else [use._replace(bytes=size) for use in uses]


def _patterns_of(choices: Sequence[tuple[int, _Parts]]) -> _Patterns:
    """Those of equal parts are the same object."""
    found: dict[tuple[int, _Parts], Pattern] = {}
    return [(size, found.setdefault((size, parts), Pattern(parts))) for size, parts in choices]


def _later(parts: _Parts, steps: int) -> _Parts:
    return tuple(Part(part.offset, part.bytes, part.live << read_tick(steps)) for part in parts) if steps else parts


def _placed(pair: _Pair[Key], blocks: Mapping[Key, Sequence[Block]]) -> InPlace:
    operand, result = blocks[pair.operand.key][pair.operand_choice], blocks[pair.result.key][pair.result_choice]
    return InPlace(operand, pair.operand.offset, result, pair.result.offset, pair.operand.bytes, pair.lead)
