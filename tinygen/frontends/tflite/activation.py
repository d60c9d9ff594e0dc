"""TFLite's fused activations and padding modes in the IR's terms."""

import tflite

from tinygen.frontends.tflite.node import UnsupportedError
from tinygen.ir.tensor import Tensor
from tinygen.ops.clamp import Activation, Clamp
from tinygen.ops.window import PaddingMode

_ACTIVATIONS = {
    tflite.ActivationFunctionType.NONE: Activation.NONE,
    tflite.ActivationFunctionType.RELU: Activation.RELU,
    tflite.ActivationFunctionType.RELU6: Activation.RELU6,
    tflite.ActivationFunctionType.RELU_N1_TO_1: Activation.RELU_N1_TO_1,
}
_PADDINGS = {tflite.Padding.SAME: PaddingMode.SAME, tflite.Padding.VALID: PaddingMode.VALID}


def fused_clamp(code: int, output: Tensor) -> Clamp:
    """The clamp of a fused activation on `output`."""
    activation = fused_activation(code)
    quant = output.type.quant
    if output.type.dtype.is_real:
        return Clamp.of(activation, output.type)
    if quant is None or not quant.is_per_tensor:
        raise UnsupportedError(
            f"output '{output.name}' is {output.type.dtype.value} without per-tensor quantization, int8 was expected"
        )
    return Clamp.of(activation, output.type)


def fused_activation(code: int) -> Activation:
    """The activation of a code; UnsupportedError where it is no clamp."""
    if code not in _ACTIVATIONS:
        raise UnsupportedError(f"fused activation {code} is not one of NONE, RELU, RELU6, RELU_N1_TO_1")
    return _ACTIVATIONS[code]


def padding_mode(code: int) -> PaddingMode:
    """SAME or VALID."""
    if code not in _PADDINGS:
        raise UnsupportedError(f"padding {code} is neither SAME nor VALID")
    return _PADDINGS[code]
