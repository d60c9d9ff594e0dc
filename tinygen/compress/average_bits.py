"""Types for weights so that together they take few bits and their network loses little.

From the types of most bits on, the weights that lose least for each bit that they save become narrower, until all fit;
what is left of the room goes to those that gain most by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tinygen.compress.errors import CompressionError

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Choice(Generic[Value]):
    """One way to store weights."""

    value: Value
    bits: int
    loss: float


def chosen(options: Mapping[str, Sequence[Choice[Value]]], room: float, elements: int) -> Mapping[str, Value]:
    """One option for each name, which together take at most `room` bits for so many elements.

    CompressionError where none do. Losses count as if they added up.
    """
    least = sum(min(option.bits for option in each) for each in options.values())
    if least > room:
        raise CompressionError(
            f"target_bits: is {room / elements:g}, at least {least / elements:.4g} bits a weight, scales among them, "
            "were expected of these types. Allow more, or larger blocks."
        )
    taken = {name: max(each, key=lambda option: option.bits) for name, each in options.items()}
    while sum(option.bits for option in taken.values()) > room:
        steps = [
            ((other.loss - taken[name].loss) / (taken[name].bits - other.bits), name, other)
            for name, each in options.items()
            for other in each
            if other.bits < taken[name].bits
        ]
        _, name, other = min(steps, key=lambda step: step[0])
        taken[name] = other
    while True:
        left = room - sum(option.bits for option in taken.values())
        gains = [
            (taken[name].loss - other.loss, name, other)
            for name, each in options.items()
            for other in each
            if other.bits - taken[name].bits <= left and other.loss < taken[name].loss
        ]
        if not gains:
            return {name: option.value for name, option in taken.items()}
        _, name, other = max(gains, key=lambda gain: gain[0])
        taken[name] = other
