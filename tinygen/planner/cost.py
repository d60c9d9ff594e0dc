"""What kernels cost, in instructions: a linear model per function, fitted to measurements under QEMU.

`instruction_costs.json` beside this file holds the models; `python -m benchmarks.calibrate_costs` makes it. A function
that was not measured costs what the average of similar work does: plans are only ranked by it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.native.costs import NATIVE_COSTS, native_instructions
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.partial_products import AddChannelProducts, AddProducts, ScaleProducts
from tinygen.planner.schedule import Call, Crop, Fetch, FlatStep, Schedule, Shift, Store
from tinygen.planner.slices import AddSlice, FinishRows
from tinygen.planner.stream import AddRows, Compute, CopyRows, FetchRows, FinishSum, RowStep, ShiftRows, StoreRows
from tinygen.targets.isa import Isa

COSTS_FILE = Path(__file__).with_name("instruction_costs.json")
MEMMOVE = "memmove"
MEMMOVE_UP = "memmove up"  # tg_move_up: to a higher address, over itself
FETCH = "fetch"

_AT_ONCE = {Isa.MVE: 4}  # else 2
_PIXELS_AT_ONCE, _UNITS_AT_ONCE = 4, 8  # of native kernels
_BESIDE_BLOCKS = (0, 1, 2, 1)  # pixels of native convolutions that are computed one by one, or to fill a block of 4
_NATIVE = "tg_native_"
_NATIVE_CONVOLVE = "tg_native_convolve_"
_NATIVE_TABLE, _ARMV6_M = "native", "armv6-m"
_ADD_PRODUCTS = "tg_add_products_s8"
_ADD_CHANNELS, _SCALE_PRODUCTS = "tg_add_channel_products_s8", "tg_scale_products_s8"
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
    tail_output: float = 0.0  # outputs that are left over where kernels take several at once
    tail_mac: float = 0.0

    def times(self, costs: "Work") -> float:
        """Instructions of this work."""
        amounts, prices = vars(self), vars(costs)
        total: float = sum(amounts[term] * prices[term] for term in TERMS)
        return total


TERMS = tuple(field.name for field in fields(Work))


@dataclass(frozen=True)
class Costs:
    """Instructions per unit of work of each function, for one library and instruction set."""

    toolbox: Toolbox
    functions: Mapping[str, Work]
    _known: dict[tuple[Op, str, int | None, int | None], float] = field(
        default_factory=dict
    )  # calls: there are many alike
    _slices: dict[tuple[Op, str, int], float] = field(default_factory=dict)

    def slice(self, op: Op, kernel: Kernel, channels: int) -> float:
        """Of computing so many channels of the result of `op`."""
        key = op, kernel.function, channels
        if key not in self._slices:
            share = channels / op.results[0].shape[-1]
            costs = self.functions.get(shape_class(op, kernel)) or self._similar(op)
            whole = self.call(op, kernel)
            self._slices[key] = min(costs.call, whole) + share * max(whole - costs.call, 0.0)
        return self._slices[key]

    def call(self, op: Op, kernel: Kernel, rows: int | None = None, columns: int | None = None) -> float:
        """Of computing rows of the result of `op`, or some columns of them; without a number all of them."""
        key = op, kernel.function, rows, columns
        if key not in self._known:
            self._known[key] = self._instructions(op, kernel, rows, columns)
        return self._known[key]

    def _instructions(self, op: Op, kernel: Kernel, rows: int | None, columns: int | None) -> float:
        native = native_instructions(op, kernel.function, rows)
        if native is not None:
            return native if columns is None else native * columns / op.results[0].shape[2]
        costs = self.functions.get(shape_class(op, kernel)) or self._similar(op)
        return work(op, kernel.function, self.toolbox, rows, columns).times(costs)

    def is_measured(self, op: Op, kernel: Kernel) -> bool:
        """Whether the cost of the kernel is its own, not that of a similar one."""
        measured = _measured(self.toolbox.library, _extension(self.toolbox))
        return shape_class(op, kernel) in measured or native_instructions(op, kernel.function) is not None

    def steps(self, steps: Iterable[RowStep], kernels: Mapping[Op, Kernel]) -> float:
        """Of a chain, or of one call."""
        return sum(self.row_step(step, kernels) for step in steps)

    def row_step(self, step: RowStep, kernels: Mapping[Op, Kernel]) -> float:
        """Of one step of a chain."""
        match step:
            case Compute() if step.channels:
                return self.slice(step.op, kernels[step.op], step.channels.count)
            case AddSlice():
                return self._add_slice(step.op, step.channels.count)
            case FinishRows():
                return self._scale(step.op, step.writes[0].bytes)
            case Compute():
                columns = step.columns.count if step.columns else None
                return self.call(step.op, kernels[step.op], _rows_of_part(step), columns)
            case AddRows():
                return self._add(step.op, step.rows.count / step.reads[0].tensor.shape[1])
            case FinishSum():
                return self._finish(step.op.results[0])
            case ShiftRows():
                return self._shift(step.reads[0].offset, step.writes[0].offset, step.reads[0].bytes)
            case CopyRows():
                return self._copy(step.reads[0].bytes)
            case FetchRows() | StoreRows():
                return self._fetch()
        return 0.0

    def step(self, step: FlatStep) -> float:
        """Of one step of a schedule."""
        match step:
            case Call():
                return self.call(step.op, step.kernel)
            case Shift():
                return self._shift(step.source, step.target, step.bytes)
            case Crop():
                return self._copy(step.target.tensor.type.bytes)
            case Fetch() | Store():
                return self._fetch()

    def sum(self, op: Op, calls: int) -> float:
        """Of a sum over all rows of its input, in that many calls."""
        return self._add(op, 1.0, calls) + self._finish(op.results[0])

    def _add(self, op: Op, share: float, calls: int = 1) -> float:
        """Of adding a share of an input to the sums of an average or of a fully connected layer."""
        (input,) = op.variable_operands
        if op.macs:
            products = Work(call=calls, output=calls * op.results[0].type.elements, mac=op.macs * share)
            return products.times(self.functions[_ADD_PRODUCTS])
        elements = input.type.elements * share
        added = Work(call=calls, pixel=elements / input.shape[-1], operand=elements)
        return added.times(self.functions["tg_sum_rows_s8"])

    def product(self, op: Op, channels: int, slices: int) -> float:
        """Of adding all channels of the input to sums, so many at a time, and of turning these into results."""
        return slices * self._add_slice(op, channels) + self._scale(op, op.results[0].type.elements)

    def _add_slice(self, op: Op, channels: int) -> float:
        """Of adding some channels of the input to the sums of a product."""
        (input,) = op.variable_operands
        outputs = op.results[0].type.elements
        features = op.macs // outputs * channels // input.shape[-1]
        return _product_work(outputs, features).times(self.functions[_ADD_CHANNELS])

    def _scale(self, op: Op, outputs: int) -> float:
        """Of turning sums of products into results."""
        return Work(call=1, pixel=outputs / op.results[0].shape[-1], output=outputs).times(
            self.functions[_SCALE_PRODUCTS]
        )

    def _finish(self, output: Tensor) -> float:
        """Of turning sums into results."""
        elements = output.type.elements
        done = Work(call=1, pixel=1, operand=elements, output=elements)
        return done.times(self.functions["tg_divide_sums_s8"])

    def _shift(self, source: int, target: int, bytes: int) -> float:
        """Of moving rows to the start of a ring."""
        costs = self.functions[MEMMOVE_UP if source < target < source + bytes else MEMMOVE]
        return costs.call + bytes * costs.operand

    def _copy(self, bytes: int) -> float:
        """Of copying columns of rows."""
        return self.functions[MEMMOVE].call + bytes * self.functions[MEMMOVE].operand

    def _fetch(self) -> float:
        """Of asking the application for rows, or to take rows, without what it does with them."""
        return self.functions[FETCH].call

    def _similar(self, op: Op) -> Work:
        """Of functions that were not measured: those of a simple one that multiplies, or does not."""
        return self.functions["arm_convolve_s8" if op.macs else "arm_elementwise_mul_s8"]


def _rows_of_part(step: Compute) -> int | None:
    """None for a call that computes all of its result."""
    result = step.op.results[0]
    is_whole = step.writes[0].bytes == result.type.bytes or len(result.shape) != 4
    return None if is_whole else step.rows.count


def shape_class(op: Op, kernel: Kernel) -> str:
    """The function, or where it has another way for depthwise convolutions with a multiplier, that way."""
    multiplies = isinstance(op, DepthwiseConv2D) and op.multiplier > 1
    return f"{kernel.function} multiplier" if multiplies else kernel.function


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
        return _product_work(outputs, op.weights.shape[1])
    if isinstance(op, ScaleProducts):
        return Work(call=1, pixel=outputs / len(op.multipliers), output=outputs)
    if not op.macs:
        operands = sum(tensor.type.elements for tensor in op.variable_operands) * share
        return Work(call=1, pixel=pixels, operand=operands, output=outputs)
    depth = op.macs // result.type.elements  # multiplications per output
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
    )


def _product_work(outputs: float, features: int) -> Work:
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
    if function.startswith(_NATIVE_CONVOLVE):
        return float(shape[-1] * _BESIDE_BLOCKS[round(pixels) % _PIXELS_AT_ONCE])
    if function.startswith(_NATIVE):  # which fill up their blocks
        return float(
            shape[-1] * (-pixels % _PIXELS_AT_ONCE) if len(shape) == 4 else pixels * (-shape[-1] % _UNITS_AT_ONCE)
        )
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
    return function.startswith(_NATIVE) or (toolbox.library is Library.CMSIS_NN and function == "arm_convolve_s8")


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


def costs(toolbox: Toolbox) -> Costs:
    """The measured costs that fit a toolbox best."""
    return Costs(toolbox, _functions(toolbox.library, _extension(toolbox), toolbox.has_native_kernels))


@cache
def _functions(library: Library, extension: str, has_native_kernels: bool) -> Mapping[str, Work]:
    if not has_native_kernels:
        return _of_library(library, extension)
    return {function: Work(**terms) for function, terms in NATIVE_COSTS.items()} | _measured(library, extension)


@cache
def _measured(library: Library, extension: str) -> dict[str, Work]:
    """Costs of the functions of a library, and of tinygen's own."""
    return _of_library(library, extension) | _tables().get(f"{_NATIVE_TABLE} {extension}", {})


def _of_library(library: Library, extension: str) -> dict[str, Work]:
    """What was not measured on Armv6-M is ranked as on other cores without extensions."""
    measured = _tables().get(f"{library.value} {extension}", {})
    return measured if extension != _ARMV6_M else _tables()[f"{library.value} {Isa.SCALAR.value}"] | measured


def table_name(toolbox: Toolbox) -> str:
    """Name of the file's table of the library's functions."""
    return f"{toolbox.library.value} {_extension(toolbox)}"


def native_table_name(toolbox: Toolbox) -> str:
    """Name of the table of tinygen's own kernels."""
    return f"{_NATIVE_TABLE} {_extension(toolbox)}"


def _extension(toolbox: Toolbox) -> str:
    """The cores that a table is for; the host is ranked as one without extensions."""
    if not toolbox.has_thumb2:
        return _ARMV6_M
    return Isa.SCALAR.value if toolbox.isa is Isa.HOST else toolbox.isa.value


@cache
def _tables() -> dict[str, dict[str, Work]]:
    found = json.loads(COSTS_FILE.read_text(encoding="utf-8"))
    return {
        name: {function: Work(**terms) for function, terms in functions.items()}
        for name, functions in found["instructions"].items()
    }


def estimated_instructions(schedule: Schedule, library: Library) -> float:
    """Of one inference, as the table predicts it."""
    board = schedule.board
    found = costs(Toolbox(library, board.isa, has_native_kernels=True, has_thumb2=board.has_thumb2))
    return sum(found.step(step) for step in schedule.flat_steps)
