"""Instructions of native kernels on cores with MVE, as far as they are not in proportion to what `Work` counts.

Constants were fitted to layers of `benchmarks.calibration_operators` on M55: in the mean, estimates are off by 1 % of
them where nothing is packed and by 4 % where it is.
"""

from tinygen.ir.graph import Op
from tinygen.kernels.native.depthwise_mve import Plan, at_once, best_plan
from tinygen.kernels.native.plane_axes import PlaneAxis, axes_of
from tinygen.ops.add import Add
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.window import starts_inside

_LANES = 16
_GROUP = 8  # channels that are packed at once
_WINDOW_BYTES = 2048  # that are multiplied at once, unless a pair takes more

_CALL = 60.0
_PRODUCTS = 55.0  # a call of the matrix product
_PAIR = 22.0  # of pixels, besides the channels
_FOUR_CHANNELS = 29.0  # of 2 pixels, besides the steps
_STEP = 13.9  # of 16 elements, 2 pixels, 4 channels
_ROUND = 2.2  # of 4 steps
_FOUR_LEFT = 18.0  # of channels that do not fill 16
_WINDOW = 97.0
_BORDER = 37.0  # of a window that is partly padding
_STRIP_ROW = 54.0
_STRIP_PIXEL = 7.0
_COPIED = 3.4  # of 16 bytes of a row

_EIGHT_UNITS = 36.0
_UNIT_STEP = 17.5  # of 16 features, 8 units
_SMALL_CALL = 50.0  # of a fully connected layer or an addition
_SUM = 2.65  # of two elements

_PLANES = 258.0  # a call for lines and channels whose planes fit the scratch
_PACKED_LINE = 45.0
_PACKED_BORDER = 240.0  # a word that is partly padding
_PACKED_GROUP = 76.0  # of 8 channels of a line
_PACKED_WORD = 18.7  # of 8 channels
_CHANNEL = 21.0  # of planes
_CHANNEL_LINE = 5.0
_MOVED = 33.5  # 8 outputs, 4 of a vector
_DOTS = 44.0  # 8 outputs, one of a vector
_VECTOR = 24.5  # 8 outputs with a filter of several vectors

_LANES_CALL = 34.0
_LANES_LINE = 76.0
_LANES_RUN = 55.0  # of pixels of a line
_LANES_RUN_LINE = 16.0  # of the filter
_LANES_RUN_TAP = 12.0
_LANES_PIXEL = 25.0
_LANES_GROUP = 45.0  # of 16 channels of a pixel, besides the filter
_LANES_PAIR = 25.0  # of elements of the filter
_LANES_SINGLE = 10.4


def mve_instructions(op: Op, function: str, rows: int | None, scratch_bytes: int) -> float | None:
    """Of computing rows of the result of `op` with so much scratch; None where that is in proportion to its work."""
    match op:
        case Conv2D():
            return convolution_instructions(op, function, rows)
        case DepthwiseConv2D():
            return depthwise_instructions(op, function, scratch_bytes, rows)
        case FullyConnected():
            return _SMALL_CALL + _fully_connected(op)
        case Add():
            shape = op.output.shape
            share = 1.0 if rows is None or len(shape) != 4 else rows / shape[1]
            return _SMALL_CALL + _SUM * op.output.type.elements * share
        case _:
            return None


def convolution_instructions(op: Conv2D, function: str, rows: int | None = None) -> float:
    """Of computing rows of the result."""
    batches, height, width, channels = op.output.shape
    lines = batches * (height if rows is None else rows)
    kernel, depth = op.window.kernel, op.input.shape[3]
    elements = kernel.h * kernel.w * depth
    if "_1x1" in function:
        return _CALL + _pixels(lines * width, channels, elements)
    if "_strips" in function:
        columns = (width - 1) * op.stride.w + kernel.w
        copied = _STRIP_ROW + columns * (_STRIP_PIXEL + _copied(depth))
        return _CALL + lines * (kernel.h * copied + _pixels(width, channels, elements))
    windows = lines * width
    packed = _WINDOW + kernel.h * _copied(kernel.w * depth) + _BORDER * op.border_share
    together = max(2, min(_WINDOW_BYTES // elements, windows + 1) // 2 * 2)
    whole, left = divmod(windows, together)
    products = whole * _pixels(together, channels, elements) + _pixels(left, channels, elements)
    return _CALL + windows * packed + products


def _pixels(count: int, channels: int, elements: int) -> float:
    """Of all channels of pixels that are multiplied at once, in pairs."""
    calls = (count > 1) + count % 2
    return calls * _PRODUCTS + -(-count // 2) * _pair(channels, elements)


def _pair(channels: int, elements: int) -> float:
    """Of all channels of two pixels."""
    steps = -(-elements // _LANES)
    left = -(-(channels % _LANES) // 4)
    rounds = -(-(steps - 1) // 4)
    return _PAIR + _FOUR_LEFT * left + -(-channels // 4) * (_FOUR_CHANNELS + _STEP * steps + _ROUND * rounds)


def _copied(count: int) -> float:
    """Of copying a row of bytes, besides those of the pixel."""
    return 0.0 if count <= _LANES else _COPIED * -(-count // _LANES)


def depthwise_instructions(op: DepthwiseConv2D, function: str, scratch_bytes: int, rows: int | None = None) -> float:
    """Of computing rows of the result, with the most lines and channels at once that the scratch has room for."""
    if "_lanes" in function:
        return _lanes(op, rows)
    plan = best_plan(op, rows)
    if plan is not None:
        return _CALL + op.output.shape[0] * _planes(op, plan, scratch_bytes)
    whole = best_plan(op)  # a way that needs more rows
    share = 1.0 if rows is None else rows / op.output.shape[1]
    return _CALL + (op.output.shape[0] * _planes(op, whole, scratch_bytes) * share if whole else 0.0)


def _planes(op: DepthwiseConv2D, plan: Plan, scratch_bytes: int) -> float:
    """Of one batch."""
    sizes = at_once(op, plan)
    most_lines, most_channels = next((s for s in sizes if plan.scratch_bytes(*s) <= scratch_bytes), sizes[-1])
    channels, step = op.output.shape[3], plan.lines_in_step
    whole, left = plan.lines.outputs // step * step, plan.lines.outputs % step
    blocks = [min(most_lines, whole - first) for first in range(0, whole, most_lines)] + [step] * (left > 0)
    steps = sum(lines // step for lines in blocks)
    packed, partly = steps, 0
    if plan.lines_in_word == 1:
        packed = sum((lines - 1) * plan.lines.stride + plan.lines.taps for lines in blocks)
        behind = 4 * plan.words - plan.positions.before > plan.positions.inputs
        partly = -(-plan.positions.before // 4) + behind
    calls = -(-channels // most_channels)
    groups = -(-channels // _GROUP)
    packing = calls * (_PACKED_LINE + partly * _PACKED_BORDER) + groups * (_PACKED_GROUP + _PACKED_WORD * plan.words)
    outputs = _CHANNEL_LINE + _eight_outputs(plan) * -(-plan.positions.outputs * step // _GROUP)
    return len(blocks) * (calls * _PLANES + channels * _CHANNEL) + packed * packing + channels * steps * outputs


def _eight_outputs(plan: Plan) -> float:
    if plan.variant:
        return _MOVED
    return _DOTS if plan.vectors == 1 else _VECTOR * plan.vectors


def _lanes(op: DepthwiseConv2D, rows: int | None) -> float:
    """Of rows of a depthwise convolution, 16 channels at once."""
    batches, _, _, channels = op.output.shape
    lines, positions = axes_of(op, rows)
    dilation = op.dilation.h, op.dilation.w
    if lines.outputs > positions.outputs:
        lines, positions, dilation = positions, lines, dilation[::-1]
    inside = [_starts_inside(axis, step) for axis, step in zip((lines, positions), dilation, strict=True)]
    runs = positions.outputs - max(0, inside[1] - 1)
    all_runs = inside[0] * runs + (lines.outputs - inside[0]) * positions.outputs
    taps = lines.taps * positions.taps
    run = _LANES_RUN + _LANES_RUN_LINE * lines.taps + _LANES_RUN_TAP * taps
    group = _LANES_GROUP + taps // 2 * _LANES_PAIR + taps % 2 * _LANES_SINGLE
    pixels = lines.outputs * positions.outputs * (_LANES_PIXEL + -(-channels // _LANES) * group)
    return _LANES_CALL + batches * (lines.outputs * _LANES_LINE + all_runs * run + pixels)


def _starts_inside(axis: PlaneAxis, dilation: int) -> int:
    return starts_inside(axis.outputs, axis.stride, axis.before, axis.inputs - 1 - (axis.taps - 1) * dilation)


def _fully_connected(op: FullyConnected) -> float:
    units, features = op.weights.shape
    if op.rows > 1:
        return _pixels(op.rows, units, features)
    return -(-units // 8) * (_EIGHT_UNITS + _UNIT_STEP * -(-features // _LANES))
