"""Sparsity: which weights become 0."""

from dataclasses import dataclass

import numpy as np

from tinygen.compress.errors import CompressionError
from tinygen.errors import UsageError
from tinygen.ir.coding import Mask
from tinygen.ir.types import Array, Float32Array
from tinygen.option import SHARE, option, parsed

_MOST_OF_N_OF_M = 256


@dataclass(frozen=True)
class KeptOf:
    """So many of as many consecutive weights, the largest, stay: 2:4."""

    kept: int
    of: int

    def __str__(self) -> str:
        return f"{self.kept}:{self.of}"

    @classmethod
    def parse(cls, text: str) -> "KeptOf":
        """From what people write; UsageError."""
        kept, colon, of = text.partition(":")
        if not (colon and kept.isdecimal() and of.isdecimal()):
            raise UsageError(f"--n-of-m: is '{text}', two numbers such as 2:4 were expected.")
        return cls(int(kept), int(of))


@dataclass(frozen=True)
class Pruning:
    """Which weights become 0: of each constant the smallest."""

    sparsity: float = option(
        0.0, SHARE, "--sparsity", metavar="SHARE", help="Share of the weights, the smallest, that becomes 0: 50%."
    )
    n_of_m: KeptOf | None = option(
        None,
        parsed(KeptOf.parse),
        "--n-of-m",
        metavar="N:M",
        help="Of each M weights along the input channels the N largest stay, such as 2:4; the others become 0.",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.sparsity < 1:
            raise CompressionError(f"sparsity is {self.sparsity}, a share from 0 to below 1 was expected.")
        if self.sparsity and self.n_of_m:
            raise CompressionError("sparsity and n_of_m say twice how many weights become 0: give one of them.")
        if self.n_of_m and not 0 < self.n_of_m.kept < self.n_of_m.of <= _MOST_OF_N_OF_M:
            raise CompressionError(
                f"n_of_m is {self.n_of_m}, of up to {_MOST_OF_N_OF_M} weights some but not all were expected to stay."
            )

    @property
    def is_asked_for(self) -> bool:
        """Whether any weights are to become 0."""
        return bool(self.sparsity) or self.n_of_m is not None

    def mask(self, weights: Array, input_axis: int | None) -> Mask:
        """Where weights stay that are not 0; of equal ones the first do. ValueError where M does not divide them."""
        sizes: Float32Array = np.abs(weights.astype(np.float32))
        if self.n_of_m is None:
            kept = _largest(sizes.reshape(1, -1), sizes.size - round(self.sparsity * sizes.size)).reshape(sizes.shape)
        else:
            kept = _largest_along(sizes, self.n_of_m, sizes.ndim - 1 if input_axis is None else input_axis)
        return kept & (sizes > 0)


UNPRUNED = Pruning()


def _largest(rows: Float32Array, count: int) -> Mask:
    """Where the `count` largest of each row are."""
    order = np.argsort(-rows, axis=1, kind="stable")
    found = np.zeros(rows.shape, np.bool_)
    np.put_along_axis(found, order[:, :count], True, axis=1)
    return found


def _largest_along(sizes: Float32Array, kept: KeptOf, axis: int) -> Mask:
    if sizes.shape[axis] % kept.of:
        raise ValueError(f"{kept} does not divide the {sizes.shape[axis]} input channels of {list(sizes.shape)}")
    moved = np.moveaxis(sizes, axis, -1)
    found = _largest(moved.reshape(-1, kept.of), kept.kept)
    return np.moveaxis(found.reshape(moved.shape), -1, axis)
