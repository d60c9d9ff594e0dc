"""What steps of chains and schedules cost, in instructions: the work of their kernels by measured prices."""

from collections.abc import Hashable, Iterable, Mapping

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Library, Planned, Toolbox
from tinygen.kernels.prices import Prices, prices
from tinygen.kernels.tinygen_c import partial_products, running_sum
from tinygen.kernels.work import work
from tinygen.planner.chains.demand import (
    AddRows,
    Compute,
    CopyRows,
    FetchRows,
    FinishSum,
    RowStep,
    ShiftRows,
    StoreRows,
)
from tinygen.planner.chains.slices import AddSlice, FinishRows
from tinygen.planner.schedule.schedule import Call, Crop, Fetch, FlatStep, Schedule, Shift, Store

MEMMOVE = "memmove"
MEMMOVE_UP = "memmove up"  # tg_move_up: to a higher address, over itself
FETCH = "fetch"


class Costs:
    """By the prices of one library and instruction set."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._call_cache: dict[tuple[Hashable, ...], float] = {}  # there are many alike
        self._slice_cache: dict[tuple[Op, str, int], float] = {}

    def slice(self, op: Op, kernel: Kernel, channels: int) -> float:
        """Of computing so many channels of the result of `op`."""
        key = op, kernel.priced_as, channels
        if key not in self._slice_cache:
            share = channels / op.results[0].shape[-1]
            alone, whole = self._prices.of_call(kernel.work(op)), self.call(op, kernel)
            self._slice_cache[key] = min(alone, whole) + share * max(whole - alone, 0.0)
        return self._slice_cache[key]

    def call(self, op: Op, kernel: Kernel, rows: int | None = None, columns: int | None = None) -> float:
        """Of computing rows of the result of `op`, or some columns of them; without a number all of them."""
        order = kernel.tables[0].name if kernel.tables else ""  # in which weights stand
        key = op, kernel.function, kernel.scratch_bytes, order, rows, columns
        if key not in self._call_cache:
            inside = sum(often * self._all_of(plan) for plan, often in zip(kernel.plans, kernel.runs, strict=True))
            self._call_cache[key] = self._prices.cheapest(kernel.works(op, rows, columns)) + inside
        return self._call_cache[key]

    def _all_of(self, plan: Planned) -> float:
        """Of a subgraph."""
        assert isinstance(plan, Schedule)
        return sum(self.call(call.op, call.kernel) for call in plan.calls)

    def is_measured(self, op: Op, kernel: Kernel) -> bool:
        """Whether the cost of the kernel is its own, not that of a similar one."""
        return self._prices.has(kernel.work(op))

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
                return self._add(step.op, step.rows.count / step.reads[0].key.shape[1])
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
            added = partial_products.adding_features(op.results[0].type.elements, op.macs * share, calls)
        else:
            added = running_sum.adding_rows(input.type.elements * share, input.shape[-1], calls)
        return self._prices.instructions(added)

    def product(self, op: Op, channels: int, slices: int) -> float:
        """Of adding all channels of the input to sums, so many at a time, and of turning these into results."""
        return slices * self._add_slice(op, channels) + self._scale(op, op.results[0].type.elements)

    def _add_slice(self, op: Op, channels: int) -> float:
        """Of adding some channels of the input to the sums of a product."""
        (input,) = op.variable_operands
        outputs = op.results[0].type.elements
        features = op.macs // outputs * channels // input.shape[-1]
        return self._prices.instructions(partial_products.adding_channels(outputs, features))

    def _scale(self, op: Op, outputs: int) -> float:
        """Of turning sums of products into results."""
        return self._prices.instructions(partial_products.scaling(outputs, op.results[0].shape[-1]))

    def _finish(self, output: Tensor) -> float:
        """Of turning sums into results."""
        return self._prices.instructions(running_sum.dividing(output.type.elements))

    def _shift(self, source: int, target: int, bytes: int) -> float:
        """Of moving rows to the start of a ring."""
        return self._moved(MEMMOVE_UP if source < target < source + bytes else MEMMOVE, bytes)

    def _copy(self, bytes: int) -> float:
        """Of copying columns of rows."""
        return self._moved(MEMMOVE, bytes)

    def _moved(self, function: str, bytes: int) -> float:
        return self._prices.instructions(work(function, call=1, operand=bytes))

    def _fetch(self) -> float:
        """Of asking the application for rows, or to take rows, without what it does with them."""
        return self._prices.instructions(work(FETCH, call=1))


def _rows_of_part(step: Compute) -> int | None:
    """None for a call that computes all of its result."""
    result = step.op.results[0]
    is_whole = step.writes[0].bytes == result.type.bytes or len(result.shape) != 4
    return None if is_whole else step.rows.count


def costs(toolbox: Toolbox) -> Costs:
    """By the measured prices of the library's functions and of tinygen's own."""
    return Costs(prices(toolbox))


def estimated_instructions(schedule: Schedule, library: Library) -> float:
    """Of one inference, as the table predicts it."""
    return sum(step_instructions(schedule, library))


def step_instructions(schedule: Schedule, library: Library) -> tuple[float, ...]:
    """Of each of its steps."""
    board = schedule.board
    found = costs(Toolbox(library, board.isa, has_native_kernels=True, has_thumb2=board.has_thumb2))
    return tuple(found.step(step) for step in schedule.flat_steps)
