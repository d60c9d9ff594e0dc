"""Instructions of native kernels on cores with MVE: counted in the assembly, compared with layers of MLPerf Tiny."""

from tinygen.ir.graph import Op
from tinygen.kernels.native.depthwise_mve import best_plan
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected

_LANES = 16
_CALL = 200.0
_PAIR = 25.0  # of pixels, besides the channels
_FOUR_CHANNELS = 27.0  # of 2 pixels, besides the steps
_STEP = 14.5  # of 16 elements, 2 pixels, 4 channels
_EIGHT_UNITS = 36.0
_UNIT_STEP = 17.5  # of 16 features, 8 units
_SUM = 2.65  # of two elements


def mve_instructions(op: Op, function: str, rows: int | None = None) -> float:
    """Of computing rows of the result of `op`."""
    shape = op.results[0].shape
    share = 1.0 if rows is None or len(shape) != 4 else rows / shape[1]
    match op:
        case Conv2D():
            return convolution_instructions(op, function, rows)
        case DepthwiseConv2D():
            plan = best_plan(op)
            return _CALL + (plan.instructions if plan else 0.0) * shape[0] * shape[3] * share
        case FullyConnected():
            return _CALL / 4 + _fully_connected(op)
        case _:
            return _CALL / 4 + _SUM * op.results[0].type.elements * share


def convolution_instructions(op: Conv2D, function: str, rows: int | None = None) -> float:
    """Of computing rows of the result."""
    batches, height, width, channels = op.output.shape
    lines = batches * (height if rows is None else rows)
    kernel, depth = op.window.kernel, op.input.shape[3]
    pair = _pair(channels, kernel.h * kernel.w * depth)
    if "_1x1" in function:
        return _CALL + -(-lines * width // 2) * pair
    if "_strips" in function:
        columns = (width - 1) * op.stride.w + kernel.w
        return _CALL + lines * (_CALL + kernel.h * (60 + columns * _copied(depth)) + -(-width // 2) * pair)
    return _CALL + lines * width * (50 + kernel.h * _copied(kernel.w * depth)) + -(-lines * width // 2) * pair


def _fully_connected(op: FullyConnected) -> float:
    units, features = op.weights.shape
    if op.rows > 1:
        return -(-op.rows // 2) * _pair(units, features)
    return -(-units // 8) * (_EIGHT_UNITS + _UNIT_STEP * -(-features // _LANES))


def _pair(channels: int, elements: int) -> float:
    """Of all channels of two pixels."""
    return _PAIR + -(-channels // 4) * (_FOUR_CHANNELS + _STEP * -(-elements // _LANES))


def _copied(count: int) -> float:
    """Of copying a row of bytes."""
    return 6.0 if count <= _LANES else 10.0 + 3.0 * -(-count // _LANES)
