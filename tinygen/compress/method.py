"""The ways to store weights narrower, each with what may be chosen of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tinygen.compress.codings import Encoded, Weights, encoded
from tinygen.compress.encode import encode
from tinygen.compress.errors import CompressionError
from tinygen.compress.network import SampledNetwork
from tinygen.compress.palette import Palette, palettized
from tinygen.compress.pruning import UNPRUNED, Pruning
from tinygen.compress.scheme import CodeScheme
from tinygen.ir.coding import Coding
from tinygen.ir.types import Array
from tinygen.option import COUNT, option


class CompressionMethod(Protocol):
    """How weights become codings."""

    @property
    def weight_num_threshold(self) -> int:
        """Constants of more elements are taken."""

    @property
    def done(self) -> str:
        """What happens to them, in a word."""

    def encoded(self, weights: Sequence[Weights], network: SampledNetwork | None) -> Mapping[str, Encoded]:
        """By the names of weights, which the network that is sampled has where something is measured."""


def each_encoded(weights: Sequence[Weights], code: Callable[[Weights, Array], Coding]) -> Mapping[str, Encoded]:
    """Each by itself; a ValueError says why one stays."""
    found: dict[str, Encoded] = {}
    for each in weights:
        try:
            values = each.read()
            if not np.isfinite(values).all():
                raise ValueError("it holds numbers that are not finite")
            found[each.name] = Encoded(code(each, values))
        except ValueError as error:
            found[each.name] = Encoded(None, str(error))
    return found


@dataclass(frozen=True)
class Pruned:
    """Which constants are pruned."""

    weight_num_threshold: int = option(
        1024, COUNT, "--weight-num-threshold", help="Constants of more elements than this are pruned."
    )

    def __post_init__(self) -> None:
        if self.weight_num_threshold < 0:
            raise CompressionError(
                f"weight_num_threshold is {self.weight_num_threshold}, a number from 0 on was expected."
            )


@dataclass(frozen=True)
class Quantizing:
    """Codes with scales, perhaps of pruned weights."""

    scheme: CodeScheme
    pruning: Pruning = UNPRUNED

    done = "quantized"

    def __post_init__(self) -> None:
        if not self.pruning.is_asked_for:
            return
        if not self.scheme.dtype.is_integer:
            raise CompressionError(f"Sparse weights are integers or palettes, not {self.scheme.dtype.name}.")
        if self.scheme.needs_samples:
            raise CompressionError("Sparse weights are rounded to nearest: rounding GPTQ and target_bits are for all.")

    @property
    def weight_num_threshold(self) -> int:
        """Constants of more elements are quantized."""
        return self.scheme.weight_num_threshold

    def encoded(self, weights: Sequence[Weights], network: SampledNetwork | None) -> Mapping[str, Encoded]:
        """See `Method`."""
        if not self.pruning.is_asked_for:
            return encoded(weights, self.scheme, network)
        return each_encoded(weights, self._sparse)

    def _sparse(self, weights: Weights, values: Array) -> Coding:
        mask = self.pruning.mask(values, weights.input_axis)
        sizes = self.scheme.block_sizes(weights.rank, weights.output_axis, weights.input_axis)
        return replace(encode(np.where(mask, values, np.zeros((), values.dtype)), self.scheme, sizes), mask=mask)


@dataclass(frozen=True)
class Palettizing:
    """Indices of tables, perhaps of pruned weights."""

    palette: Palette
    pruning: Pruning = UNPRUNED

    done = "palettized"

    @property
    def weight_num_threshold(self) -> int:
        """Constants of more elements are palettized."""
        return self.palette.weight_num_threshold

    def encoded(self, weights: Sequence[Weights], network: SampledNetwork | None) -> Mapping[str, Encoded]:  # noqa: ARG002
        """See `Method`."""
        return each_encoded(weights, self._coding)

    def _coding(self, weights: Weights, values: Array) -> Coding:
        mask = self.pruning.mask(values, weights.input_axis) if self.pruning.is_asked_for else None
        return _saving(palettized(values, self.palette, weights.output_axis, mask), values)


@dataclass(frozen=True)
class Sparsifying:
    """The numbers that are left, as they are."""

    pruned: Pruned
    pruning: Pruning

    done = "pruned"

    def __post_init__(self) -> None:
        if not self.pruning.is_asked_for:
            raise CompressionError("sparsity or n_of_m was expected: it says how many weights become 0.")

    @property
    def weight_num_threshold(self) -> int:
        """Constants of more elements are pruned."""
        return self.pruned.weight_num_threshold

    def encoded(self, weights: Sequence[Weights], network: SampledNetwork | None) -> Mapping[str, Encoded]:  # noqa: ARG002
        """See `Method`."""
        return each_encoded(weights, self._coding)

    def _coding(self, weights: Weights, values: Array) -> Coding:
        ones = np.ones((1,) * weights.rank, np.float32)
        mask = self.pruning.mask(values, weights.input_axis)
        return _saving(Coding(values.astype(np.float32), ones, mask=mask), values)


def _saving(coding: Coding, values: Array) -> Coding:
    as_compiled = 4 * values.size  # float16 becomes float32
    if coding.bytes >= as_compiled:
        raise ValueError(f"it would take {coding.bytes} bytes, fewer than {as_compiled} were expected")
    return coding
