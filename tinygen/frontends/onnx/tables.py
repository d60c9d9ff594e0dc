"""Rows of quantized tables, as QOperator models have them: integers are chosen first, and become real numbers then."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tinygen.frontends.onnx.raw import RawNode
from tinygen.ir.types import Array

_STORED = (np.int8, np.uint8)


def with_real_tables(
    nodes: tuple[RawNode, ...], constants: Mapping[str, Array], outputs: tuple[str, ...]
) -> tuple[RawNode, ...]:
    """The nodes, where a Gather of stored integers that nothing but DequantizeLinear reads chooses real numbers."""
    readers: dict[str, list[RawNode]] = {}
    for node in nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    spelled: dict[RawNode, tuple[RawNode, ...]] = {}
    for node in nodes:
        found = readers.get(node.outputs[0], []) if node.outputs else []
        is_table = _is_table(node, constants) and found and node.outputs[0] not in outputs
        if is_table and all(_is_same(reader, found[0], constants) for reader in found):
            spelled[node] = tuple(_real(node, found))
            spelled |= dict.fromkeys(found[:1], ()) | {other: (_renamed(other, found[0]),) for other in found[1:]}
    return tuple(part for node in nodes for part in spelled.get(node, (node,)))


def _is_table(node: RawNode, constants: Mapping[str, Array]) -> bool:
    table = constants.get(node.inputs[0]) if node.operator == "Gather" and len(node.inputs) == 2 else None
    return not node.domain and table is not None and table.dtype in _STORED and not node.problem


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


def _real(gather: RawNode, readers: list[RawNode]) -> Iterator[RawNode]:
    """DequantizeLinear of the whole table, then Gather."""
    first, table = readers[0], f"{gather.outputs[0]}:table"
    yield replace(first, inputs=(gather.inputs[0], *first.inputs[1:]), outputs=(table,))
    yield replace(gather, inputs=(table, gather.inputs[1]), outputs=first.outputs)


def _renamed(other: RawNode, first: RawNode) -> RawNode:
    return replace(other, operator="Identity", inputs=first.outputs, attributes={})
