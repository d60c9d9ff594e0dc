"""Ranges of fused activations."""

from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.clamp import Activation, Clamp


def test_limits_beyond_float32_steps_are_those_of_the_type() -> None:
    """A converter gives a layer whose results are all 0 the smallest of scales."""
    for dtype, zero_point in ((DType.INT16, 0), (DType.INT8, -128)):
        type = TensorType(dtype, (1,), Quant((1e-39,), (zero_point,)))
        assert Clamp.of(Activation.RELU6, type) == Clamp(zero_point, type.max)
        assert Clamp.of(Activation.RELU_N1_TO_1, type) == Clamp(type.min, type.max)
