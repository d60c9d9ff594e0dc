"""Samples that a network is run on: of a file, piece by piece, or of arrays."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinygen.compress.errors import CompressionError
from tinygen.ir.graph import Port
from tinygen.ir.samples import check_shape, elements, input_arrays
from tinygen.ir.types import Array
from tinygen.quant.dataset import DEFAULT_SAMPLES, open_dataset

Given = str | Path | Mapping[str, Array]
_ARGUMENT = "calibrate"  # what messages call arrays


@dataclass(frozen=True)
class Samples:
    """Samples that can be read again and again."""

    count: int
    _read: Callable[[int], Iterator[list[Array]]]

    def one_by_one(self, most: int | None = None) -> Iterator[list[Array]]:
        """At most so many: an array [1, ...] for each input."""
        return self._read(self.count if most is None else min(most, self.count))


def open_samples(given: Given, ports: Sequence[Port], limit: int = DEFAULT_SAMPLES) -> Samples:
    """At most `limit` samples for the inputs, by the rule of `ir.samples`; UsageError."""
    if not isinstance(given, Mapping):
        data = open_dataset(Path(given), ports, limit)
        return Samples(data.samples, lambda most: data.batches(1, 0, most))
    names = input_arrays(_ARGUMENT, given, [port.name for port in ports])
    arrays = [_checked(np.asarray(given[name]), name, port) for name, port in zip(names, ports, strict=True)]
    counts = {len(array) for array in arrays}
    count = min(counts, default=0)
    if len(counts) != 1 or not count:
        raise CompressionError(f"calibrate: {sorted(counts)} samples, the same number for each input was expected.")
    return Samples(min(count, limit), lambda most: ([array[n : n + 1] for array in arrays] for n in range(most)))


def _checked(array: Array, name: str, port: Port) -> Array:
    reader = f"input '{port.name}'"
    check_shape(_ARGUMENT, name, array.shape, port.external, reader)
    return elements(_ARGUMENT, name, array, port.external.dtype, reader)
