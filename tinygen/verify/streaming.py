"""Proof of a stream: each call equals the numpy references of its graph, its outputs those of the whole window."""

from collections.abc import Iterator
from pathlib import Path

from tinygen.build.execute import Sample, execute, read_trace
from tinygen.codegen.harness import Measure
from tinygen.verify import reference
from tinygen.verify.comparison import ComparedTensor, Side, compare, compare_port
from tinygen.verify.program import Program
from tinygen.verify.samples import Samples
from tinygen.verify.signal import windows
from tinygen.verify.stages import first_operator, first_output


def compare_stream(compiled: Program, calls: Samples, folder: Path) -> Iterator[list[ComparedTensor]]:
    """The comparisons of each call, all of which run in one go; `folder` is for the program.

    Every result of an operator; and from the call on from which outputs count, those with the whole model's outputs.
    """
    schedule = compiled.schedule
    image = compiled.build(folder, Measure.TRACE)
    outputs = execute(image, schedule, calls).outputs
    traces = read_trace(image, schedule, calls)
    whole = windows(calls, compiled.imported, schedule.graph)
    first = len(calls) - len(whole)
    for index, (expected, trace) in enumerate(
        zip(reference.evaluate_calls(schedule.graph, calls), traces, strict=True)
    ):
        found = [
            compare(stage, Side.TARGET, tensor.name, trace[tensor], expected[tensor])
            for stage, op in enumerate(schedule.graph.ops, first_operator(schedule))
            for tensor in op.results
        ]
        if index >= first:
            found += _compare_outputs(compiled, outputs[index], whole[index - first])
        yield found


def _compare_outputs(compiled: Program, actual: Sample, window: Sample) -> Iterator[ComparedTensor]:
    """The outputs of a call with those of the whole model; of streamed ones, with its last rows."""
    model = compiled.imported
    expected = reference.outputs(model, reference.evaluate(model, window))
    ports = zip(compiled.schedule.graph.outputs, actual, expected, strict=True)
    for stage, (port, given, wanted) in enumerate(ports, first_output(compiled.schedule)):
        if wanted.shape != given.shape:
            wanted = wanted[:, wanted.shape[1] - given.shape[1] :]
        yield compare_port(stage, Side.TARGET, port, given, wanted)
