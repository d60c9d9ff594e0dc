"""Who reads a constant of an ONNX graph, and which of its axes count outputs and inputs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onnx import AttributeProto, GraphProto, NodeProto


@dataclass(frozen=True)
class Axes:
    """Of weights: the axis of output channels and that of input channels."""

    output: int
    input: int

    def before(self, permutation: tuple[int, ...]) -> "Axes":
        """The same axes before a transpose."""
        return Axes(permutation[self.output], permutation[self.input])


FIRST_TWO = Axes(0, 1)
_CONVOLUTION_RANKS = (3, 4)


@dataclass(frozen=True)
class Reader:
    """An operand of a node."""

    node: NodeProto
    position: int


def readers(graph: GraphProto) -> Mapping[str, list[Reader | None]]:
    """By the name of a value all that read it; None stands for outputs and for operators within a node's graphs."""
    found: dict[str, list[Reader | None]] = {}
    for node in graph.node:
        for position, name in enumerate(node.input):
            found.setdefault(name, []).append(Reader(node, position))
        for name in _inner_names(node):
            found.setdefault(name, []).append(None)
    for output in graph.output:
        found.setdefault(output.name, []).append(None)
    return found


def _inner_names(node: NodeProto) -> Iterator[str]:
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs:
            for inner in graph.node:
                yield from inner.input
                yield from _inner_names(inner)
            yield from (output.name for output in graph.output)


def takes_weights(reader: Reader | None, rank: int) -> bool:
    """Whether weights are what a node reads there: products, convolutions, rows that are chosen, transposes."""
    return reader is not None and (reader.node.op_type == "Transpose" or _axes(reader, rank) is not None)


def axes_of(name: str, rank: int, by_name: Mapping[str, list[Reader | None]]) -> Axes:
    """The axes for those that read a constant, perhaps transposed; the first two where none of them says."""
    return _found_axes(name, rank, by_name) or FIRST_TWO


def _found_axes(name: str, rank: int, by_name: Mapping[str, list[Reader | None]]) -> Axes | None:
    for reader in by_name.get(name, ()):
        if reader is None:
            continue
        if reader.node.op_type == "Transpose":
            behind = _found_axes(reader.node.output[0], rank, by_name)
            found = behind and behind.before(_permutation(reader.node, rank))
        else:
            found = _axes(reader, rank)
        if found is not None:
            return found
    return None


def _axes(reader: Reader, rank: int) -> Axes | None:
    node, position = reader.node, reader.position
    match node.op_type, position:
        case "Conv", 1:
            return FIRST_TWO if rank in _CONVOLUTION_RANKS else None
        case (("Gather" | "GatherND"), 0):
            return FIRST_TWO if rank > 1 else None
        case (("MatMul" | "Gemm"), (0 | 1)):
            is_turned = node.op_type == "Gemm" and integer(node, "transA" if position == 0 else "transB")
            is_left = (position == 0) != bool(is_turned)
            return (Axes(rank - 2, rank - 1) if is_left else Axes(rank - 1, rank - 2)) if rank > 1 else None
    return None


def _permutation(node: NodeProto, rank: int) -> tuple[int, ...]:
    return integers(node, "perm") or tuple(reversed(range(rank)))


def integers(node: NodeProto, name: str) -> tuple[int, ...]:
    """An attribute of several numbers; none where it is not given."""
    return next((tuple(a.ints) for a in node.attribute if a.name == name), ())


def integer(node: NodeProto, name: str, default: int = 0) -> int:
    """An attribute."""
    return next((int(a.i) for a in node.attribute if a.name == name), default)
