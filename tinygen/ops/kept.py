"""Values that a network keeps from call to call, from what it reads at first and what it leaves behind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinygen.ir.graph import Op, Source
from tinygen.ir.names import unused
from tinygen.ir.stream import State
from tinygen.ir.tensor import Alias, Tensor
from tinygen.ir.types import Array
from tinygen.ops.copy import Copy


@dataclass(frozen=True, eq=False)
class Kept:
    """A value that is read as `tensor` in a call, and whose `next` value the call leaves for the one after it."""

    tensor: Tensor
    next: Tensor  # of the same type
    start: Array | None  # before the first call; None where every element means zero
    source: Source  # of what leaves it


def keep(ops: Sequence[Op], values: Sequence[Kept], names: set[str]) -> tuple[tuple[Op, ...], tuple[State, ...]]:
    """The operators with those that write states, and the states; `names` are taken, and get those of new tensors.

    What is left behind of old rows and new ones is a window: the old rows stay where they are until all of them move.
    Else the next value is copied over the one before, at the end of a call.
    """
    producers = {result: op for op in ops for result in op.results}
    states: dict[Kept, State] = {}
    for value in values:
        window = _window(value, producers)
        if window is not None and all(window is not state.window for state in states.values()):
            states[value] = State(value.tensor, window, value.start)
    copied = [value for value in values if value not in states]
    read = {value.tensor for value in values}
    saved = {
        value: _copy(value, value.next, "left", names) for value in copied if _memory(value.next, producers) & read
    }
    copies: list[Op] = []
    for value in copied:
        written = _copy(value, saved[value].output if value in saved else value.next, "next", names)
        copies.append(written)
        states[value] = State(value.tensor, written.output, value.start)
    return (*ops, *saved.values(), *copies), tuple(states[value] for value in values)


def _copy(value: Kept, input: Tensor, role: str, names: set[str]) -> Copy:
    name = unused(f"{value.tensor.name}:{role}", names)
    names.add(name)
    return Copy(name=name, source=value.source, input=input, output=Tensor(name, input.type))


def _window(value: Kept, producers: Mapping[Tensor, Op]) -> Tensor | None:
    """The tensor that begins with the old value and ends with the next one; None where there is none."""
    whole, offset = value.next, 0
    while (alias := _piece_of(whole, producers)) is not None:
        whole, offset = alias.whole, offset + alias.offset_bytes
    if whole.type.dtype is not value.tensor.type.dtype:  # a view of other integers
        return None
    if whole not in producers or offset != whole.type.bytes - value.tensor.type.bytes or not offset:
        return None
    aliases = producers[whole].aliases()
    begins = any(alias.part is value.tensor and alias.whole is whole and not alias.offset_bytes for alias in aliases)
    return whole if begins else None


def _piece_of(tensor: Tensor, producers: Mapping[Tensor, Op]) -> Alias | None:
    """What a tensor is a view of, as far as it is all of one."""
    aliases = producers[tensor].aliases() if tensor in producers else ()
    return next((alias for alias in aliases if alias.part is tensor), None)


def _memory(tensor: Tensor, producers: Mapping[Tensor, Op]) -> set[Tensor]:
    """The tensors whose memory one may share, as a view."""
    found, pending = set[Tensor](), [tensor]
    while pending:
        current = pending.pop()
        if current not in found:
            found.add(current)
            is_view = current in producers and producers[current].aliases()
            pending += producers[current].variable_operands if is_view else ()
    return found
