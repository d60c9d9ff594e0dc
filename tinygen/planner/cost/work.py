"""What the calls of kernels do, as far as their instructions depend on it."""

from dataclasses import dataclass, fields
from functools import cache

from tinygen.ir.graph import Op
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.native.costs import is_winograd, tile_work
from tinygen.kernels.native.depthwise import lines_and_positions, pairs_of_taps
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.partial_products import AddChannelProducts, AddProducts, ScaleProducts
from tinygen.targets.isa import Isa

_AT_ONCE = {Isa.MVE: 4}  # else 2
_PIXELS_AT_ONCE, _UNITS_AT_ONCE = 4, 8  # of native kernels
_BESIDE_BLOCKS = (0, 1, 2, 1)  # pixels of native convolutions that are computed one by one, or to fill a block of 4
_NATIVE = "tg_native_"
_NATIVE_CONVOLVE = "tg_native_convolve_"
_NATIVE_PRODUCT = "tg_native_fully_connected_"
_NATIVE_DEPTHWISE = "tg_native_depthwise_"
_ROW_BY_ROW = ("arm_convolve_1x1_s8",)


@dataclass(frozen=True)
class Work:
    """What one call does, as far as its instructions depend on it; also the instructions that each unit takes."""

    call: float = 0.0
    weight: float = 0.0  # elements of the filters, read once more by each call, or by each row of it
    pixel: float = 0.0  # positions of the result, or of a plane
    line: float = 0.0  # of the input that is copied to scratch
    start: float = 0.0  # of a series of outputs or multiplications
    tap: float = 0.0  # pieces of the input that are gathered for multiplication, or multiplied at one go
    operand: float = 0.0  # elements of these, or elements read where nothing is multiplied
    output: float = 0.0  # elements of the result
    mac: float = 0.0
    shared: float = 0.0  # operands that are gathered once for several pixels
    border: float = 0.0  # pieces of the input that lie partly in the padding
    rest: float = 0.0  # multiplications that do not fill a vector of 16
    single: float = 0.0  # multiplications, or channels of a depthwise convolution, that do not fill one of 4
    tail_output: float = 0.0  # outputs that are left over where kernels take several at once
    tail_mac: float = 0.0
    clamped: float = 0.0  # elements of the result that are limited to a range once they are all there

    def times(self, costs: "Work") -> float:
        """Instructions of this work."""
        amounts, prices = vars(self), vars(costs)
        total: float = sum(amounts[term] * prices[term] for term in TERMS)
        return total


TERMS = tuple(field.name for field in fields(Work))


def work(op: Op, function: str, toolbox: Toolbox, rows: int | None = None, columns: int | None = None) -> Work:
    """What a call of `function` does that computes rows, or some columns of them; all where no number is given."""
    result = op.results[0]
    share = 1.0 if rows is None else rows / result.shape[1]
    share *= 1.0 if columns is None else columns / result.shape[2]
    outputs = sum(tensor.type.elements for tensor in op.results) * share
    channels = result.shape[-1] if result.shape else 1
    pixels = outputs / channels
    if isinstance(op, AddProducts):
        return Work(call=1, output=outputs, mac=op.macs)
    if isinstance(op, AddChannelProducts):
        return product_work(outputs, op.weights.shape[1])
    if isinstance(op, ScaleProducts):
        return Work(call=1, pixel=outputs / len(op.multipliers), output=outputs)
    clamped = outputs if function.startswith(_NATIVE) and _is_limited(op) else 0.0
    if not op.macs:
        operands = sum(tensor.type.elements for tensor in op.variable_operands) * share
        return Work(call=1, pixel=pixels, operand=operands, output=outputs, clamped=clamped)
    depth = op.macs // result.type.elements  # multiplications per output
    if function.startswith(_NATIVE_DEPTHWISE) and isinstance(op, DepthwiseConv2D):
        return _plane_work(op, clamped, toolbox.isa.runs_dsp_kernels, rows, columns)
    if function.startswith(_NATIVE_CONVOLVE) and isinstance(op, Conv2D):
        return _block_work(op, clamped, rows, columns)
    if is_winograd(function) and isinstance(op, Conv2D):
        return _tiled_work(op, function, clamped, rows)
    if function.startswith(_NATIVE_PRODUCT):
        return _vector_work(pixels, channels, depth, clamped)
    width = columns or (result.shape[2] if len(result.shape) == 4 else 1)
    left_over = _left_over_outputs(op, function, toolbox, pixels, width)
    passes = pixels / width if function in _ROW_BY_ROW else 1
    lanes = -depth if toolbox.isa is Isa.MVE else depth  # vectors are padded, or the rest is done otherwise
    return Work(
        call=1,
        weight=passes * channels * depth,
        pixel=pixels,
        tap=_pieces(op, function, toolbox, pixels),
        operand=pixels * depth,
        output=outputs,
        mac=outputs * depth * _share_inside(op, function, toolbox),
        rest=outputs * (lanes % 16),
        single=pixels * (channels % 4) if isinstance(op, DepthwiseConv2D) else outputs * (depth % 4),
        tail_output=left_over,
        tail_mac=left_over * depth,
        clamped=clamped,
    )


def _is_limited(op: Op) -> bool:
    """Whether an activation leaves out values of int8."""
    clamp = getattr(op, "clamp", None)
    return isinstance(clamp, Clamp) and clamp != Clamp.none(op.results[0].type)


def _block_work(op: Conv2D, clamped: float, rows: int | None, columns: int | None) -> Work:
    """Of native convolutions: windows are packed as whole words, on their own or side by side, and multiplied in blocks
    of pixels."""
    batches, all_rows, all_columns, channels = op.output.shape
    lines = batches * (all_rows if rows is None else rows)
    pixels = lines * (all_columns if columns is None else columns)
    kernel, depth = op.window.kernel, op.input.shape[3]
    elements = -(-kernel.h * kernel.w * depth // 4) * 4
    overlap = kernel.w == 3 and op.stride.w == 1 and depth % 8 == 0
    outputs, left_over = pixels * channels, channels * _BESIDE_BLOCKS[pixels % _PIXELS_AT_ONCE]
    return Work(
        call=1,
        weight=channels * elements,
        pixel=pixels,
        line=lines * kernel.h,
        tap=pixels * kernel.h,
        operand=0 if overlap else pixels * elements,
        output=outputs,
        mac=outputs * elements,
        shared=pixels * elements if overlap else 0,
        border=pixels * kernel.h * op.border_share,
        tail_output=left_over,
        tail_mac=left_over * elements,
        clamped=clamped,
    )


def _tiled_work(op: Conv2D, function: str, clamped: float, rows: int | None) -> Work:
    """Of Winograd's method: the input under tiles is transformed, multiplied, and the products transformed back."""
    done = tile_work(op, function, op.output.shape[1] if rows is None else rows)
    return Work(
        call=1,
        pixel=done.tiles,
        tap=done.tiles * done.quads,
        output=done.tiles * op.output.shape[3],
        mac=done.products * done.quads,
        start=done.products,
        clamped=clamped,
    )


def _vector_work(vectors: float, units: int, features: int, clamped: float) -> Work:
    """Of native products of vectors with the units of a layer, so many of them at once."""
    elements = -(-features // 4) * 4
    groups = vectors * -(-units // _UNITS_AT_ONCE)
    return Work(
        call=1,
        pixel=vectors,
        start=groups,
        operand=vectors * elements,
        output=vectors * units,
        mac=groups * elements * _UNITS_AT_ONCE,
        clamped=clamped,
    )


def _plane_work(op: DepthwiseConv2D, clamped: float, has_assembly: bool, rows: int | None, columns: int | None) -> Work:
    """Of native depthwise convolutions, channel by channel: a plane is filled, then the lines of the result are
    computed in blocks; what is left over one by one with 3x3 filters, with others as a block in assembly."""
    lines, positions = lines_and_positions(op, rows, columns)
    planes = op.output.shape[0] * op.output.shape[3]
    taps = lines.taps * positions.taps
    left = positions.outputs % _PIXELS_AT_ONCE
    is_3x3 = lines.taps == positions.taps == 3
    filled_up = -positions.outputs % _PIXELS_AT_ONCE if has_assembly else 0
    in_blocks = positions.outputs - left if is_3x3 else positions.outputs + filled_up
    computed = planes * lines.outputs * in_blocks
    return Work(
        call=1,
        weight=planes * taps,
        pixel=lines.reach * positions.reach,
        line=planes * lines.reached,
        start=planes * lines.outputs,
        tap=computed * lines.taps,
        operand=planes * lines.reached * positions.reached,
        output=computed,
        mac=computed * lines.taps * 2 * pairs_of_taps(positions),
        tail_output=planes * lines.outputs * left if is_3x3 else 0,
        clamped=clamped,
    )


def product_work(outputs: float, features: int) -> Work:
    """Of adding products of vectors of so many elements to sums."""
    return Work(
        call=1,
        output=outputs,
        mac=outputs * features,
        rest=outputs * (-features % 16),  # vectors are filled with zeros
        single=outputs * (features % 4),
    )


def _pieces(op: Op, function: str, toolbox: Toolbox, pixels: float) -> float:
    """Pixels that are gathered; where nothing is, rows of the filters that are multiplied with what lies under them."""
    if not isinstance(op, (Conv2D, DepthwiseConv2D)):
        return 0.0
    kernel = op.window.kernel
    if _gathers(function, toolbox):
        return pixels * kernel.h * kernel.w
    return pixels * op.output.shape[3] * kernel.h * _shares_inside(op).h


def _left_over_outputs(op: Op, function: str, toolbox: Toolbox, pixels: float, width: int) -> float:
    """Outputs that are left over where a kernel takes several pixels at once, or several outputs of a single pixel."""
    shape = op.results[0].shape
    if toolbox.library is Library.PORTABLE:
        return 0.0
    at_once = _AT_ONCE.get(toolbox.isa, 2)
    if len(shape) != 4:
        return float(shape[-1] % at_once)
    channels = shape[3]
    return channels * (pixels / width * (width % at_once) if function in _ROW_BY_ROW else pixels % at_once)


def _share_inside(op: Op, function: str, toolbox: Toolbox) -> float:
    """The part of a convolution's multiplications that is done: of elements of the input, where padding is skipped."""
    if _gathers(function, toolbox) or not isinstance(op, (Conv2D, DepthwiseConv2D)):
        return 1.0
    shares = _shares_inside(op)
    return shares.h * shares.w


def _gathers(function: str, toolbox: Toolbox) -> bool:
    """Whether inputs are copied to scratch first, padding included."""
    if function == "arm_depthwise_conv_s8_opt":
        return toolbox.has_dsp_kernels or toolbox.has_mve_kernels  # the generic function under another name elsewhere
    return toolbox.library is Library.CMSIS_NN and function == "arm_convolve_s8"


@dataclass(frozen=True)
class _Shares:
    """Parts of a window's rows and columns, over all positions, that lie inside the input."""

    h: float
    w: float


def _shares_inside(op: Conv2D | DepthwiseConv2D) -> _Shares:
    _, height, width, _ = op.input.shape
    window, size = op.window, op.output.shape[1:3]
    return _Shares(
        _inside(height, size[0], window.kernel.h, window.stride.h, window.dilation.h, window.padding.top),
        _inside(width, size[1], window.kernel.w, window.stride.w, window.dilation.w, window.padding.left),
    )


@cache
def _inside(extent: int, positions: int, kernel: int, stride: int, dilation: int, before: int) -> float:
    """The part of a window's taps, over all positions along one axis, that lie inside an input of `extent`."""
    taps = (position * stride - before + tap * dilation for position in range(positions) for tap in range(kernel))
    return sum(0 <= tap < extent for tap in taps) / (positions * kernel)
