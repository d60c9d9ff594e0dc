"""Words that kernels read, made of weights when they are asked for: planning looks at many kernels, and takes few."""

from collections.abc import Callable, Hashable
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np

from tinygen.ir.types import Array


class Packing:
    """How the int32 words of a table are made, and how many there are. `key` says what they are made of."""

    def __init__(self, elements: int, pack: Callable[[], Array]) -> None:
        self.elements = elements
        self._pack = pack

    @cached_property
    def words(self) -> Array:
        """Packed once."""
        packed = self.pack()
        assert packed.size == self.elements and packed.dtype == np.int32, "as the kernel was chosen by"
        return packed

    def pack(self) -> Array:
        """Pack now."""
        return self._pack()


_cache: WeakValueDictionary[Hashable, Packing] = WeakValueDictionary()  # of those that some kernel has


def packing(key: Hashable, elements: int, pack: Callable[[], Array]) -> Packing:
    """The packing of that key: parts of one operator, and kernels that share a stream, have the same one."""
    found = _cache.get(key)
    if found is None:
        found = _cache[key] = Packing(elements, pack)
    return found
