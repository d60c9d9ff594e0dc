"""Which weights take four, two or one bits instead of eight, and which activations sixteen."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tinygen.errors import UsageError
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.quant.constraints import filters
from tinygen.quant.ctable import Storage

WEIGHTS = (Storage.INT8, Storage.INT4, Storage.INT2, Storage.INT1)
"""Element types of weights, the widest first."""

_ACTIVATIONS = (Storage.INT8, Storage.INT16)
_OVERRIDE = re.compile(r"w(8|4|2|1)a(8)|w(8)a(16)")


@dataclass(frozen=True)
class Override:
    """Other widths for the operators of a name or pattern."""

    pattern: str  # of the operator, its weights or its result; with * and ? as in file names
    weights: Storage
    activations: Storage = Storage.INT8

    @classmethod
    def parse(cls, text: str) -> "Override":
        """An override as in `conv1=w4a8` or `conv1=w8a16`; UsageError."""
        pattern, _, widths = text.rpartition("=")
        found = _OVERRIDE.fullmatch(widths)
        if not pattern or found is None:
            raise UsageError(
                f"--op {text}: NAME=w4a8 was expected, with weights of 8, 4, 2 or 1 bits and activations of 8, or "
                "NAME=w8a16."
            )
        weights, activations = filter(None, found.groups())
        return cls(pattern, Storage(f"int{weights}"), Storage(f"int{activations}"))

    def matches(self, op: Op) -> bool:
        """Whether it is for this operator."""
        weights = [tensor.name for tensor in filters(op)[:1] if tensor is not None]
        return any(fnmatchcase(name, self.pattern) for name in (op.name, op.results[0].name, *weights))


@dataclass(frozen=True)
class Widths:
    """The element types of weights and activations, one for all and overrides of which the last that matches counts."""

    default: Storage = Storage.INT8
    overrides: tuple[Override, ...] = ()
    activations: Storage = Storage.INT8  # or int16: range of all values that were seen, zero point 0

    @classmethod
    def parse(cls, weights: str, of_ops: Iterable[str], activations: str = "int8") -> "Widths":
        """Widths as people write them; UsageError."""
        if weights not in WEIGHTS:
            names = ", ".join(storage.value for storage in WEIGHTS)
            raise UsageError(f"--weights {weights}: no kernel has such weights, one of {names} was expected.")
        if activations not in _ACTIVATIONS:
            raise UsageError(f"--activations {activations}: no kernel has such, int8 or int16 was expected.")
        found = cls(Storage(weights), tuple(map(Override.parse, of_ops)), Storage(activations))
        if found.activations is Storage.INT16 and found.default is not Storage.INT8:
            raise UsageError(
                "--activations int16: no kernel has them with narrow weights, --weights int8 was expected."
            )
        return found

    def of(self, op: Op) -> Storage:
        """What is asked for an operator, whether its kernels have it or not."""
        return next((o.weights for o in reversed(self.overrides) if o.matches(op)), self.default)

    def activations_of(self, op: Op) -> Storage:
        """The element type of an operator's activations."""
        return next((o.activations for o in reversed(self.overrides) if o.matches(op)), self.activations)

    @property
    def has_int16(self) -> bool:
        """Whether int16 activations are asked for anywhere."""
        return Storage.INT16 in (self.activations, *(override.activations for override in self.overrides))


ALL_INT8 = Widths()


def has_narrow_form(op: Op) -> bool:
    """Whether there are kernels for weights of less than eight bits."""
    return isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected) and op.weights.is_constant


def weight_types(graph: Graph, widths: Widths) -> Mapping[Tensor, Storage]:
    """The element type of all constant weights: of those that several operators share, the widest."""
    found: dict[Tensor, Storage] = {}
    for op in graph.ops:
        if filters(op) and (weights := filters(op)[0]) is not None and weights.is_constant:
            asked = widths.of(op) if has_narrow_form(op) else Storage.INT8
            found[weights] = max(asked, found.get(weights, asked), key=lambda storage: storage.bits)
    return found


def kept_wide(graph: Graph, widths: Widths) -> tuple[str, ...]:
    """Operators whose weights stay int8 although fewer bits are asked for."""
    types = weight_types(graph, widths)
    return tuple(
        op.name
        for op in graph.ops
        if filters(op) and widths.of(op) is not Storage.INT8 and types.get(_weights(op), Storage.INT8) is Storage.INT8
    )


def check_overrides(graph: Graph, overrides: Iterable[Override]) -> None:
    """Raise UsageError for an override that is for no operator, or narrows weights where there are none."""
    layers = [op for op in graph.ops if filters(op)]
    for override in overrides:
        narrows = override.weights is not Storage.INT8
        candidates = layers if narrows else graph.ops
        if not any(override.matches(op) for op in candidates):
            kind = "operator with weights" if narrows else "operator"
            raise UsageError(
                f"--op {override.pattern}: {graph.name} has no such {kind}, one of its {len(candidates)} was expected. "
                "`tinygen inspect` lists their names."
            )


def _weights(op: Op) -> Tensor:
    weights = filters(op)[0]
    assert weights is not None
    return weights
