"""Weights that have zero points, or few bits, in every format."""

from dataclasses import replace

import numpy as np

from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType, along
from tinygen.ops.concat import Concat
from tinygen.ops.quantize import flip_sign_bit

_OFFSET = 128  # of uint8 above int8
_NARROW = ((1, DType.INT1), (2, DType.INT2), (4, DType.INT4))  # by the most bits that they hold


def filters(weights: Tensor) -> Tensor:
    """int8 weights as operators take them.

    Those with zero points as int8 without where the differences fit, which every kernel takes, else as uint8; those of
    few bits in the narrowest type that holds them.
    """
    weights = _narrowed(weights)
    quant, data = weights.type.quant, weights.data
    if weights.type.dtype is not DType.INT8 or quant is None or data is None or not any(quant.zero_points):
        return weights
    if not all(DType.INT8.min <= zero_point <= DType.INT8.max for zero_point in quant.zero_points):
        return weights  # which operators refuse
    differences = data.astype(np.int16) - along(np.array(quant.zero_points, np.int16), quant.axis, data.ndim)
    if abs(differences).max(initial=0) <= DType.INT8.max:
        symmetric = replace(quant, zero_points=(0,) * len(quant.zero_points))
        return replace(weights, type=replace(weights.type, quant=symmetric), data=differences.astype(np.int8))
    lifted = replace(quant, zero_points=tuple(zero_point + _OFFSET for zero_point in quant.zero_points))
    return replace(weights, type=replace(weights.type, dtype=DType.UINT8, quant=lifted), data=flip_sign_bit(data))


def in_copies(weights: Tensor) -> tuple[Tensor, int]:
    """Filters [..., C_IN] as int8 without zero point, for an input whose channels stand there so often.

    For operators that have no correction by sums of the input: what int8 does not hold is shared by several channels,
    whose products add up to the same.
    """
    quant, data = weights.type.quant, weights.data
    if weights.type.dtype is not DType.UINT8 or quant is None or data is None:
        return weights, 1
    rest = data.astype(np.int16) - along(np.array(quant.zero_points, np.int16), quant.axis, data.ndim)
    shares = []
    while rest.any():
        shares.append(rest.clip(-DType.INT8.max, DType.INT8.max))
        rest = rest - shares[-1]
    whole = np.concatenate(shares, axis=-1).astype(np.int8)
    symmetric = replace(quant, zero_points=(0,) * len(quant.zero_points))
    return replace(weights, type=TensorType(DType.INT8, whole.shape, symmetric), data=whole), len(shares)


def with_copies(image: Tensor, count: int, name: str, source: Source) -> Concat:
    """The channels of an image, so often, under a name."""
    *kept, channels = image.shape
    output = Tensor(name, replace(image.type, shape=(*kept, channels * count)))
    return Concat(name=name, source=source, inputs=(image,) * count, output=output, axis=len(kept))


def _narrowed(weights: Tensor) -> Tensor:
    quant = weights.type.quant
    if quant is None or quant.bits is None or weights.type.dtype is not DType.INT8:
        return weights
    dtype = next((dtype for bits, dtype in _NARROW if quant.bits <= bits), DType.INT8)
    dtype = DType.INT8 if any(quant.zero_points) else dtype
    return replace(weights, type=replace(weights.type, dtype=dtype, quant=replace(quant, bits=None)))
