"""What a layer takes in float32 and in int8: instructions, by the prices of the kernels that either form has."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tinygen.ir.graph import Op

Pricing = Callable[[Iterable[Op]], float]  # instructions of some operators, on the board that they are for


@dataclass(frozen=True)
class Cost:
    """Instructions of a layer."""

    float32: float
    int8: float

    @property
    def gain(self) -> float:
        """How many of them int8 saves."""
        return self.float32 - self.int8
