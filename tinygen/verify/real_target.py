"""First half of the rule of `exact` where a network computes with float32, whose roundings add up along the way.

Every operator's result on the target is compared with the numpy reference's for the target's own operands; and the
graph after the passes with the imported one in the same way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tinygen.build.execute import Sample
from tinygen.ir.answers import Range
from tinygen.ir.graph import Graph, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.quantize import convert
from tinygen.planner.schedule.schedule import Schedule
from tinygen.verify import reference
from tinygen.verify.comparison import ComparedTensor, Permission, Rounding, Side, compare, compare_port
from tinygen.verify.litert import LiteRTRun
from tinygen.verify.per_operator import OperatorComparison
from tinygen.verify.stages import first_operator, first_output
from tinygen.verify.sums import sum_tolerance
from tinygen.verify.target import TargetRun, partly_computed

_NOTHING = Permission(0, Rounding.ONCE)  # passes change no integer


def computes_real(graph: Graph) -> bool:
    """Whether results of operators are float32."""
    return any(result.type.dtype.is_real for op in graph.ops for result in op.results)


class RealTarget:
    """The comparisons of calls that follow each other."""

    def __init__(self, schedule: Schedule, imported: Graph) -> None:
        self._schedule, self._imported = schedule, imported
        self._passes = OperatorComparison(schedule.graph)

    def call(self, inputs: Sample, run: TargetRun, original: Mapping[Tensor, Array]) -> Iterator[ComparedTensor]:
        """All results of operators, as far as they are computed, and all outputs of the next one.

        `original` is what the references make of the imported graph.
        """
        yield from self._compare_code(inputs, run)
        tensors = {tensor.name: array for tensor, array in original.items()}
        before_passes = LiteRTRun(reference.outputs(self._imported, original), tensors, _NOTHING)
        for found in self._passes.call(inputs, before_passes):
            yield replace(found, side=Side.TARGET)

    def _compare_code(self, inputs: Sample, run: TargetRun) -> Iterator[ComparedTensor]:
        schedule, graph = self._schedule, self._schedule.graph
        ports = zip(graph.inputs, inputs, strict=True)
        known = {port.tensor: convert(given, port.external, port.tensor.type) for port, given in ports}
        values = Values((known | dict(run.tensors)).__getitem__)
        computed = partly_computed(schedule)
        for stage, op in enumerate(graph.ops, first_operator(schedule)):
            tolerance, is_moved = sum_tolerance(op, values), op.result_range is Range.MOVED
            with np.errstate(all="ignore"):
                results = op.evaluate(values)
            for tensor, wanted in zip(op.results, results, strict=True):
                part = computed.get(tensor, ...)
                allowed = None if tolerance is None else tolerance[part]
                actual = run.tensors[tensor][part]
                is_moved = op.result_range is Range.MOVED
                yield compare(
                    stage, Side.TARGET, tensor.name, actual, wanted[part], tolerance=allowed, is_moved=is_moved
                )
        for stage, (port, given) in enumerate(zip(graph.outputs, run.outputs, strict=True), first_output(schedule)):
            expected = convert(values[port.tensor], port.tensor.type, port.external)
            yield compare_port(stage, Side.TARGET, port, given, expected)
