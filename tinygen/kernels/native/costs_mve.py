"""Instructions of native kernels on cores with MVE: counted in the assembly, compared with whole layers of MLPerf Tiny."""

from tinygen.ops.conv2d import Conv2D

_LANES = 16
_FOUR_CHANNELS = 44.0  # of 2 pixels, besides the steps of 16 elements
_STEP = 14.5  # of 16 elements, 2 pixels, 4 channels


def convolution_instructions(op: Conv2D, function: str, rows: int | None = None) -> float:
    """Of computing rows of the result."""
    batches, height, width, channels = op.output.shape
    lines = batches * (height if rows is None else rows)
    kernel, depth = op.window.kernel, op.input.shape[3]
    pair = 25 + -(-channels // 4) * (_FOUR_CHANNELS + _STEP * -(-kernel.h * kernel.w * depth // _LANES))
    if "_1x1" in function:
        return 200 + -(-lines * width // 2) * pair
    if "_strips" in function:
        columns = (width - 1) * op.stride.w + kernel.w
        return 200 + lines * (200 + kernel.h * (60 + columns * _copied(depth)) + -(-width // 2) * pair)
    return 200 + lines * width * (60 + kernel.h * _copied(kernel.w * depth)) + -(-lines * width // 2) * pair


def _copied(count: int) -> float:
    """Of copying a row of bytes."""
    return 6.0 if count <= _LANES else 8.0 + 3.0 * -(-count // _LANES)
