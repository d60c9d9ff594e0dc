"""What kernels cost, in instructions: a linear model per function, fitted to measurements under QEMU.

`instruction_costs.json` beside this file holds the models; `python -m benchmarks.calibrate_costs` makes it. A function
that was not measured costs what the average of similar work does: plans are only ranked by it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.planner.stream import AddRows, Compute, FetchRows, FinishSum, RowStep, ShiftRows
from tinygen.targets.isa import Isa

COSTS_FILE = Path(__file__).with_name("instruction_costs.json")
MEMMOVE = "memmove"
FETCH = "fetch"

_PIXELS_AT_ONCE = {Isa.MVE: 4}
_GATHERS_PADDING = ("arm_depthwise_conv_s8_opt", "arm_convolve_s8")  # of CMSIS-NN: multiply it, others skip it
_ROW_BY_ROW = ("arm_convolve_1x1_s8",)


@dataclass(frozen=True)
class Work:
    """What one call does, as far as its instructions depend on it; also the instructions that each unit takes."""

    call: float = 0.0
    weight: float = 0.0  # elements of the filters, read once more by each call, or by each row of it
    pixel: float = 0.0  # positions of the result
    tap: float = 0.0  # pieces of the input that are gathered for multiplication, or multiplied at one go
    operand: float = 0.0  # elements of these, or elements read where nothing is multiplied
    output: float = 0.0  # elements of the result
    mac: float = 0.0
    rest: float = 0.0  # multiplications that do not fill a vector of 16
    single: float = 0.0  # multiplications, or channels of a depthwise convolution, that do not fill one of 4
    tail_output: float = 0.0  # outputs of pixels that are left over where kernels take several at once
    tail_mac: float = 0.0

    def times(self, costs: "Work") -> float:
        """Instructions of this work."""
        return sum(amount * cost for amount, cost in zip(astuple(self), astuple(costs), strict=True))


TERMS = tuple(field.name for field in fields(Work))


@dataclass(frozen=True)
class Costs:
    """Instructions per unit of work of each function, for one library and instruction set."""

    toolbox: Toolbox
    functions: Mapping[str, Work]

    def call(self, op: Op, kernel: Kernel, rows: int | None = None) -> float:
        """Of computing rows of the result of `op`; without a number all of them."""
        costs = self.functions.get(shape_class(op, kernel)) or self._similar(op)
        return work(op, kernel.function, self.toolbox, rows).times(costs)

    def steps(self, steps: Iterable[RowStep], kernels: Mapping[Op, Kernel]) -> float:
        """Of a chain, or of one call."""
        calls: dict[tuple[Op, int], float] = {}  # there are many alike
        total = 0.0
        for step in steps:
            match step:
                case Compute():
                    key = (step.op, step.rows.count)
                    if key not in calls:
                        calls[key] = self.call(step.op, kernels[step.op], _rows_of_part(step))
                    total += calls[key]
                case AddRows():
                    total += self._sum_rows(step.reads[0].tensor, step.rows.count)
                case FinishSum():
                    total += self._finish_sums(step.op.results[0])
                case ShiftRows():
                    total += self._shift(step.reads[0].bytes)
                case FetchRows():
                    total += self._fetch()
        return total

    def _sum_rows(self, input: Tensor, rows: int) -> float:
        """Of adding rows of an input to the sums of an average."""
        elements = input.type.elements * rows // input.shape[1]
        return Work(call=1, pixel=elements // input.shape[-1], operand=elements).times(self.functions["tg_sum_rows_s8"])

    def _finish_sums(self, output: Tensor) -> float:
        """Of turning sums into averages."""
        elements = output.type.elements
        done = Work(call=1, pixel=1, operand=elements, output=elements)
        return done.times(self.functions["tg_divide_sums_s8"])

    def _shift(self, bytes: int) -> float:
        """Of moving rows to the start of a ring."""
        return Work(call=1, operand=bytes).times(self.functions[MEMMOVE])

    def _fetch(self) -> float:
        """Of asking the application for rows, without what it does to get them."""
        return Work(call=1).times(self.functions[FETCH])

    def _similar(self, op: Op) -> Work:
        """Of functions that were not measured: those of a simple one that multiplies, or does not."""
        return self.functions["arm_depthwise_conv_s8" if op.macs else "arm_elementwise_mul_s8"]


def _rows_of_part(step: Compute) -> int | None:
    """None for a call that computes all of its result."""
    result = step.op.results[0]
    is_whole = step.writes[0].bytes == result.type.bytes or len(result.shape) != 4
    return None if is_whole else step.rows.count


def shape_class(op: Op, kernel: Kernel) -> str:
    """The function, or where it has another way for depthwise convolutions with a multiplier, that way."""
    multiplies = isinstance(op, DepthwiseConv2D) and op.multiplier > 1
    return f"{kernel.function} multiplier" if multiplies else kernel.function


def work(op: Op, function: str, toolbox: Toolbox, rows: int | None = None) -> Work:
    """What a call of `function` does that computes rows of the result of `op`, without a number all of them."""
    result = op.results[0]
    share = 1.0 if rows is None else rows / result.shape[1]
    outputs = sum(tensor.type.elements for tensor in op.results) * share
    channels = result.shape[-1] if result.shape else 1
    pixels = outputs / channels
    if not op.macs:
        operands = sum(tensor.type.elements for tensor in op.variable_operands) * share
        return Work(call=1, pixel=pixels, operand=operands, output=outputs)
    depth = op.macs // result.type.elements  # multiplications per output
    tail = _left_over_pixels(function, toolbox, result, pixels)
    passes = pixels / result.shape[2] if function in _ROW_BY_ROW else 1
    lanes = -depth if toolbox.isa is Isa.MVE else depth  # vectors are padded, or the rest is done otherwise
    return Work(
        call=1,
        weight=passes * channels * depth,
        pixel=pixels,
        tap=_pieces(op, toolbox, pixels),
        operand=pixels * depth,
        output=outputs,
        mac=outputs * depth * _share_inside(op, function, toolbox),
        rest=outputs * (lanes % 16),
        single=pixels * (channels % 4) if isinstance(op, DepthwiseConv2D) else outputs * (depth % 4),
        tail_output=tail * channels,
        tail_mac=tail * channels * depth,
    )


def _pieces(op: Op, toolbox: Toolbox, pixels: float) -> float:
    """CMSIS-NN gathers pixels; the portable convolution multiplies rows of a filter with what lies under them."""
    if not isinstance(op, (Conv2D, DepthwiseConv2D)):
        return 0.0
    kernel = op.window.kernel
    if toolbox.library is Library.PORTABLE:
        return pixels * kernel.h * op.output.shape[3]
    return pixels * kernel.h * kernel.w


def _left_over_pixels(function: str, toolbox: Toolbox, result: Tensor, pixels: float) -> float:
    """Pixels of a call that are computed one by one."""
    if toolbox.library is Library.PORTABLE or len(result.shape) != 4:
        return 0.0
    at_once = _PIXELS_AT_ONCE.get(toolbox.isa, 2)
    if function in _ROW_BY_ROW:
        width = result.shape[2]
        return pixels / width * (width % at_once)
    return pixels % at_once


def _share_inside(op: Op, function: str, toolbox: Toolbox) -> float:
    """The part of a convolution's multiplications that is done: of elements of the input, where padding is skipped."""
    gathers = toolbox.library is Library.CMSIS_NN and function in _GATHERS_PADDING
    if gathers or not isinstance(op, (Conv2D, DepthwiseConv2D)):
        return 1.0
    _, height, width, _ = op.input.shape
    window, size = op.window, op.output.shape[1:3]
    shares = (
        _inside(height, size[0], window.kernel.h, window.stride.h, window.dilation.h, window.padding.top),
        _inside(width, size[1], window.kernel.w, window.stride.w, window.dilation.w, window.padding.left),
    )
    return shares[0] * shares[1]


@cache
def _inside(extent: int, positions: int, kernel: int, stride: int, dilation: int, before: int) -> float:
    """The part of a window's taps, over all positions along one axis, that lie inside an input of `extent`."""
    taps = (position * stride - before + tap * dilation for position in range(positions) for tap in range(kernel))
    return sum(0 <= tap < extent for tap in taps) / (positions * kernel)


def costs(toolbox: Toolbox) -> Costs:
    """The measured costs that fit a toolbox best."""
    return Costs(toolbox, _tables()[table_name(toolbox.library, toolbox.isa)])


def table_name(library: Library, isa: Isa) -> str:
    """Name of a table in the file; the host is ranked as a core without extensions."""
    return f"{library.value} {'scalar' if isa is Isa.HOST else isa.value}"


@cache
def _tables() -> dict[str, dict[str, Work]]:
    found = json.loads(COSTS_FILE.read_text(encoding="utf-8"))
    return {
        name: {function: Work(**terms) for function, terms in functions.items()}
        for name, functions in found["instructions"].items()
    }


def whole_instructions(op: Op) -> float:
    return op.macs * 2.2


def extra_instructions(ops, steps) -> float:  # type: ignore
    return max(0, len(steps) - len(ops)) * 160.0
