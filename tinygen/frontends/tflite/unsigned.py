"""Networks of uint8, as TensorFlow 1 quantized them, read as int8: stored values and zero points lie 128 lower."""

from collections.abc import Mapping
from dataclasses import replace

from tinygen.frontends.tflite.raw import RawSubgraph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.quantize import flip_sign_bit

_OFFSET = 128
_CONVERTING = ("QUANTIZE",)  # what stands at the boundary of an int8 network too


def unsigned_tensors(subgraph: RawSubgraph, tensors: Mapping[int, Tensor]) -> frozenset[int]:
    """Indices of quantized uint8 tensors, where the network computes with such; none where it only converts them."""
    found = frozenset(index for index, tensor in tensors.items() if _is_unsigned(tensor))
    computing = (raw for raw in subgraph.operators if raw.name not in _CONVERTING)
    computes = any(not found.isdisjoint((*raw.inputs, *raw.outputs)) for raw in computing)
    return found if computes else frozenset()


def as_signed(tensor: Tensor) -> Tensor:
    """The int8 tensor of the same real values."""
    assert tensor.type.quant is not None
    zero_points = tuple(zero_point - _OFFSET for zero_point in tensor.type.quant.zero_points)
    type = replace(tensor.type, dtype=DType.INT8, quant=replace(tensor.type.quant, zero_points=zero_points))
    return replace(tensor, type=type, data=None if tensor.data is None else flip_sign_bit(tensor.data))


def _is_unsigned(tensor: Tensor) -> bool:
    return tensor.type.dtype is DType.UINT8 and tensor.type.quant is not None
