"""Measures kernels under QEMU and writes the prices of their work, tinygen/kernels/price_tables/.

    python -m benchmarks.calibrate_costs [--board BOARD]... [--only FUNCTION]... [--missing]

With `--only`, functions whose names begin so are measured and the rest of the tables stays; with `--missing` those that
have no prices. Needs arm-none-eabi-gcc, QEMU with its plugin, and for the library's functions the CMSIS-NN submodule.
The same versions of these give the same files from the same tables: of the kernels of an operator those are measured
that the prices in place let lowerings list. Each kernel runs operators of random shapes; a linear model of its work,
without negative terms, is fitted to the instructions, each measurement weighted by its inverse, so that the relative
error counts. Prints that error for each function.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.calibration_operators import (
    convolutions_for_tiles,
    convolutions_for_tiles_at_stride_2,
    convolutions_of_networks,
    filters_of_one_line,
    layers_of_narrow_blocks,
    layers_of_narrow_weights,
    layers_of_small_weights,
    operators,
    real_layers,
    rows_within_images,
)
from benchmarks.calibration_program import expansions, moves, reads
from tests.support.measured_operators import operators_of_models
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.kernels.base import IN_CALL, Kernel, Library, Toolbox
from tinygen.kernels.huffman import MOST_BITS, HuffmanCode
from tinygen.kernels.native.convolution import NativeConvolveS8, direct_convolution
from tinygen.kernels.native.expanded import EXPAND
from tinygen.kernels.native.native import NativeKernel
from tinygen.kernels.native.select import native_kernels
from tinygen.kernels.native.winograd import tiled
from tinygen.kernels.prices import BASES, OWN, table, table_file, table_name
from tinygen.kernels.select import has_kernel, variants
from tinygen.kernels.tinygen_c.compact import can_be_compact, matrix_of
from tinygen.kernels.tinygen_c.huffman import huffman_layer
from tinygen.kernels.tinygen_c.packed import packed_layers
from tinygen.kernels.tinygen_c.squeezed import squeezed_layer
from tinygen.kernels.work import Work, work
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.weighted import Weighted
from tinygen.ops.window import UNIT
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled
from tinygen.planner.cost.cost import FETCH, MEMMOVE, MEMMOVE_UP
from tinygen.planner.schedule.schedule import Buffer, BufferKind, Call, Place, Schedule
from tinygen.report.counting import Count, Counter, count_operators
from tinygen.targets import load
from tinygen.targets.board import Board
from tinygen.targets.isa import Isa
from tinygen.verify.samples import random_samples

BOARDS = (  # Armv6-M, scalar, DSP, MVE, RV32IM, Zve32x
    "mps2-an382",
    "mps2-an385",
    "mps2-an386",
    "mps3-an547",
    "qemu-rv32",
    "qemu-rv32-zve32x",
)
_CALLS_PER_PROGRAM = 80
_TABLES_OF_PROGRAM = 1 << 20  # bytes: boards have a memory of twice as many for constants, or more
_TALLEST_TILE = 4  # of Winograd's method
_FEWEST_MEASUREMENTS = 5
_COARSE = 8.0
_ALIGN = 16
_SWEEPS = 20_000

FloatArray = npt.NDArray[np.float64]
Costs = dict[str, float]  # of one of each term
Pair = tuple[Op, Kernel]
Parts = Mapping[str, Mapping[str, Mapping[str, float]]]  # of a table, functions, terms


@dataclass(frozen=True)
class Sample:
    """A measurement: some work of a function and the instructions it took."""

    work: Work
    instructions: float


@dataclass(frozen=True)
class Measuring:
    """What is measured on a board: functions whose names begin so and that are not known, of a library or tinygen's."""

    board: Board
    prefixes: tuple[str, ...]
    known: frozenset[str] = frozenset()

    def library(self, library: Library) -> Iterator[Sample]:
        """All kernels of a library."""
        toolbox = _toolbox(library, self.board)
        yield from self.samples(pairs_of_library(toolbox), toolbox)

    def own(self) -> Iterator[Sample]:
        """All of tinygen's own kernels, and what a schedule does between calls."""
        toolbox = _with_native_kernels(_toolbox(Library.PORTABLE, self.board))
        yield from self.samples(pairs_of_own(toolbox), toolbox)
        for function, is_up in ((MEMMOVE, False), (MEMMOVE_UP, True)):
            if self._wants(function):
                for bytes, found in moves(self.board, is_up):
                    yield Sample(work(function, call=1, operand=bytes), found)
        if self._wants(FETCH):
            yield from (Sample(work(FETCH, call=1), found) for found in reads(self.board))
        if self._wants(EXPAND):
            yield from (Sample(expansion.work(), found) for expansion, found in expansions(self.board))

    def samples(self, pairs: Sequence[Pair], toolbox: Toolbox) -> list[Sample]:
        """Measurements of pairs; where instructions would mislead, as many as take the same cycles in the mean."""
        wanted = [(op, kernel) for op, kernel in pairs if self._wants(kernel.work(op).function)]
        counts = _counts(wanted, self.board, toolbox)
        taken = (
            (count.cycles or 0) / _cycles_of_an_instruction(self.board)
            if kernel.is_priced_by_cycles
            else count.instructions or 0
            for (_, kernel), count in zip(wanted, counts, strict=True)
        )
        return [Sample(kernel.work(op), found) for (op, kernel), found in zip(wanted, taken, strict=True)]

    def _wants(self, function: str) -> bool:
        return function not in self.known and (not self.prefixes or function.startswith(self.prefixes))


@cache
def _cycles_of_an_instruction(board: Board) -> float:
    """In the mean of a program of tinygen's own kernels, the same ones whatever is measured: prices stay comparable."""
    toolbox = _with_native_kernels(_toolbox(Library.PORTABLE, board))
    plain = [pair for pair in _pairs_of_small_layers(toolbox) if not pair[1].is_priced_by_cycles]
    counts = _counts(plain[:: -(-len(plain) // _CALLS_PER_PROGRAM)], board, toolbox)
    return sum(count.cycles or 0 for count in counts) / sum(count.instructions or 0 for count in counts)


def pairs_of_library(toolbox: Toolbox) -> list[Pair]:
    """Operators with the kernels of the toolbox's library."""
    pairs = [(op, kernel) for op in operators() for kernel in variants(op, toolbox) if not kernel.is_own]
    return pairs + [pair for pair in _further(pairs, toolbox) if not pair[1].is_own]


def pairs_of_own(toolbox: Toolbox) -> list[Pair]:
    """Operators with tinygen's own kernels, native ones in all their forms.

    On cores with the DSP extension also convolutions as large as those of networks, and with weights that, unlike most,
    do not stand two in a word: elsewhere none are joined, and small layers tell the prices of large ones.
    """
    pairs = _pairs_of_small_layers(toolbox)
    if toolbox.isa.runs_dsp_kernels:
        large = [op for op in _in_all_forms(convolutions_of_networks()) if isinstance(op, Conv2D)]
        small = [op for op in operators() if isinstance(op, Conv2D)]
        direct = _direct((*large, *map(_apart, (*small, *large))), toolbox.isa)
        pairs += [(op, kernel) for op, kernel in direct if isinstance(kernel, NativeConvolveS8)]
    return pairs


def _pairs_of_small_layers(toolbox: Toolbox) -> list[Pair]:
    plain = operators()
    further = rows_within_images(), layers_of_small_weights(), convolutions_for_tiles(), filters_of_one_line()
    native = list(_in_all_forms((*plain, *chain.from_iterable(further))))
    pairs = [(op, kernel) for op in native for kernel in native_kernels(op, _with_native_kernels(toolbox))]
    pairs += _in_tiles((*native, *convolutions_for_tiles_at_stride_2()), toolbox.isa)
    pairs += [(op, packed_layers(op)[-1]) for op in plain if isinstance(op, Conv2D)]
    pairs += _packed(layers_of_narrow_blocks())
    library = replace(toolbox, has_native_kernels=False)
    others = (*plain, *real_layers(), *layers_of_narrow_weights())
    pairs += [(op, kernel) for op in others for kernel in variants(op, library) if kernel.is_own]
    for beside in (Library.PORTABLE, Library.CMSIS_NN):  # what only the other cannot do comes behind
        pairs += [pair for pair in _further(pairs, replace(library, library=beside)) if pair[1].is_own]
    return pairs


def _packed(ops: Iterable[Op]) -> Iterator[Pair]:
    """Layers whose weights are unpacked, which no plan takes but for the sake of flash."""
    for op in ops:
        if isinstance(op, Weighted) and can_be_compact(op):
            yield op, squeezed_layer(op)
            yield from ((op, huffman_layer(op, HuffmanCode(matrix_of(op), bits))) for bits in (9, MOST_BITS))


def _in_tiles(ops: Iterable[Op], isa: Isa) -> Iterator[Pair]:
    """Convolutions in tiles that plans seldom take: those at stride 2, of layers as large as those of networks, and
    those whose filters stand in flash as they are, for the sake of which they are taken."""
    for op, direct in _direct(ops, isa) if isa is not Isa.MVE else ():
        growth = IN_CALL if op.stride == UNIT else _TALLEST_TILE
        yield from ((op, kernel) for kernel in tiled(op, direct, growth, isa))


def _direct(ops: Iterable[Op], isa: Isa) -> Iterator[tuple[Conv2D, NativeKernel]]:
    """Convolutions with the kernel that takes them without tiles."""
    for op in ops:
        direct = direct_convolution(op, isa) if isinstance(op, Conv2D) else None
        if isinstance(op, Conv2D) and direct is not None:
            yield op, direct


def _further(pairs: Sequence[Pair], toolbox: Toolbox) -> Iterator[Pair]:
    """Operators of models with those kernels that `pairs` are without."""
    known = {kernel.work(op).function for op, kernel in pairs}
    for op in _of_models():
        if has_kernel(op):
            yield from ((op, kernel) for kernel in variants(op, toolbox) if kernel.work(op).function not in known)


_of_models = cache(operators_of_models)


def _with_native_kernels(toolbox: Toolbox) -> Toolbox:
    return replace(toolbox, has_native_kernels=True, tallest_tile=_TALLEST_TILE)


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
        if isinstance(op, Add):
            yield replace(op, name=f"{op.name}_coarse", first=_coarse(op.first, op.output))
        if isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected):
            type = op.output.type
            yield replace(op, name=f"{op.name}_relu", clamp=Clamp(type.zero_point, 127))
            rectified = replace(op.output, type=replace(type, quant=Quant((type.scale,), (-128,))))
            yield replace(op, name=f"{op.name}_relu_int8", output=rectified)
        if isinstance(op, FullyConnected):
            yield _apart(op)


def _coarse(operand: Tensor, output: Tensor) -> Tensor:
    """The operand in steps of so many of the output's that sums of products do not fit 32 bits, as tables do."""
    quant = Quant((_COARSE * output.type.scale,), (operand.type.zero_point,))
    return replace(operand, type=replace(operand.type, quant=quant))


def _apart(op: Conv2D | FullyConnected) -> Op:
    """With weights of which two channels or units cannot stand in one word."""
    assert op.weights.data is not None
    data = op.weights.data.copy()
    data.reshape(len(data), -1)[:2, 0] = (-1, -128)[: len(data)]
    return replace(op, name=f"{op.name}_apart", weights=replace(op.weights, data=data))


def _counts(pairs: Sequence[Pair], board: Board, toolbox: Toolbox) -> list[Count]:
    found: list[Count] = []
    for part in _programs(pairs):
        program = _program(part, board, toolbox)
        counts = count_operators(program, random_samples(program.graph.inputs, 1, 0), Counter.PLUGIN)
        found += [counts[number] for number in range(1, len(counts) + 1)]
    return found


def _programs(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """As many pairs, one behind the other, as a program has room for."""
    part: list[Pair] = []
    room = _TABLES_OF_PROGRAM
    for pair in pairs:
        bytes = sum(table.bytes for table in pair[1].tables)
        if part and (len(part) == _CALLS_PER_PROGRAM or bytes > room):
            yield part
            part, room = [], _TABLES_OF_PROGRAM
        part.append(pair)
        room -= bytes
    if part:
        yield part


def _program(pairs: Sequence[Pair], board: Board, toolbox: Toolbox) -> Compiled:
    """A model that calls the kernels one after the other, on inputs of their own."""
    graph, kernels = _graph(pairs)
    schedule = _schedule(graph, kernels, board)
    kernels_option = Kernels.NATIVE if toolbox.has_native_kernels else Kernels(toolbox.library.value)
    options = Options(target=board.name, kernels=kernels_option)
    files = render(schedule, "calibration", "calibration")
    return Compiled(Path("calibration"), "calibration", options, graph, schedule, toolbox.library, toolbox, files)


def _graph(pairs: Sequence[Pair]) -> tuple[Graph, dict[Op, Kernel]]:
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
            updates=tuple(mapping.get(t, t) for t in kernel.updates),
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


def fit(samples: Sequence[Sample]) -> Costs:
    """The cost of each term, none negative: least squares of relative errors, one term improved after the other."""
    terms = list(dict.fromkeys(term for sample in samples for term, amount in sample.work.times.items() if amount))
    amounts: FloatArray = np.array([[sample.work.times.get(term, 0.0) for term in terms] for sample in samples])
    scaled = amounts / np.array([sample.instructions for sample in samples])[:, None]
    sizes = np.linalg.norm(scaled, axis=0)
    columns = scaled / sizes
    gram, target = columns.T @ columns, columns.sum(axis=0)
    found = np.zeros(len(terms))
    for _ in range(_SWEEPS):
        for term in range(len(terms)):
            found[term] = max(0.0, found[term] + target[term] - gram[term] @ found)
    return {term: round(float(cost / size), 3) for term, cost, size in zip(terms, found, sizes, strict=True)}


def models(samples: Sequence[Sample]) -> Iterator[tuple[str, Costs, FloatArray]]:
    """Each function with its fitted costs and the relative errors of its predictions."""
    for function in sorted({sample.work.function for sample in samples}):
        own = [sample for sample in samples if sample.work.function == function]
        if len(own) >= _FEWEST_MEASUREMENTS:
            costs = fit(own)
            predicted = np.array([sum(costs.get(t, 0.0) * n for t, n in sample.work.times.items()) for sample in own])
            measured = np.array([sample.instructions for sample in own])
            yield function, costs, predicted / measured - 1


def _fitted(name: str, samples: Iterable[Sample]) -> dict[str, Costs]:
    """The costs of all functions that were measured often enough."""
    found: dict[str, Costs] = {}
    for function, found[function], errors in models(list(samples)):
        mean, worst = np.abs(errors).mean(), np.abs(errors).max()
        print(f"{name} {function}: {len(errors)} calls, {mean:.1%} off, at most {worst:.1%}", file=sys.stderr)
    return found


def written(parts: Parts) -> str:
    """A table as its file holds it: a line for each function."""
    lines = ["{", ' "made_by": "python -m benchmarks.calibrate_costs",', ' "prices": {']
    for part, functions in sorted(parts.items()):
        rows = [
            f"   {json.dumps(function)}: {json.dumps(dict(terms))}" for function, terms in sorted(functions.items())
        ]
        lines += [f'  "{part}": {{', ",\n".join(rows), "  },"]
    lines[-1] = "  }"
    return "\n".join([*lines, " }", "}", ""])


def _kept(name: str, only: tuple[str, ...]) -> Parts:
    """What stays of a table: all but the functions that are measured again, whose ways may have other names now."""
    return {
        part: {function: terms for function, terms in functions.items() if not function.startswith(only)}
        for part, functions in table(name).items()
    }


def main() -> None:
    """Measure all boards and libraries, show errors, write the tables."""
    parser = argparse.ArgumentParser(description="Measure kernels and write the prices of their work.")
    parser.add_argument("--board", action="append", choices=BOARDS, help="one for each instruction set; without: all")
    parser.add_argument("--only", action="append", default=[], metavar="FUNCTION", help="functions that begin so")
    parser.add_argument("--missing", action="store_true", help="functions without prices")
    asked = parser.parse_args()
    for board in map(load, asked.board or BOARDS):
        name = table_name(board.isa, board.has_thumb2)
        kept = _kept(name, tuple(asked.only)) if asked.only or asked.missing else {}
        base = table(BASES[name]) if name in BASES else {}

        def measuring(part: str, board: Board = board, kept: Parts = kept, base: Parts = base) -> Measuring:
            known = frozenset(base.get(part, {})) | frozenset(kept.get(part, {}) if asked.missing else ())
            return Measuring(board, tuple(asked.only), known)

        found = {OWN: _fitted(name, measuring(OWN).own())}
        for library in () if base else Library:
            own = measuring(library.value).library(library)
            found[library.value] = _fitted(f"{name} {library.value}", own)
        parts = {part: {**kept.get(part, {}), **functions} for part, functions in found.items()}
        table_file(name).write_text(written(parts), encoding="utf-8")
        table.cache_clear()  # of which the next one may hold only what this one has not


if __name__ == "__main__":
    main()
