"""Layers whose input is cast to signs."""

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.sign_fully_connected import SignFullyConnected


def sign_layer(real: Op, quantized: Op) -> Op:
    """The operator on signs where its quantized input is signs, else as it is; `real` is the float operator."""
    if not isinstance(quantized, Conv2D | FullyConnected) or quantized.input.type.dtype is not DType.SIGNS:
        return quantized
    assert isinstance(real, Conv2D | FullyConnected)
    if isinstance(real, Conv2D) and real.groups > 1:
        return quantized  # no such kernel: `verify` of the operator refuses it
    if isinstance(quantized, FullyConnected):
        return SignFullyConnected(
            name=quantized.name,
            source=quantized.source,
            input=quantized.input,
            weights=quantized.weights,
            bias=quantized.bias,
            output=quantized.output,
            depth=real.input.shape[-1],
            clamp=quantized.clamp,
        )
    return SignConv2D(
        name=quantized.name,
        source=quantized.source,
        input=quantized.input,
        weights=quantized.weights,
        bias=quantized.bias,
        output=quantized.output,
        stride=quantized.stride,
        padding=quantized.padding,
        dilation=quantized.dilation,
        clamp=quantized.clamp,
    )
