"""What a user may say about a model whose file leaves it open: sizes, and the order of axes of inputs and outputs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from tinygen.errors import UsageError
from tinygen.option import one_of, option, several

_Size = TypeVar("_Size", int, tuple[int, ...])


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


def ends_from_text(texts: tuple[str, ...]) -> tuple[str, ...]:
    """TENSOR,... as people write them, each name once; UsageError."""
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",")))
    if not all(names):
        raise UsageError(f"--stop-at: is '{','.join(texts)}', names of tensors with commas between them were expected.")
    return names


def _shapes_text(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    return [f"{name}={','.join(map(str, sizes))}" for name, sizes in shapes.items()]


def _dims_text(dims: Mapping[str, int]) -> list[str]:
    return [f"{name}={size}" for name, size in dims.items()]


@dataclass(frozen=True)
class Spelling:
    """Choices for a model: shapes of inputs and the outputs of any; names of sizes and the layout of ONNX models."""

    shapes: Mapping[str, tuple[int, ...]] = option(  # of inputs, by name
        {},
        several(shapes_from_text, _shapes_text),
        "--input-shape",
        metavar="NAME=N,C,H,W",
        help="Shape of an input, where the model's file leaves sizes open; once for each input.",
    )
    dims: Mapping[str, int] = option(  # sizes of symbolic dimensions, by name
        {},
        several(dims_from_text, _dims_text),
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
    allows_float: bool = False  # between the quantizations of a model that does not become integers as a whole


AS_IN_FILE = Spelling()


def _by_name(option: str, entries: Iterable[tuple[str, _Size]]) -> dict[str, _Size]:
    """Sizes by name; UsageError where one name has two."""
    found: dict[str, _Size] = {}
    for name, size in entries:
        if found.setdefault(name, size) != size:
            raise UsageError(f"{option}: names '{name}' with two sizes, one was expected. Leave one of them out.")
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


def _positive(text: str) -> int:
    """A positive number; 0 where the text is none."""
    stripped = text.strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and len(stripped) < 10 else 0
