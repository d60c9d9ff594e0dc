"""Measures kernels under QEMU and writes the planner's table of costs, tinygen/planner/cost/instruction_costs.json.

    python -m benchmarks.calibrate_costs [native [BOARD...]]

With `native` it measures tinygen's own kernels only, on all boards or those named, and keeps the rest of the table.
Needs arm-none-eabi-gcc, QEMU and the CMSIS-NN submodule. The same versions of these give the same file. Each kernel
runs operators of random shapes; a linear model of its work, without negative terms, is fitted to the instructions, each
measurement weighted by its inverse, so that the relative error counts. Prints that error for each function.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.calibration_operators import convolutions_for_tiles, operators, rows_within_images
from benchmarks.calibration_program import moves, reads
from tinygen.build.execute import execute
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.native.costs import native_instructions
from tinygen.kernels.native.select import native_kernels
from tinygen.kernels.select import variants
from tinygen.kernels.tinygen_c.packed import packed_convolution
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled
from tinygen.planner.cost.cost import (
    COSTS_FILE,
    FETCH,
    MEMMOVE,
    MEMMOVE_UP,
    native_table_name,
    shape_class,
    table_name,
)
from tinygen.planner.cost.work import TERMS, Work, work
from tinygen.planner.schedule.schedule import Buffer, BufferKind, Call, Place, Schedule
from tinygen.system.work import work_folder
from tinygen.targets import load
from tinygen.targets.board import Board
from tinygen.verify.samples import random_samples

_BOARDS = ("mps2-an382", "mps2-an385", "mps2-an386", "mps3-an547")  # M0: Armv6-M; M3: scalar; M4: DSP; M55: MVE
_CALLS_PER_PROGRAM = 80
_TALLEST_TILE = 4  # of Winograd's method
_FEWEST_MEASUREMENTS = 5
_ALIGN = 16
_SWEEPS = 20_000

FloatArray = npt.NDArray[np.float64]
Table = dict[str, dict[str, float]]  # cost of a unit of work, by function and kind of work


@dataclass(frozen=True)
class Sample:
    """A measurement: some work of a function and the instructions it took."""

    function: str
    work: Work
    instructions: float


def measure(board: Board, library: Library) -> Iterator[Sample]:
    """All kernels of a library on a board, and what a schedule does between calls."""
    toolbox = _toolbox(library, board)
    yield from _measure([(op, kernel) for op in operators() for kernel in variants(op, toolbox)], board, toolbox)
    for function, is_up in ((MEMMOVE, False), (MEMMOVE_UP, True)):
        yield from (Sample(function, Work(call=1, operand=bytes), found) for bytes, found in moves(board, is_up))
    yield from (Sample(FETCH, Work(call=1), found) for found in reads(board))


def measure_native(board: Board) -> Iterator[Sample]:
    """All of tinygen's own kernels on a board whose costs have no formula of their own."""
    toolbox = replace(_toolbox(Library.PORTABLE, board), has_native_kernels=True, tallest_tile=_TALLEST_TILE)
    ops = _in_all_forms((*operators(), *rows_within_images(), *convolutions_for_tiles()))
    pairs = [(op, kernel) for op in ops for kernel in native_kernels(op, toolbox)]
    pairs += [(op, packed_convolution(op)) for op in operators() if isinstance(op, Conv2D)]
    yield from _measure([pair for pair in pairs if native_instructions(*pair, board.isa) is None], board, toolbox)


def _toolbox(library: Library, board: Board) -> Toolbox:
    return Toolbox(library, board.isa, has_thumb2=board.has_thumb2)


def _in_all_forms(ops: Iterable[Op]) -> Iterator[Op]:
    """The operators, also with ranges of results: kernels limit these in a pass of their own, but those of int8.

    Where an activation leaves out what is negative, or products fit together in a word, some kernels are shorter.
    """
    for op in ops:
        yield op
        if isinstance(op, Add | AveragePool2D | Conv2D | DepthwiseConv2D | FullyConnected | MaxPool2D):
            yield replace(op, name=f"{op.name}_limited", clamp=Clamp(-100, 100))
        if isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected):
            type = op.output.type
            yield replace(op, name=f"{op.name}_relu", clamp=Clamp(type.zero_point, 127))
            rectified = replace(op.output, type=replace(type, quant=Quant((type.scale,), (-128,))))
            yield replace(op, name=f"{op.name}_relu_int8", output=rectified)
        if isinstance(op, FullyConnected):
            yield replace(op, name=f"{op.name}_apart", weights=_apart(op.weights))


def _apart(weights: Tensor) -> Tensor:
    """Weights of which two units cannot stand in one word."""
    assert weights.data is not None
    data = weights.data.copy()
    data[:2, 0] = (-1, -128)[: len(data)]
    return replace(weights, data=data)


def _measure(pairs: Sequence[tuple[Op, Kernel]], board: Board, toolbox: Toolbox) -> Iterator[Sample]:
    for first in range(0, len(pairs), _CALLS_PER_PROGRAM):
        part = pairs[first : first + _CALLS_PER_PROGRAM]
        for (op, kernel), instructions in zip(part, _run(part, board, toolbox), strict=True):
            yield Sample(shape_class(op, kernel), work(op, kernel.function, toolbox), instructions)


def _run(pairs: Sequence[tuple[Op, Kernel]], board: Board, toolbox: Toolbox) -> list[float]:
    """Instructions of each call, without those of counting."""
    program = _program(pairs, board, toolbox)
    samples = random_samples(program.graph.inputs, 1, 0)
    values = []
    for counts in (Measure.INSTRUCTIONS_PER_OPERATOR, Measure.INSTRUCTIONS):
        with work_folder() as folder:
            values.append(execute(program.build(folder, counts), program.schedule, samples).outcome.values)
    each = [values[0][f"operator_{number}"] for number in range(1, len(pairs) + 1)]
    counting = (sum(each) - values[1]["instructions"]) / len(each)
    return [instructions - counting for instructions in each]


def _program(pairs: Sequence[tuple[Op, Kernel]], board: Board, toolbox: Toolbox) -> Compiled:
    """A model that calls the kernels one after the other, on inputs of their own."""
    graph, kernels = _graph(pairs)
    schedule = _schedule(graph, kernels, board)
    kernels_option = Kernels.NATIVE if toolbox.has_native_kernels else Kernels(toolbox.library.value)
    options = Options(target=board.name, kernels=kernels_option)
    files = render(schedule, "calibration", "calibration")
    return Compiled(Path("calibration"), "calibration", options, graph, schedule, toolbox.library, toolbox, files)


def _graph(pairs: Sequence[tuple[Op, Kernel]]) -> tuple[Graph, dict[Op, Kernel]]:
    """Inputs of one type are one tensor; an operator with several kernels stands there once for each."""
    inputs: dict[object, Tensor] = {}
    kernels: dict[Op, Kernel] = {}
    for index, (op, kernel) in enumerate(pairs):
        mapping = {}
        for position, tensor in enumerate(op.variable_operands):
            key = (tensor.type.dtype, tensor.shape, position)
            mapping[tensor] = inputs.setdefault(key, replace(tensor, name=f"input{len(inputs)}"))
        mapping |= {result: replace(result, name=f"result{index}") for result in op.results}
        moved = replace(op.replace_tensors(mapping), name=f"op{index}")
        kernels[moved] = replace(
            kernel,
            reads=tuple(mapping.get(t, t) for t in kernel.reads),
            writes=tuple(mapping.get(t, t) for t in kernel.writes),
            in_place=(),
        )
    ports = tuple(Port(tensor.name, tensor, tensor.type) for tensor in inputs.values())
    last = list(kernels)[-1].results[0]
    return Graph("calibration", ports, (Port(last.name, last, last.type),), tuple(kernels)), kernels


def _schedule(graph: Graph, kernels: dict[Op, Kernel], board: Board) -> Schedule:
    """Inputs side by side, then room for one result and for scratch."""
    end = len(kernels) - 1
    results = [result for op in graph.ops for result in op.results]
    sizes = {tensor: tensor.type.bytes for tensor in graph.input_tensors}
    buffers = {tensor: Buffer(tensor.name, size, _ALIGN, BufferKind.WHOLE, 0, end) for tensor, size in sizes.items()}
    result = Buffer("result", max(tensor.type.bytes for tensor in results), _ALIGN, BufferKind.WHOLE, 0, end)
    scratch_bytes = max(kernel.scratch_bytes for kernel in kernels.values())
    scratch = Buffer("scratch", max(scratch_bytes, _ALIGN), _ALIGN, BufferKind.SCRATCH, 0, end)
    offsets: dict[Buffer, int] = {}
    position = 0
    for buffer in (*buffers.values(), result, scratch):
        offsets[buffer] = position
        position += -(-buffer.bytes // _ALIGN) * _ALIGN
    places = {tensor: Place(buffer, 0) for tensor, buffer in buffers.items()}
    places |= {tensor: Place(result, 0) for tensor in results}
    calls = tuple(Call(op, kernel, scratch if kernel.scratch_bytes else None) for op, kernel in kernels.items())
    return Schedule(graph, board, calls, tuple(offsets), places, offsets, position)


def fit(samples: Sequence[Sample]) -> Work:
    """The cost of each term, none negative: least squares of relative errors, one term improved after the other."""
    amounts: FloatArray = np.array([astuple(sample.work) for sample in samples])
    scaled = amounts / np.array([sample.instructions for sample in samples])[:, None]
    sizes = np.linalg.norm(scaled, axis=0)
    used = np.flatnonzero(sizes)
    columns = scaled[:, used] / sizes[used]
    gram, target = columns.T @ columns, columns.sum(axis=0)
    found = np.zeros(len(used))
    for _ in range(_SWEEPS):
        for term in range(len(used)):
            found[term] = max(0.0, found[term] + target[term] - gram[term] @ found)
    return Work(**{TERMS[term]: round(float(cost / sizes[term]), 3) for term, cost in zip(used, found, strict=True)})


def models(samples: Sequence[Sample]) -> Iterator[tuple[str, Work, FloatArray]]:
    """Each function with its fitted costs and the relative errors of its predictions."""
    for function in sorted({sample.function for sample in samples}):
        own = [sample for sample in samples if sample.function == function]
        if len(own) >= _FEWEST_MEASUREMENTS:
            costs = fit(own)
            predicted = np.array([sample.work.times(costs) for sample in own])
            measured = np.array([sample.instructions for sample in own])
            yield function, costs, predicted / measured - 1


def _table(name: str, samples: Iterable[Sample]) -> Table:
    """The costs of all functions that were measured often enough."""
    table: Table = {}
    for function, costs, errors in models(list(samples)):
        terms = zip(TERMS, astuple(costs), strict=True)
        table[function] = {term: cost for term, cost in terms if cost}
        mean, worst = np.abs(errors).mean(), np.abs(errors).max()
        print(f"{name} {function}: {len(errors)} calls, {mean:.1%} off, at most {worst:.1%}", file=sys.stderr)
    return table


def main() -> None:
    """Measure all boards and libraries, show errors, write the file."""
    tables: dict[str, Table] = {}
    only_native = sys.argv[1:2] == ["native"]
    for board in map(load, sys.argv[2:] or _BOARDS):
        native = native_table_name(_toolbox(Library.PORTABLE, board))
        tables[native] = _table(native, measure_native(board))
        for library in () if only_native else Library:
            table = table_name(_toolbox(library, board))
            tables[table] = _table(table, measure(board, library))
    kept = json.loads(COSTS_FILE.read_text(encoding="utf-8"))["instructions"]
    text = json.dumps({"made_by": "python -m benchmarks.calibrate_costs", "instructions": kept | tables}, indent=2)
    COSTS_FILE.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
