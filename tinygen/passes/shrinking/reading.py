"""What a product can do without: input channels that are constant, equal to others, or multiplied by zeros only."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tinygen.ir.channels import BoolArray, IndexArray, Intervals
from tinygen.ir.tensor import Tensor
from tinygen.ops.requantize import Int64Array
from tinygen.passes.shrinking.product import Product, added_up

_INT32 = np.iinfo(np.int32)
_MOST_WEIGHT = 127  # weights are symmetric


@dataclass(frozen=True, eq=False)
class Reading:
    """A product, and how each of its input channels can be done without where nothing else needs it."""

    product: Product
    contributions: Int64Array  # [outputs, inputs], to the bias: of constant channels; 0 of others
    is_constant: BoolArray  # of each input channel: its contribution may stand in the bias
    merged_into: IndexArray  # for each input channel another one of equal values that can take its weights, or itself

    @classmethod
    def of(
        cls, product: Product, intervals: Mapping[Tensor, Intervals], equal: Mapping[Tensor, IndexArray]
    ) -> "Reading":
        """The reading of a product whose input is known as far as both analyses say."""
        input = product.op.input
        found = intervals[input]
        centered = np.where(found.is_constant, found.low - input.type.zero_point, 0)
        contributions = product.weights.sum(axis=1) * centered
        is_constant = found.is_constant & ((centered == 0) | (not product.op.is_padded))
        is_constant &= _fits_bias(product.bias, contributions * is_constant)
        return cls(product, contributions * is_constant, is_constant, _mergeable(product, equal[input], is_constant))

    def needed(self, outputs: BoolArray) -> BoolArray:
        """The input channels without which some of `outputs` cannot be computed."""
        matters = self.product.weights[outputs].any(axis=(0, 1)) & ~self.is_constant
        needed = np.zeros_like(matters)
        np.logical_or.at(needed, self.merged_into, matters)
        return needed

    def without(self, outputs: BoolArray, inputs: BoolArray) -> tuple[Int64Array, Int64Array]:
        """Weights [outputs, taps, inputs] and bias of some outputs, from some inputs, `needed` ones among them."""
        weights = self.product.weights[outputs]
        bias = self.product.bias[outputs] + self.contributions[np.ix_(outputs, ~inputs)].sum(axis=1)
        merged = np.where(inputs | self.is_constant, np.arange(len(inputs)), self.merged_into)
        return added_up(weights, merged)[:, :, inputs], bias


def _fits_bias(bias: Int64Array, contributions: Int64Array) -> bool:
    """Whether 32 bits hold the bias with any of the contributions."""
    largest = bias + np.maximum(contributions, 0).sum(axis=1)
    smallest = bias + np.minimum(contributions, 0).sum(axis=1)
    return bool(largest.max(initial=0) <= _INT32.max and smallest.min(initial=0) >= _INT32.min)


def _mergeable(product: Product, first_equal: IndexArray, is_constant: BoolArray) -> IndexArray:
    """The first equal channel, where the weights of any of the equal ones together are still weights."""
    weights = np.where(is_constant, 0, product.weights)
    largest, smallest = (added_up(part, first_equal) for part in (np.maximum(weights, 0), np.minimum(weights, 0)))
    fits: BoolArray = np.all((largest <= _MOST_WEIGHT) & (smallest >= -_MOST_WEIGHT), axis=(0, 1))
    merges = np.asarray(fits)[first_equal] & ~is_constant
    return np.where(merges, first_equal, np.arange(len(first_equal)))
