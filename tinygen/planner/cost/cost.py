"""What kernels cost, in instructions: a linear model per function, fitted to measurements under QEMU.

`instruction_costs.json` beside this file holds the models; `python -m benchmarks.calibrate_costs` makes it. A function
that was not measured costs what the average of similar work does: plans are only ranked by it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.native.costs import is_winograd, native_instructions
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.planner.chains.slices import AddSlice, FinishRows
from tinygen.planner.chains.stream import (
    AddRows,
    Compute,
    CopyRows,
    FetchRows,
    FinishSum,
    RowStep,
    ShiftRows,
    StoreRows,
)
from tinygen.planner.cost.work import Work, product_work, work
from tinygen.planner.schedule.schedule import Call, Crop, Fetch, FlatStep, Schedule, Shift, Store
from tinygen.targets.isa import Isa

COSTS_FILE = Path(__file__).with_name("instruction_costs.json")
MEMMOVE = "memmove"
MEMMOVE_UP = "memmove up"  # tg_move_up: to a higher address, over itself
FETCH = "fetch"

_NATIVE_TABLE, _ARMV6_M = "native", "armv6-m"
_DIRECT = "tg_native_convolve_s8"
_ADD_PRODUCTS = "tg_add_products_s8"
_ADD_CHANNELS, _SCALE_PRODUCTS = "tg_add_channel_products_s8", "tg_scale_products_s8"


class Costs:
    """Instructions per unit of work of each function, for one library and instruction set."""

    def __init__(self, toolbox: Toolbox, functions: Mapping[str, Work]) -> None:
        self.toolbox = toolbox
        self.functions = functions
        self._call_cache: dict[tuple[Op, str, int, int | None, int | None], float] = {}  # there are many alike
        self._slice_cache: dict[tuple[Op, str, int], float] = {}

    def slice(self, op: Op, kernel: Kernel, channels: int) -> float:
        """Of computing so many channels of the result of `op`."""
        key = op, kernel.function, channels
        if key not in self._slice_cache:
            share = channels / op.results[0].shape[-1]
            costs = self.functions.get(shape_class(op, kernel)) or self._similar(op)
            whole = self.call(op, kernel)
            self._slice_cache[key] = min(costs.call, whole) + share * max(whole - costs.call, 0.0)
        return self._slice_cache[key]

    def call(self, op: Op, kernel: Kernel, rows: int | None = None, columns: int | None = None) -> float:
        """Of computing rows of the result of `op`, or some columns of them; without a number all of them."""
        key = op, kernel.function, kernel.scratch_bytes, rows, columns
        if key not in self._call_cache:
            self._call_cache[key] = self._instructions(op, kernel, rows, columns)
        return self._call_cache[key]

    def _instructions(self, op: Op, kernel: Kernel, rows: int | None, columns: int | None) -> float:
        native = native_instructions(op, kernel, self.toolbox.isa, rows)
        if native is not None:
            return native if columns is None else native * columns / op.results[0].shape[2]
        costs = self.functions.get(shape_class(op, kernel)) or self._similar(op)
        instructions = work(op, kernel.function, self.toolbox, rows, columns).times(costs)
        if rows is None or not is_winograd(kernel.function):
            return instructions
        direct = work(op, _DIRECT, self.toolbox, rows, columns)  # which runs where tiles do not pay
        return min(instructions, direct.times(self.functions[_DIRECT]))

    def is_measured(self, op: Op, kernel: Kernel) -> bool:
        """Whether the cost of the kernel is its own, not that of a similar one."""
        return (
            shape_class(op, kernel) in self.functions or native_instructions(op, kernel, self.toolbox.isa) is not None
        )

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
        return product_work(outputs, features).times(self.functions[_ADD_CHANNELS])

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


def costs(toolbox: Toolbox) -> Costs:
    """The measured costs of the library's functions and of tinygen's own.

    What was not measured on Armv6-M is ranked as on other cores without extensions.
    """
    fallback = table_name(replace(toolbox, has_thumb2=True))
    return Costs(toolbox, _functions(fallback, table_name(toolbox), native_table_name(toolbox)))


@cache
def _functions(*tables: str) -> dict[str, Work]:
    """The costs of all tables, the last one counts."""
    return {function: costs for table in tables for function, costs in _tables()[table].items()}


def table_name(toolbox: Toolbox) -> str:
    """Name of the file's table of the library's functions; the host is ranked as a core without extensions."""
    isa = Isa.SCALAR if toolbox.isa is Isa.HOST else toolbox.isa
    return f"{toolbox.library.value} {isa.value if toolbox.has_thumb2 else _ARMV6_M}"


def native_table_name(toolbox: Toolbox) -> str:
    """Name of the table of tinygen's own kernels."""
    isa = Isa.DSP if toolbox.isa.runs_dsp_kernels else toolbox.isa
    return f"{_NATIVE_TABLE} {isa.value if toolbox.has_thumb2 else _ARMV6_M}"


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
