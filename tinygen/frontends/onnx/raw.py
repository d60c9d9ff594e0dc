"""An ONNX model in plain types, checked: what the rest of the frontend reads instead of protobuf messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tinygen.ir.types import Array

MAX_RANK = 8  # axes of any tensor

Attribute = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Array


class UnsupportedError(ValueError):
    """Something cannot be compiled; the text is the reason, without the place."""


class ConsequenceError(UnsupportedError):
    """An operator could be compiled, were it not for the one whose float32 result it reads."""


@dataclass(frozen=True)
class RawInput:
    """An input of the model."""

    name: str
    dtype: str  # numpy's name
    shape: tuple[int | str, ...]  # symbolic sizes by name, "" where they have none


@dataclass(frozen=True, eq=False)
class RawNode:
    """One node; absent inputs and outputs are empty names."""

    index: int
    domain: str
    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    problem: str = ""  # why its attributes cannot be read
    part_of: str = ""  # the operator in the file, where that is spelled as several nodes
    graphs: Mapping[str, "RawModel"] = field(default_factory=dict)  # attributes that are graphs of their own
    captured: tuple[str, ...] = ()  # the last of `inputs`: what these read of the graph around them

    @property
    def spelling(self) -> str:
        """Kind and name, as users know them."""
        return f"{self.kind} '{self.label}'"

    @property
    def kind(self) -> str:
        """The operator as the file has it."""
        operator = self.part_of or self.operator
        return f"{self.domain}.{operator}" if self.domain else operator

    @property
    def label(self) -> str:
        """The node's name, or that of its first output."""
        return self.name or next((output for output in self.outputs if output), "")


@dataclass(frozen=True, eq=False)
class RawModel:
    """What a file holds, or a graph in it that an operator runs."""

    path: Path
    opset: int  # of the default domain
    inputs: tuple[RawInput, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array]
    unreadable: Mapping[str, str]  # constants that are not in `constants`, with the reason
    nodes: tuple[RawNode, ...]
    sparse: frozenset[str] = frozenset()  # those of `constants` that the file has without their zeros

    @property
    def defined(self) -> frozenset[str]:
        """Names of its constants, its inputs and what its nodes compute."""
        inputs, computed = (input.name for input in self.inputs), (name for node in self.nodes for name in node.outputs)
        return frozenset((*self.constants, *self.unreadable, *inputs, *computed))

    @property
    def captured(self) -> tuple[str, ...]:
        """What its nodes read, and its outputs are, without being defined in it."""
        own = self.defined
        read = (*(name for node in self.nodes for name in node.inputs), *self.outputs)
        return tuple(name for name in dict.fromkeys(read) if name and name not in own)
