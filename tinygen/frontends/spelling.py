"""What a user may say about a model whose file leaves it open: sizes, values, and the order of axes of inputs and
outputs."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import TypeVar

from tinygen.errors import UsageError
from tinygen.option import one_of, option, several

_Given = TypeVar("_Given", int, float, tuple[int, ...])


class Layout(Enum):
    """Order of axes of images at the model's inputs and outputs."""

    NCHW = "nchw"  # as the file has them
    NHWC = "nhwc"


def shapes_from_text(texts: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """NAME=1,3,32,32 as people write them; UsageError."""
    return _by_name("--input-shape", map(_shape, texts))


def dims_from_text(texts: tuple[str, ...]) -> dict[str, int]:
    """NAME=1 as people write them; UsageError."""
    return _by_name("--dim", map(_dim, texts))


def frozen_from_text(texts: tuple[str, ...]) -> dict[str, float]:
    """NAME=VALUE as people write them; numbers without a point are whole ones. UsageError."""
    return _by_name("--freeze", map(_frozen, texts), "values")


def ends_from_text(texts: tuple[str, ...]) -> tuple[str, ...]:
    """TENSOR,... as people write them, each name once; UsageError."""
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",")))
    if not all(names):
        raise UsageError(f"--stop-at: is '{','.join(texts)}', names of tensors with commas between them were expected.")
    return names


def _shapes_text(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    return [f"{name}={','.join(map(str, sizes))}" for name, sizes in shapes.items()]


def _numbers_text(numbers: Mapping[str, float]) -> list[str]:
    return [f"{name}={number}" for name, number in numbers.items()]


@dataclass(frozen=True)
class Spelling:
    """Choices for a model: shapes of inputs and the outputs of any; of ONNX models also sizes, values and layout."""

    shapes: Mapping[str, tuple[int, ...]] = option(  # of inputs, by name
        {},
        several(shapes_from_text, _shapes_text),
        "--input-shape",
        metavar="NAME=N,C,H,W",
        help="Shape of an input, where the model's file leaves sizes open; once for each input.",
    )
    dims: Mapping[str, int] = option(  # sizes of symbolic dimensions, by name
        {},
        several(dims_from_text, _numbers_text),
        "--dim",
        metavar="NAME=N",
        help="Size of a symbolic dimension of an ONNX model; once for each name.",
    )
    layout: Layout = option(
        Layout.NCHW,
        one_of(Layout),
        "--input-layout",
        metavar="LAYOUT",
        help="Order of axes of images that go into and come out of an ONNX model: nchw (as in the file) or nhwc.",
    )
    stop_at: tuple[str, ...] = option(  # tensors by name; empty: the file's own outputs
        (),
        several(ends_from_text, list),
        "--stop-at",
        metavar="TENSOR,...",
        help="End the network at these tensors, which are its outputs then: without a decoder or post-processing.",
    )
    frozen: Mapping[str, float] = option(  # of inputs, by name: int where they are whole numbers
        {},
        several(frozen_from_text, _numbers_text),
        "--freeze",
        metavar="NAME=VALUE",
        help="An input of an ONNX model that always has this value, in all of its elements: a constant, no input any "
        "more; once for each input.",
    )
    allows_float: bool = False  # between the quantizations of a model that does not become integers as a whole


AS_IN_FILE = Spelling()


def _by_name(option: str, entries: Iterable[tuple[str, _Given]], what: str = "sizes") -> dict[str, _Given]:
    """What is given, by name; UsageError where one name has two."""
    found: dict[str, _Given] = {}
    for name, given in entries:
        if found.setdefault(name, given) != given:
            raise UsageError(f"{option}: names '{name}' with two {what}, one was expected. Leave one of them out.")
    return found


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, sizes = text.rpartition("=")
    numbers = tuple(_positive(size) for size in sizes.replace("x", ",").split(","))
    if not name or not all(numbers):
        raise UsageError(f"--input-shape: is '{text}', a name and sizes as in image=1,3,32,32 were expected.")
    return name, numbers


def _dim(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition("=")
    if not name or not _positive(size):
        raise UsageError(f"--dim: is '{text}', a name and a size as in batch=1 were expected.")
    return name, _positive(size)


def _frozen(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    for read in (int, float):
        with suppress(ValueError, OverflowError):
            value = read(number)
            if name and isfinite(value):
                return name, value
    raise UsageError(f"--freeze: is '{text}', a name and a number as in sr=16000 were expected.")


def _positive(text: str) -> int:
    """A positive number; 0 where the text is none."""
    stripped = text.strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and len(stripped) < 10 else 0
