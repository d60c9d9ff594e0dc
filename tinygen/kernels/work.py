"""What calls of kernels do, as far as their instructions depend on it: terms, each so many times.

A kernel declares its work beside its lowering (`Kernel.work`); `prices` has what one of each term takes, measured. The
terms that most kernels share:

    call         the call itself
    weight       elements of the filters, read once more by each call, or by each row of it
    pixel        positions of the result, or of a plane
    line         of the input that is copied to scratch
    start        of a series of outputs or multiplications
    tap          pieces of the input that are gathered for multiplication, or multiplied at one go
    operand      elements of these, or elements read where nothing is multiplied
    output       elements of the result
    mac          multiplications
    shared       operands that are gathered once for several pixels
    border       pieces of the input that lie partly in the padding
    rest         multiplications that do not fill a vector of 16
    single       multiplications, or channels of a depthwise convolution, that do not fill one of 4
    tail_output  outputs that are left over where kernels take several at once
    tail_mac     their multiplications
    clamped      elements of the result that are limited to a range once they are all there

Families with loops of their own have further terms, which their `work` explains.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tinygen.ir.graph import Op
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.integer_conv2d import IntegerDepthwiseConv2D
from tinygen.ops.windowed import Sliding

_BY_CHANNEL = (DepthwiseConv2D, IntegerDepthwiseConv2D)


@dataclass(frozen=True)
class Work:
    """What one call does; `function` names the prices that hold: the C function, or one of its ways."""

    function: str
    times: Mapping[str, float]
    beside: tuple["Work", ...] = ()  # of other functions, in the same call

    @property
    def multiplies(self) -> bool:
        """Whether it is a product of some kind."""
        return "mac" in self.times

    def part(self, share: float) -> "Work":
        """A share of all of it."""
        times = {term: amount * share for term, amount in self.times.items()}
        return Work(self.function, times, tuple(each.part(share) for each in self.beside))


def work(function: str, **times: float) -> Work:
    """Terms of the prices of a function, each so many times."""
    return Work(function, times)


@dataclass(frozen=True)
class Loops:
    """How a kernel goes through the multiplications of a layer, where that is one of the usual ways."""

    gathers: bool = False  # inputs are copied to scratch first, padding included; else padding is skipped
    at_once: int = 1  # pixels, or outputs of a single one
    by_rows: bool = False  # of the result: all filters are read for each
    fills_vectors: bool = False  # of 16 elements; else what is left of a product is done otherwise


PLAIN_LOOPS = Loops()  # one output after the other


@dataclass(frozen=True)
class Extent:
    """What a call computes of a result."""

    outputs: float
    pixels: float
    width: int  # of its rows
    share: float  # of the whole result

    @classmethod
    def of(cls, op: Op, rows: int | None = None, columns: int | None = None) -> "Extent":
        """So many rows, or some columns of them; all where no number is given."""
        shape = op.results[0].shape
        share = 1.0 if rows is None else rows / shape[1]
        share *= 1.0 if columns is None else columns / shape[2]
        outputs = sum(tensor.type.elements for tensor in op.results) * share
        width = columns or (shape[2] if len(shape) == 4 else 1)
        return cls(outputs, outputs / (shape[-1] if shape else 1), width, share)


def elements(function: str, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
    """Of what reads operands and writes results, element by element."""
    extent = Extent.of(op, rows, columns)
    operands = sum(tensor.type.elements for tensor in op.variable_operands) * extent.share
    return work(function, call=1, pixel=extent.pixels, operand=operands, output=extent.outputs)


def products(function: str, op: Op, loops: Loops, rows: int | None = None, columns: int | None = None) -> Work:
    """Of a layer: products of inputs with constant filters. Depthwise filters with a multiplier have their own way."""
    extent = Extent.of(op, rows, columns)
    outputs, pixels = extent.outputs, extent.pixels
    result = op.results[0]
    channels = result.shape[-1] if result.shape else 1
    depth = op.macs // result.type.elements  # multiplications per output
    left_over = _left_over(result.shape, loops, pixels, extent.width)
    inside = 1.0 if loops.gathers else _share_inside(op)
    return work(
        f"{function} multiplier" if isinstance(op, DepthwiseConv2D) and op.multiplier > 1 else function,
        call=1,
        weight=(pixels / extent.width if loops.by_rows else 1) * channels * depth,
        pixel=pixels,
        tap=_pieces(op, loops, pixels),
        operand=pixels * depth,
        output=outputs,
        mac=outputs * depth * inside,
        rest=outputs * ((-depth if loops.fills_vectors else depth) % 16),
        single=pixels * (channels % 4) if isinstance(op, _BY_CHANNEL) else outputs * (depth % 4),
        tail_output=left_over,
        tail_mac=left_over * depth,
    )


def _left_over(shape: tuple[int, ...], loops: Loops, pixels: float, width: int) -> float:
    """Outputs that are left over where a kernel takes several pixels at once, or several outputs of a single pixel."""
    if len(shape) != 4:
        return float((shape[-1] if shape else 1) % loops.at_once)
    return shape[3] * (pixels / width * (width % loops.at_once) if loops.by_rows else pixels % loops.at_once)


def _pieces(op: Op, loops: Loops, pixels: float) -> float:
    """Pixels that are gathered; where nothing is, rows of the filters that are multiplied with what lies under them."""
    if not isinstance(op, Sliding):
        return 0.0
    kernel = op.window.kernel
    if loops.gathers:
        return pixels * kernel.h * kernel.w
    return pixels * op.channels * kernel.h * _shares_inside(op).h


def _share_inside(op: Op) -> float:
    """The part of a convolution's multiplications that is done: of elements of the input, where padding is skipped."""
    if not isinstance(op, Sliding):
        return 1.0
    shares = _shares_inside(op)
    return shares.h * shares.w


@dataclass(frozen=True)
class _Shares:
    """Parts of a window's rows and columns, over all positions, that lie inside the input."""

    h: float
    w: float


def _shares_inside(op: Sliding) -> _Shares:
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
