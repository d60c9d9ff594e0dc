"""Constants that lie in mapped files: read in blocks, without the file's content staying in memory."""

import mmap
from collections.abc import Iterator

import numpy as np

from tinygen.ir.types import Array

BLOCK_ELEMENTS = 1 << 20


def blocks(array: Array) -> Iterator[Array]:
    """The elements in their order, at most BLOCK_ELEMENTS at a time; a small array is one block of its own shape."""
    if array.size <= BLOCK_ELEMENTS:
        yield array
        return
    flat = array.reshape(-1)
    for first in range(0, flat.size, BLOCK_ELEMENTS):
        yield flat[first : first + BLOCK_ELEMENTS]
        release(array)


def is_mapped(array: Array) -> bool:
    """Whether an array lies in a mapped file."""
    return _file_behind(array) is not None


def release(array: Array) -> None:
    """Give the system back what memory the file behind an array takes; later reads map it again.

    Nothing happens to other arrays, nor where the system cannot do that.
    """
    file = _file_behind(array)
    if file is not None and hasattr(mmap, "MADV_DONTNEED"):
        file.madvise(mmap.MADV_DONTNEED)


def _file_behind(array: Array) -> mmap.mmap | None:
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) else None
