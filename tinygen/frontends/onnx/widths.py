"""Operators between tensors of 8 and of 16 bits: kernels have one width, so what is narrow passes as int16."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tinygen.frontends.onnx.values import WIDE, type_of
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.clamp import Clamp, fused_clamp, with_clamp
from tinygen.ops.rescale import Rescale

_FINER = 128  # steps of int16 in one of int8, so that all of the latter's range is within the former's
_WIDTHS = (DType.INT8, DType.INT16)


def finer(quant: Quant) -> Quant:
    """The quantization of int16 that divides each step of 8 bits, and holds all that these do."""
    return Quant((quant.scale / _FINER,), (0,), bits=WIDE)


@dataclass
class Widening:
    """The tensors of int8 of a model that stand as int16 too, each made once."""

    derive: Callable[[str, str], str]  # a new name, of a name and a role
    wide: dict[Tensor, Tensor]  # what is there already

    def of_one(self, op: Op) -> tuple[Op, ...]:
        """The operator, or what computes the same where its operands and its result have 8 and 16 bits.

        int8 operands become int16 under their own scale, which loses nothing. A result of 8 bits is rounded from steps
        that are 128 times finer: within 0.5 + 1/256 steps of the real number.
        """
        mixed = [] if isinstance(op, Rescale) else _activations(op)
        widths = {tensor.type.dtype for tensor in mixed}
        if DType.INT16 in widths:
            op = op.replace_tensors({constant: _of_wide_sums(constant) for constant in op.constants_of_sums})
        if len(op.results) != 1 or len(widths) < len(_WIDTHS):
            return (op,)
        narrow = [tensor for tensor in op.operands if tensor in mixed and tensor.type.dtype is DType.INT8]
        before = [found for tensor in narrow if (found := self._widening(op, tensor)) is not None]
        wide = {tensor: self.wide[tensor] for tensor in narrow}
        op = op.replace_tensors(wide)
        output = op.results[0]
        return (*before, *(self._narrowed(op, output) if output.type.dtype is DType.INT8 else (op,)))

    def _widening(self, op: Op, tensor: Tensor) -> Op | None:
        """What makes a tensor wide, which is there then; None where nothing is left to be done at run time."""
        if tensor in self.wide:
            return None
        name, own = self.derive(tensor.name, "wide"), tensor.type
        data = None if tensor.data is None else tensor.data.astype(np.int16) - np.int16(own.zero_point)
        wide = self.wide[tensor] = Tensor(name, TensorType(DType.INT16, own.shape, Quant((own.scale,), (0,))), data)
        return None if wide.is_constant else Rescale(name=name, source=op.source, input=tensor, output=wide)

    def _narrowed(self, op: Op, output: Tensor) -> tuple[Op, Op]:
        assert output.type.quant is not None
        result = Tensor(self.derive(output.name, "wide"), type_of(output.shape, finer(output.type.quant)))
        has_clamp = fused_clamp(op) is not None
        op = with_clamp(op, Clamp.none(result.type), result) if has_clamp else op.replace_tensors({output: result})
        return replace(op, name=result.name), Rescale(name=output.name, source=op.source, input=result, output=output)


def _activations(op: Op) -> list[Tensor]:
    """Operands and results with a scale, whose widths have to agree."""
    others = {*op.constants_of_sums, *op.cells}
    found = [tensor for tensor in (*op.operands, *op.results) if tensor not in others and tensor.type.dtype in _WIDTHS]
    return [tensor for tensor in found if tensor.type.quant is not None and tensor.type.quant.is_per_tensor]


def _of_wide_sums(constant: Tensor) -> Tensor:
    """Weights and biases as layers of int16 take them: narrow weights as int8, biases with 64 bits."""
    own = constant.type.dtype
    dtype = DType.INT64 if own is DType.INT32 else DType.INT8 if own.is_narrow else own
    if dtype is own or constant.data is None:
        return constant
    return replace(constant, type=replace(constant.type, dtype=dtype), data=constant.data.astype(dtype.numpy))
