"""How many bits weights take, and activations."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tinygen.errors import UsageError
from tinygen.ir.answers import Range
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.clamp import fused_clamp
from tinygen.ops.unary import Unary
from tinygen.ops.weighted import Weighted
from tinygen.option import option, parsed, several
from tinygen.quant.ctable import Storage

WEIGHTS = tuple(Storage(f"int{bits}") for bits in range(16, 0, -1))
"""Types of weights, the widest first; those beyond eight bits are for activations beyond eight bits."""

ACTIVATIONS = WEIGHTS
"""Types of activations, the widest first; single bits are for single bits of weights, by operator."""

_OVERRIDE = re.compile(r"w(\d{1,2})a(\d{1,2})")


@dataclass(frozen=True)
class Override:
    """Other widths for the operators of a name or pattern."""

    pattern: str  # of the operator, its weights or its result; with * and ? as in file names
    weights: Storage
    activations: Storage = Storage.INT8

    @classmethod
    def parse(cls, text: str) -> "Override":
        """An override as in `conv1=w4a8`, `conv1=w8a16` or `conv1=w1a1`; UsageError."""
        pattern, _, widths = text.rpartition("=")
        found = _OVERRIDE.fullmatch(widths)
        bits = [int(group) for group in found.groups()] if found else []
        if not pattern or not bits or not all(1 <= count <= 16 for count in bits):
            raise UsageError(
                f"--op {text}: NAME=w4a8 was expected, with weights of 1 to 16 bits and activations of 1 to 16."
            )
        weights, activations = (Storage(f"int{count}") for count in bits)
        if activations is Storage.INT1 is not weights:
            raise UsageError(
                f"--op {text}: no kernel has activations of single bits with weights of {weights.bits}, w1a1 was "
                "expected."
            )
        _check_pair(f"--op {text}", weights, activations)
        return cls(pattern, weights, activations)

    def __str__(self) -> str:
        """The widths, as `w4a8`."""
        return f"w{self.weights.bits}a{self.activations.bits}"

    def matches(self, op: Op) -> bool:
        """Whether it is for this operator."""
        weights = [] if op.filters is None else [op.filters.weights.name]
        return any(fnmatchcase(name, self.pattern) for name in (op.name, op.results[0].name, *weights))


def _weights_of_text(text: str) -> Storage:
    if text not in WEIGHTS:
        raise UsageError(f"--weights {text}: no kernel has such weights, {listed(WEIGHTS)} was expected.")
    return Storage(text)


def _activations_of_text(text: str) -> Storage:
    if text not in ACTIVATIONS[:-1]:
        raise UsageError(f"--activations {text}: no kernel has such, {listed(ACTIVATIONS[:-1])} was expected.")
    return Storage(text)


@dataclass(frozen=True)
class Widths:
    """The types of weights and activations, one for all and overrides of which the last that matches counts."""

    default: Storage = option(
        Storage.INT8,
        parsed(_weights_of_text),
        "--weights",
        metavar="TYPE",
        help="Type of the weights of a calibrated model: int1 to int8, with activations beyond int8 to int16.",
    )
    overrides: tuple[Override, ...] = option(
        (),
        several(lambda texts: tuple(map(Override.parse, texts)), lambda found: [f"{o.pattern}={o}" for o in found]),
        "--op",
        metavar="NAME=w4a8",
        help="Other widths for one operator, or for those of a pattern with *: weights and activations of 1 to 16 "
        "bits, as w4a8, w8a16, w4a4 or w1a1; may be given several times, the last counts.",
    )
    activations: Storage = option(  # beyond eight bits: range of all values that were seen, zero point 0
        Storage.INT8,
        parsed(_activations_of_text),
        "--activations",
        metavar="TYPE",
        help="Type of the tensors of a calibrated model: int2 to int16.",
    )

    def check(self) -> None:
        """Raise UsageError where no kernel has both types."""
        _check_pair(f"--weights {self.default}", self.default, self.activations)

    def of(self, op: Op) -> Storage:
        """What is asked for an operator, whether its kernels have it or not."""
        return next((o.weights for o in reversed(self.overrides) if o.matches(op)), self.default)

    def activations_of(self, op: Op) -> Storage:
        """The type of an operator's activations, as asked for."""
        return next((o.activations for o in reversed(self.overrides) if o.matches(op)), self.activations)


ALL_INT8 = Widths()


def listed(storages: Iterable[Storage]) -> str:
    """The types in a sentence, as `int1 to int8`, `int8`."""
    bits = sorted(storage.bits for storage in storages)
    return f"int{bits[0]}" if len(bits) == 1 else f"int{bits[0]} to int{bits[-1]}"


def _check_pair(where: str, weights: Storage, activations: Storage) -> None:
    if weights.bits > Storage.INT8.bits >= activations.bits:
        raise UsageError(
            f"{where}: no kernel has weights of {weights.bits} bits with activations of {activations.bits}, at most 8 "
            "bits of weights were expected, or more than 8 of activations."
        )


def has_narrow_form(op: Op) -> bool:
    """Whether there are kernels for weights of other than eight bits."""
    return isinstance(op, Weighted) and op.has_narrow_form and op.weights.is_constant


def has_sign_form(op: Op) -> bool:
    """Whether there are kernels for activations and weights of single bits."""
    return isinstance(op, Weighted) and op.has_sign_form


def has_narrow_result(op: Op) -> bool:
    """Whether results can be limited to a part of the values of their element type."""
    if op.fixed_quant is not None:
        return False
    return fused_clamp(op) is not None or isinstance(op, Unary) or op.result_range is not Range.OWN


def activation_types(graph: Graph, widths: Widths) -> Mapping[str, Storage]:
    """The type of activations of every operator on real numbers, by name; where kernels lack what is asked for, all
    bits of its element type.
    """
    return {op.name: _activations(op, widths) for op in graph.ops if op.results[0].type.dtype.is_real}


def _activations(op: Op, widths: Widths) -> Storage:
    asked = widths.activations_of(op)
    if asked is Storage.INT1:
        return asked if has_sign_form(op) else Storage.INT8
    is_whole = asked.bits_in(asked.dtype) is None
    return asked if is_whole or has_narrow_result(op) else Storage(asked.dtype.name.lower())


def weight_types(graph: Graph, widths: Widths) -> Mapping[Tensor, Storage]:
    """The element type of all constant weights: of those that several operators share, the widest."""
    found: dict[Tensor, Storage] = {}
    for op in graph.ops:
        if op.filters is not None and (weights := op.filters.weights).is_constant:
            asked = widths.of(op) if has_narrow_form(op) else Storage.INT8
            found[weights] = max(asked, found.get(weights, asked), key=lambda storage: storage.bits)
    for op in graph.ops:
        if op.filters is None or (weights := op.filters.weights) not in found:
            continue
        if widths.activations_of(op).bits <= Storage.INT8.bits < found[weights].bits:
            found[weights] = Storage.INT8
    return found


def kept_wide(graph: Graph, widths: Widths) -> tuple[str, ...]:
    """Operators whose weights stay int8 although fewer bits are asked for."""
    types = weight_types(graph, widths)
    return tuple(
        op.name
        for op in graph.ops
        if op.filters is not None
        and widths.of(op) is not Storage.INT8
        and types.get(op.filters.weights, Storage.INT8) is Storage.INT8
    )


def kept_whole(graph: Graph, widths: Widths) -> tuple[str, ...]:
    """Operators whose activations have all bits of their element type although fewer are asked for."""
    found = activation_types(graph, widths)
    return tuple(op.name for op in graph.ops if op.name in found and found[op.name] is not widths.activations_of(op))


def check_overrides(graph: Graph, overrides: Iterable[Override]) -> None:
    """Raise UsageError for an override that is for no operator, or narrows weights where there are none."""
    layers = [op for op in graph.ops if op.filters is not None]
    for override in overrides:
        narrows = override.weights is not Storage.INT8
        candidates = layers if narrows else graph.ops
        if not any(override.matches(op) for op in candidates):
            kind = "operator with weights" if narrows else "operator"
            raise UsageError(
                f"--op {override.pattern}: {graph.name} has no such {kind}, one of its {len(candidates)} was expected. "
                "`tinygen inspect` lists their names."
            )
