"""Layers whose input is cast to signs."""

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.ops.weighted import Weighted


def sign_layer(real: Op, quantized: Op) -> Op:
    """The operator on signs where its quantized input is signs, else as it is; `real` is the float operator.

    Without such a form it stays, and its `verify` refuses the input.
    """
    if not isinstance(quantized, Weighted) or quantized.input.type.dtype is not DType.SIGNS:
        return quantized
    assert isinstance(real, Weighted)
    return quantized.on_signs(real.input.shape[-1]) if real.has_sign_form else quantized
