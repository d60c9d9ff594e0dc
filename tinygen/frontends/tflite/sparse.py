"""Constants that are stored without their zeros, as TFLite's SparsityParameters say; DENSIFY stands behind them.

An axis, or a part of an axis in blocks, is a level of a tree: a dense one has all its indices below each index of the
level before, a sparse one those that `indices` lists between two entries of `segments`. What is stored are the leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinygen.frontends.tflite.flatbuffer import INT8, INT32, UINT8, DamagedError, FlatTable
from tinygen.frontends.tflite.raw import StoredBytes
from tinygen.frontends.tflite.slots import IndexVectorField, LevelField, SparsityField

_INDEX_TYPES = {1: "<i4", 2: "<u2", 3: "u1"}  # by the number of the union's member
_SPARSE = 1

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Level:
    """One level of the tree: dense, of so many indices, or sparse."""

    size: int
    segments: Positions | None = None
    indices: Positions | None = None

    def below(self, parents: int, most: int, where: str) -> tuple[Positions, Positions]:
        """For each entry of this level the one before that it lies below, and its index; at most `most` entries."""
        if self.segments is None or self.indices is None:
            if parents * self.size > most:
                raise DamagedError(f"{where} has {parents * self.size} elements, expected at most {most}")
            return np.repeat(np.arange(parents), self.size), np.tile(np.arange(self.size), parents)
        counts = np.diff(self.segments)
        is_sound = len(counts) == parents and self.segments[0] == 0 and self.segments[-1] == len(self.indices) <= most
        if not is_sound or (counts < 0).any():
            raise DamagedError(f"{where} has segments that do not divide its {len(self.indices)} indices")
        return np.repeat(np.arange(parents), counts), self.indices


def dense_bytes(table: FlatTable, shape: tuple[int, ...], data: StoredBytes, bits: int | None) -> StoredBytes:
    """All elements of a constant of `shape`, zeros included; DamagedError where `data` does not fit `table`."""
    if bits is None or bits % 8:
        raise DamagedError(f"{table.where} belongs to elements of {bits} bits, expected whole bytes")
    order = table.integers(SparsityField.TRAVERSAL_ORDER) or ()
    block_axes = table.integers(SparsityField.BLOCK_MAP) or ()
    levels = [_level(level) for level in table.tables(SparsityField.DIM_METADATA)]
    sizes = _sizes(table, shape, order, block_axes, levels)
    elements, element_bytes = int(np.prod(shape)), bits // 8
    coordinates = _leaves(table, shape, order, block_axes, sizes, levels, elements)
    leaves = len(coordinates[0]) if coordinates else 1
    if data.size != leaves * element_bytes:
        raise DamagedError(f"{table.where} places {leaves} elements, the buffer holds {data.size // element_bytes}")
    dense = np.zeros((elements, element_bytes), np.uint8)
    dense[np.ravel_multi_index(coordinates, shape) if coordinates else 0] = data.reshape(leaves, element_bytes)
    dense.flags.writeable = False
    return dense.reshape(-1)


def _sizes(
    table: FlatTable, shape: tuple[int, ...], order: Sequence[int], block_axes: Sequence[int], levels: Sequence[_Level]
) -> list[int]:
    """Along each axis of the shape the size of a block; 1 without blocks."""
    rank = len(shape)
    is_order = sorted(order) == list(range(rank + len(block_axes))) and sorted(order[:rank]) == list(range(rank))
    are_axes = all(0 <= axis < rank for axis in block_axes) and len(set(block_axes)) == len(block_axes)
    if not is_order or not are_axes or len(levels) != len(order):
        raise DamagedError(
            f"{table.where} goes through {list(order)} with blocks along {list(block_axes)}, "
            f"expected the {rank} axes and then their blocks"
        )
    sizes = [1] * rank
    for level, position in zip(levels[rank:], order[rank:], strict=True):
        sizes[block_axes[position - rank]] = level.size
        if level.indices is not None or level.size < 1 or shape[block_axes[position - rank]] % level.size:
            raise DamagedError(f"{table.where} has blocks that do not divide {list(shape)}")
    return sizes


def _leaves(
    table: FlatTable,
    shape: tuple[int, ...],
    order: Sequence[int],
    block_axes: Sequence[int],
    sizes: Sequence[int],
    levels: Sequence[_Level],
    most: int,
) -> tuple[Positions, ...]:
    """Coordinates of the stored elements, one array an axis."""
    rank, count = len(shape), 1
    coordinates = {axis: np.zeros(1, np.int64) for axis in range(rank)}
    for level, position in zip(levels, order, strict=True):
        parents, indices = level.below(count, most, table.where)
        count = len(parents)
        coordinates = {axis: values[parents] for axis, values in coordinates.items()}
        axis = position if position < rank else block_axes[position - rank]
        scale = sizes[axis] if position < rank else 1
        coordinates[axis] = coordinates[axis] + indices * scale
    if any(((values < 0) | (values >= size)).any() for values, size in zip(coordinates.values(), shape, strict=True)):
        raise DamagedError(f"{table.where} has indices outside of {list(shape)}")
    return tuple(coordinates[axis] for axis in range(rank))


def _level(table: FlatTable) -> _Level:
    if table.number(LevelField.FORMAT, INT8) != _SPARSE:
        size = table.number(LevelField.DENSE_SIZE, INT32)
        if size < 0:
            raise DamagedError(f"{table.where}.dense_size is {size}, expected no negative number")
        return _Level(size)
    segments = _vector(table, LevelField.SEGMENTS_TYPE, LevelField.SEGMENTS)
    indices = _vector(table, LevelField.INDICES_TYPE, LevelField.INDICES)
    if not len(segments):
        raise DamagedError(f"{table.where} has no segments, expected at least one")
    return _Level(0, segments, indices)


def _vector(table: FlatTable, type_field: LevelField, field: LevelField) -> Positions:
    kind, vector = table.number(type_field, UINT8), table.table(field)
    if kind not in _INDEX_TYPES or vector is None:
        raise DamagedError(f"{table.where}.{field.name.lower()} is no vector of indices")
    values = vector.vector(IndexVectorField.VALUES, _INDEX_TYPES[kind])
    return np.zeros(0, np.int64) if values is None else values.astype(np.int64)
