"""A call of an operator while it is read: its arguments and attributes, each as what the operator expects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from tinygen.errors import UnsupportedModelError
from tinygen.frontends.relay.emitter import Emitter, Meaning, Wired
from tinygen.ir.types import Array

IMAGES = ("NCHW", "NHWC")
_TO_FIRST, _TO_LAST = [0, 3, 1, 2], [0, 2, 3, 1]
_LARGEST = 1 << 31  # of sizes, axes and the like
_LARGEST_REAL = float(np.finfo(np.float32).max)
_MOST_ENTRIES = 64  # of a list in an attribute


@dataclass(frozen=True, eq=False)
class ProductSum:
    """Products of stored integers, added up as int32, before they are requantized.

    `layer` makes the layer on real numbers, of the scales of its sums and an int32 bias, with the results in `shape`.
    """

    layer: Callable[[Array, Array | None], Wired]
    shape: tuple[int, ...]
    axis: int  # of the channels
    bias: Array | None = None
    is_limited: bool = False  # so that nothing can be added any more


class WideOrigin(Enum):
    """What made int32 of quantized integers, and so what else `Wide.real` stands for than the integers cast."""

    CAST = "a cast"
    AVERAGE = "an average"
    REQUANTIZED = "a requantization"
    LIMITED = "a clip"


@dataclass(frozen=True, eq=False)
class Wide:
    """Quantized integers in int32, to be cast to what they are limited to; or int8 and uint8 that were cast to it."""

    origin: WideOrigin

    real: Wired
    quantized: Meaning
    low: int
    high: int


Value = Wired | ProductSum | Wide | tuple["Value", ...]


@dataclass(eq=False)
class RelayCall:
    """Arguments and attributes of a call; those that are not read by the time it is finished are refused."""

    operator: str
    arguments: tuple[Value, ...]
    attributes: Mapping[str, object]
    emitter: Emitter
    read: set[str] = field(default_factory=set)

    def count(self, least: int, most: int | None = None) -> int:
        """How many arguments there are; ValueError where it is another number."""
        if not least <= len(self.arguments) <= (most or least):
            raise ValueError(f"has {len(self.arguments)} arguments, {most or least} were expected")
        return len(self.arguments)

    def tensor(self, position: int) -> Wired:
        """An argument that is a tensor by itself."""
        value = self.arguments[position]
        if isinstance(value, Wired):
            return value
        what = "a tuple" if isinstance(value, tuple) else "int32 that nothing has requantized"
        raise ValueError(f"argument {position} is {what}, a tensor was expected")

    def real(self, position: int) -> Wired:
        """An argument of float32."""
        found = self.tensor(position)
        if found.dtype != np.float32:
            raise ValueError(f"argument {position} is {found.dtype}, float32 was expected")
        return found

    def group(self, position: int) -> tuple[Value, ...]:
        """An argument that is a tuple."""
        value = self.arguments[position]
        if not isinstance(value, tuple) or not value:
            raise ValueError(f"argument {position} is no tuple, one was expected")
        return value

    def known(self, position: int) -> Array:
        """An argument that is a constant."""
        data = self.tensor(position).data
        if data is None:
            raise ValueError(
                f"argument {position} is not known, a constant was expected (from a .params file beside the text)"
            )
        return data

    def ignore(self, *names: str) -> None:
        """Attributes that say what is known without them."""
        self.read.update(names)

    def check_type(self, name: str, *expected: str) -> None:
        """ValueError unless an attribute names one of some types, or none."""
        if (found := self.text(name, "")) not in ("", *expected):
            raise ValueError(f"attribute {name} is '{found}', {' or '.join(expected)} was expected")

    def integer(self, name: str, default: int | None = None) -> int:
        """An attribute; without a default it has to be there."""
        return int(self._plain(name, default, False, "an integer"))

    def number(self, name: str, default: float | None = None) -> float:
        """The same of a real number."""
        return float(self._plain(name, default, True, "a number"))

    def flag(self, name: str, default: bool) -> bool:
        """The same of a boolean."""
        return bool(self._plain(name, int(default), False, "True or False"))

    def text(self, name: str, default: str) -> str:
        """The same of a text; None is the default."""
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ValueError(f"attribute {name} is {value!s:.40}, a text was expected")
        return value

    def integers(self, name: str, default: list[int] | None = None) -> list[int] | None:
        """The same of a list; one number is a list of it."""
        value = self._get(name)
        if value is None:
            return default
        listed = value if isinstance(value, list) else [value]
        found = [int(each) for each in listed if isinstance(each, int) and abs(each) < _LARGEST]
        if len(found) != len(listed) or len(found) > _MOST_ENTRIES:
            raise ValueError(f"attribute {name} is {value!s:.40}, integers were expected")
        return found

    def pairs(self, name: str) -> list[list[int]]:
        """A list of lists of two integers."""
        value = self._get(name)
        if isinstance(value, list) and all(isinstance(each, list) and len(each) == 2 for each in value):
            flat = [number for each in value for number in each]
            if all(isinstance(number, int) and abs(number) < _LARGEST for number in flat):
                return value
        raise ValueError(f"attribute {name} is {value!s:.40}, pairs of integers were expected")

    def axis(self, rank: int, default: int) -> int:
        """Attribute axis, counted from the front."""
        found = self.integer("axis", default)
        if not -rank <= found < rank:
            raise ValueError(f"attribute axis is {found}, one of {rank} axes was expected")
        return found % rank

    def layout(self, name: str = "layout") -> str:
        """The order of axes of images."""
        found = self.text(name, IMAGES[0])
        if found not in IMAGES or self.text("out_layout", "") not in ("", found):
            raise ValueError(f"attribute {name} is '{found}', {' or '.join(IMAGES)} in and out was expected")
        return found

    def first(self, image: Wired, layout: str) -> Wired:
        """An image with its channels first."""
        if len(image.shape) != 4:
            raise ValueError(f"its operand has {len(image.shape)} axes, 4 were expected")
        if layout == IMAGES[0]:
            return image
        return self.emitter.emit("Transpose", [image], {"perm": _TO_FIRST}, image.quantized)

    def as_laid_out(self, image: Wired, layout: str) -> Wired:
        """An image with channels first in the order that the operator gives."""
        if layout == IMAGES[0]:
            return image
        return self.emitter.emit("Transpose", [image], {"perm": _TO_LAST}, image.quantized)

    def sizes(self, values: list[int]) -> Wired:
        """A constant of integers, as ONNX has sizes and axes."""
        return self.emitter.constant(np.array(values, np.int64))

    def answer(self, read: "Callable[[RelayCall], Value]", place: str) -> Value:
        """What the call makes, by the operator's reader; ValueError in words that begin with the place of the call."""
        try:
            found = read(self)
            self.finish()
        except UnsupportedModelError:
            raise
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        return found

    def finish(self) -> None:
        """ValueError where an attribute was not read: it may change what the operator means."""
        left = sorted(self.attributes.keys() - self.read)
        if left:
            raise ValueError(f"has attributes {', '.join(left)}, only known ones were expected")

    def _get(self, name: str) -> object:
        self.read.add(name)
        return self.attributes.get(name)

    def _plain(self, name: str, default: float | None, is_real: bool, expected: str) -> float:
        given = self._get(name)
        value = default if given is None else given
        if not isinstance(value, (int, float) if is_real else int) or not abs(value) <= _LARGEST_REAL:
            raise ValueError(f"attribute {name} is {value!s:.40}, {expected} was expected")
        return value


Reader = Callable[[RelayCall], Value]
