"""What a user may say about a model whose file leaves it open: sizes, and the order of axes of inputs and outputs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from tinygen.errors import UsageError

_Size = TypeVar("_Size", int, tuple[int, ...])


class Layout(Enum):
    """Order of axes of images at the model's inputs and outputs."""

    NCHW = "nchw"  # as the file has them
    NHWC = "nhwc"


@dataclass(frozen=True)
class Spelling:
    """Choices for the inputs of an ONNX model."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs, by name
    dims: Mapping[str, int] = field(default_factory=dict)  # sizes of symbolic dimensions, by name
    layout: Layout = Layout.NCHW
    allows_float: bool = False  # between the quantizations of a model that does not become integers as a whole

    @property
    def is_default(self) -> bool:
        """Whether sizes and layout are those of the file."""
        return not self.shapes and not self.dims and self.layout is Layout.NCHW


AS_IN_FILE = Spelling()


def spelling_from_text(shapes: tuple[str, ...], dims: tuple[str, ...], layout: str) -> Spelling:
    """NAME=1,3,32,32 and NAME=1 as people write them; UsageError."""
    known = [item.value for item in Layout]
    if layout not in known:
        raise UsageError(f"--input-layout: is '{layout}', one of {', '.join(known)} was expected. Choose one of them.")
    return Spelling(_by_name("--input-shape", map(_shape, shapes)), _by_name("--dim", map(_dim, dims)), Layout(layout))


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
