"""Rows of quantized tables, as QOperator models have them: integers are chosen first, and become real numbers then."""

from collections.abc import Container, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tinygen.frontends.onnx.raw import RawNode
from tinygen.ir.names import unused
from tinygen.ir.types import Array

_STORED = (np.int8, np.uint8)
_MOVING = ("Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")


def with_real_tables(
    nodes: tuple[RawNode, ...], constants: Mapping[str, Array], outputs: tuple[str, ...]
) -> tuple[RawNode, ...]:
    """The nodes, where a Gather of stored integers that nothing but DequantizeLinear reads, as they are or moved,
    chooses real numbers."""
    readers: dict[str, list[RawNode]] = {}
    for node in nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    taken = {*readers, *outputs, *constants, *(name for node in nodes for name in node.outputs)}
    spelled: dict[RawNode, tuple[RawNode, ...]] = {}
    for node in nodes:
        if not _is_table(node, constants):
            continue
        moves = _moves(node, readers, outputs)
        last = moves[-1].outputs[0]
        found = readers.get(last, [])
        if found and last not in outputs and all(_is_same(reader, found[0], constants) for reader in found):
            spelled |= _real(moves, found[0], taken)
            spelled |= dict.fromkeys(found[:1], ()) | {other: (_renamed(other, found[0]),) for other in found[1:]}
    return tuple(part for node in nodes for part in spelled.get(node, (node,)))


def _moves(gather: RawNode, readers: Mapping[str, list[RawNode]], outputs: tuple[str, ...]) -> list[RawNode]:
    """The node, and those behind it that do no more than move what it chose, each read by the next one alone."""
    found = [gather]
    while found[-1].outputs[0] not in outputs:
        match readers.get(found[-1].outputs[0], []):
            case [RawNode(domain="", operator=operator, problem="", outputs=[_]) as reader] if (
                operator in _MOVING and reader.inputs[0] == found[-1].outputs[0]
            ):
                found.append(reader)
            case _:
                break
    return found


def _is_table(node: RawNode, constants: Mapping[str, Array]) -> bool:
    table = constants.get(node.inputs[0]) if node.operator == "Gather" and len(node.inputs) == 2 else None
    is_stored = table is not None and table.dtype in _STORED
    return is_stored and not node.domain and not node.problem and bool(node.outputs)


def _is_same(reader: RawNode, first: RawNode, constants: Mapping[str, Array]) -> bool:
    """Whether a node gives the real numbers of all elements by one scale, as the first one does."""
    parameters = [[constants.get(name) for name in node.inputs[1:] if name] for node in (reader, first)]
    if reader.operator != "DequantizeLinear" or reader.domain or len({len(found) for found in parameters}) != 1:
        return False
    scale = parameters[0][0] if parameters[0] else None
    is_one = scale is not None and scale.size == 1
    return is_one and all(_are_equal(one, other) for one, other in zip(*parameters, strict=True))


def _are_equal(one: Array | None, other: Array | None) -> bool:
    return one is not None and other is not None and one.dtype == other.dtype and np.array_equal(one, other)


def _real(moves: list[RawNode], reader: RawNode, taken: Container[str]) -> Mapping[RawNode, tuple[RawNode, ...]]:
    """DequantizeLinear of the whole table, then the nodes on real numbers, whose result is the reader's. Tensors
    between them have names that are not taken."""
    gather = moves[0]
    table = unused(f"{gather.outputs[0]}:table", taken)
    names = [table, *(unused(f"{node.outputs[0]}:real", taken) for node in moves[:-1]), *reader.outputs]
    found = {
        node: (replace(node, inputs=(before, *node.inputs[1:]), outputs=(after,)),)
        for node, (before, after) in zip(moves, pairwise(names), strict=True)
    }
    dequantized = replace(reader, inputs=(gather.inputs[0], *reader.inputs[1:]), outputs=(table,))
    return {**found, gather: (dequantized, *found[gather])}


def _renamed(other: RawNode, first: RawNode) -> RawNode:
    return replace(other, operator="Identity", inputs=first.outputs, attributes={})
