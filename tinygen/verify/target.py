"""First half of the rule of `exact`: every tensor of a run on the target equals the numpy references'."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import tee

import numpy as np

from tinygen.build.execute import Sample
from tinygen.ir.graph import Graph
from tinygen.ir.rows import part_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.planner.schedule.schedule import Schedule
from tinygen.verify import reference
from tinygen.verify.comparison import ComparedTensor, Side, compare, compare_port
from tinygen.verify.stages import first_operator, first_output


@dataclass(frozen=True)
class TargetRun:
    """What the program on the target made of one sample."""

    outputs: Sample  # as the application has them
    tensors: Mapping[Tensor, Array]  # right after their operators


@dataclass(frozen=True)
class ReferenceRun:
    """What the numpy references make of the same sample."""

    outputs: Sample
    tensors: Mapping[Tensor, Array]  # of the graph after the passes


def run_references(imported: Graph, simplified: Graph, calls: Iterable[Sample]) -> Iterator[ReferenceRun]:
    """Values of the imported graph wherever it has the tensor, so that the passes are proven along with the code.

    One run a call; states go on from each to the next.
    """
    inputs, again = tee(calls)
    both = zip(reference.evaluate_calls(imported, inputs), reference.evaluate_calls(simplified, again), strict=True)
    for original, tensors in both:
        by_name = {tensor.name: array for tensor, array in original.items()}
        for tensor in tensors:
            value = reference.own_value(tensor, by_name)
            if value is not None:
                tensors[tensor] = value
        yield ReferenceRun(reference.outputs(imported, original), tensors)


def compare_target(schedule: Schedule, target: TargetRun, expected: ReferenceRun) -> Iterator[ComparedTensor]:
    """All results of operators, as far as they are computed, and all outputs of one sample."""
    computed = partly_computed(schedule)
    for stage, op in enumerate(schedule.graph.ops, first_operator(schedule)):
        for tensor in op.results:
            part = computed.get(tensor, ...)
            yield compare(stage, Side.TARGET, tensor.name, target.tensors[tensor][part], expected.tensors[tensor][part])
    ports = zip(schedule.graph.outputs, target.outputs, expected.outputs, strict=True)
    for stage, (port, actual, wanted) in enumerate(ports, first_output(schedule)):
        yield compare_port(stage, Side.TARGET, port, actual, wanted)


def partly_computed(schedule: Schedule) -> dict[Tensor, Array]:
    """For tensors that are not computed whole, since nobody reads the rest, whether each element is."""
    found: dict[Tensor, Array] = {}
    for call in schedule.calls:
        for tensor in call.kernel.writes:
            piece = schedule.pieces.get(tensor)
            if piece is not None:
                mask = found.setdefault(piece.whole, np.zeros(piece.whole.shape, np.bool_))
                part_of(mask, piece)[:] = True
    return {tensor: mask for tensor, mask in found.items() if not mask.all()}
