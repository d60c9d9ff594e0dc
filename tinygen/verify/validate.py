"""Proof that a model computes on its target what it should, by the rule of `exact`.

A run is exact when, for all samples, (a) every tensor that still exists after the passes, right after its operator on
the target, equals the numpy references' given the same input of the model, and (b) each operator's numpy reference,
given LiteRT's own inputs for it, equals LiteRT's output (FULLY_CONNECTED within 1 LSB, for LiteRT rounds once there;
SUM and RSQRT of int16 not at all, for LiteRT's are not what TFLite Micro has). Where LiteRT's reference kernels lack an
operator, as they lack TILE and ELU, TFLite Micro's take their place, whose multipliers of MUL and PRELU may move
results by 1 LSB, or else LiteRT's for hosts, with 1 LSB for every operator. Against onnxruntime, which requantizes in
float32, every operator has 1 LSB.
Networks with operators that have states of their own are compared with TFLite Micro's reference kernels instead.
Where LiteRT quantizes float32 activations at run time, for weights are integers, the reference does so for (b).
Against the simulator: (a) only.

Numbers computed with float32 are equal within `REAL_TOLERANCE` and what the sums' lengths allow (`sums`), to the bit
where they are only moved; there (a) compares every operator with the reference for the target's own operands
(`real_target`).

Where such a rounding was used, `Validation.permitted` names the operators.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from tinygen.build.execute import Sample, execute, read_trace
from tinygen.build.firmware import Image
from tinygen.codegen.harness import Measure
from tinygen.errors import ToolError, UsageError
from tinygen.frontends.spelling import Spelling
from tinygen.ir.types import Array
from tinygen.quant.accuracy import ScoredAccuracy
from tinygen.system.work import work_folder
from tinygen.verify import reference
from tinygen.verify.accuracy import accuracy_of
from tinygen.verify.comparison import ComparedTensor, Rounding, Side
from tinygen.verify.fed_back import FedBack
from tinygen.verify.litert import InferenceEngine, LiteRT
from tinygen.verify.oracle import Oracle, oracle_for
from tinygen.verify.per_operator import OperatorComparison
from tinygen.verify.program import Program
from tinygen.verify.real_target import RealTarget, computes_real
from tinygen.verify.samples import Samples, random_samples
from tinygen.verify.stages import stages
from tinygen.verify.streaming import compare_stream
from tinygen.verify.target import TargetRun, compare_target, run_references
from tinygen.verify.tflm import Tflm

_BATCH = 16  # samples of one run on the target, whose traces are held at a time

Progress = Callable[[int, int], None]  # samples done, of how many


@dataclass(frozen=True)
class FirstMismatch:
    """The first operator, in execution order, that differs for any sample."""

    operator: str
    name: str  # of the tensor
    side: Side


@dataclass(frozen=True)
class Layer:
    """One stage of the network over all samples; differences in LSB or of float32, mismatches in elements."""

    index: int | None
    operator: str
    name: str
    kernel: str | None
    max_abs_diff: float  # between target and references
    mismatches: int
    oracle_max_abs_diff: float  # between references and oracle, operator by operator
    oracle_mismatches: int


@dataclass(frozen=True)
class Permitted:
    """An operator where the oracle rounds in another way that the rule allows."""

    index: int | None  # in the file; None for inputs and outputs of the model
    operator: str
    name: str  # of the tensor
    rounding: Rounding
    elements: int  # that differ by it, of all samples
    samples: int  # with such elements


@dataclass(frozen=True)
class Validation:
    """What was found."""

    exact: bool
    samples: int
    max_abs_diff: float  # largest of all, in LSB or of float32; above 0 in an exact run only where `permitted` says
    # why, or numbers are float32
    mismatches: int  # elements of all compared tensors that break the rule: exact means 0
    first_mismatch: FirstMismatch | None
    oracle: Oracle
    target: str
    kernels: str
    layers: tuple[Layer, ...]  # empty unless asked for
    permitted: tuple[Permitted, ...] = ()  # in execution order
    accuracy: ScoredAccuracy | None = None  # where samples have labels


def validate(
    compiled: Program,
    data: Samples | None = None,
    samples: int = 5,
    against: Oracle | None = None,
    seed: int = 0,
    per_layer: bool = False,
    progress: Progress | None = None,
    labels: Array | None = None,
) -> Validation:
    """Run the first `samples` of `data`, or as many drawn ones, on the target and compare every tensor.

    The oracle is the one that runs the model's own file, the simulator for a calibrated one, unless another is named.

    Of a stream, samples are the inputs of calls, one after the other: as many more are drawn or taken as come before
    the first output that counts. Outputs are compared with those of the whole model for each window.

    `labels`: the class of each sample, of which accuracy is measured; not of streams.

    Raises UsageError and ToolError where the oracle cannot be had; differences are no error here.
    """
    stream = compiled.schedule.graph.stream
    calls = samples + (stream.warmup_calls - 1 if stream else 0)
    chosen = random_samples(compiled.schedule.graph.inputs, calls, seed) if data is None else data[:calls]
    compared = len(chosen) - (calls - samples)
    if compared < 1:
        raise UsageError(f"validation: has {len(chosen)} samples, {calls - samples + 1} or more were expected.")
    oracle, engine = _chosen(compiled, against, chosen[0])
    comparisons: list[ComparedTensor] = []
    outputs: list[Array] = []
    for done, (found, output) in enumerate(_compare_all(compiled, chosen, engine), 1):
        comparisons += found
        outputs += output
        if progress is not None:
            progress(done, len(chosen))
    mismatches = sum(comparison.mismatches for comparison in comparisons)
    return Validation(
        exact=mismatches == 0,
        samples=compared,
        max_abs_diff=max((comparison.max_abs_diff for comparison in comparisons), default=0),
        mismatches=mismatches,
        first_mismatch=_first_mismatch(compiled, comparisons),
        oracle=oracle,
        target=compiled.schedule.board.name,
        kernels=compiled.kernels,
        layers=tuple(_layers(compiled, comparisons)) if per_layer else (),
        permitted=tuple(_permitted(compiled, comparisons)),
        accuracy=None if labels is None or not outputs else accuracy_of(compiled, chosen, outputs, labels),
    )


def _chosen(compiled: Program, against: Oracle | None, inputs: Sample) -> tuple[Oracle, InferenceEngine | None]:
    """The oracle, and what runs the model's file; `inputs` are those of one call."""
    has_references_alone = compiled.is_calibrated or compiled.has_front_end or compiled.schedule.graph.stream
    oracle = against or (Oracle.SIMULATOR if has_references_alone else oracle_for(compiled.source, compiled.imported))
    if against is None and oracle is Oracle.LITERT:
        return _able(compiled, inputs)
    engine = _engine(compiled, oracle)
    return oracle, FedBack(engine, compiled.port_states) if engine and compiled.port_states else engine


def _able(compiled: Program, inputs: Sample) -> tuple[Oracle, InferenceEngine]:
    """The first that runs a TFLite file: LiteRT's reference kernels, TFLite Micro's, or LiteRT's for hosts.

    The refusal is that of the first one.
    """
    source, spelling = compiled.source, compiled.spelling
    makers: tuple[tuple[Oracle, Callable[[], InferenceEngine | None]], ...] = (
        (Oracle.LITERT, partial(_engine, compiled, Oracle.LITERT)),
        (Oracle.TFLM, partial(_engine, compiled, Oracle.TFLM)),
        (Oracle.LITERT, partial(LiteRT, source, spelling.stop_at, spelling.shapes, has_references=False)),
    )
    first: UsageError | None = None
    for oracle, make in makers:
        try:
            _made(compiled, make).run(inputs)
            return oracle, _made(compiled, make)  # whose states begin anew
        except UsageError as refusal:
            first = first or refusal
        except ToolError:
            if first is None:
                raise
    assert first is not None
    raise first


def _made(compiled: Program, make: Callable[[], InferenceEngine | None]) -> InferenceEngine:
    engine = make()
    assert engine is not None
    return FedBack(engine, compiled.port_states) if compiled.port_states else engine


def _engine(compiled: Program, oracle: Oracle) -> InferenceEngine | None:
    """What runs the model's file; None where the references alone are asked for."""
    if oracle is Oracle.SIMULATOR:
        return None
    if compiled.is_calibrated:
        raise UsageError(
            f"--against {oracle}: runs {compiled.source.name} in float32, {Oracle.SIMULATOR} was expected for a "
            "calibrated model. Leave the option out, or compare with the model of `tinygen quantize`."
        )
    if compiled.has_front_end:
        raise UsageError(
            f"--against {oracle}: cannot run {compiled.source.name} on samples, {Oracle.SIMULATOR} was expected. "
            "Leave the option out here; without --front-end it compares the network."
        )
    if compiled.schedule.graph.stream is not None:
        raise UsageError(
            f"--against {oracle}: cannot run {compiled.source.name} as a stream, {Oracle.SIMULATOR} was expected. "
            "Leave the option out here; without --stream it compares the whole model."
        )
    right = oracle_for(compiled.source, compiled.imported)
    is_alike = {oracle, right} == {Oracle.TFLM, Oracle.LITERT} and right is Oracle.LITERT
    if oracle is not right and not is_alike:
        able = " or ".join(dict.fromkeys((right, Oracle.SIMULATOR)))
        raise UsageError(
            f"--against {oracle}: cannot run {compiled.source.name}, {able} was expected. "
            "Name one of them, or leave the option out."
        )
    if oracle is Oracle.TFLM:
        if compiled.spelling.shapes:
            raise UsageError(
                f"--against {oracle}: runs {compiled.source.name} in the shapes of the file, without --input-shape. "
                f"Compare with {Oracle.LITERT} or {Oracle.SIMULATOR}."
            )
        return Tflm(compiled.source, compiled.spelling.stop_at)
    if oracle is Oracle.LITERT:
        return LiteRT(compiled.source, compiled.spelling.stop_at, compiled.spelling.shapes)
    engine: Callable[[Path, Spelling], InferenceEngine]
    engine = import_module("tinygen.verify.onnxruntime").OnnxRuntime  # loads onnx: only when it is needed
    return engine(compiled.source, compiled.spelling)


def _compare_all(
    compiled: Program, samples: Samples, engine: InferenceEngine | None
) -> Iterator[tuple[list[ComparedTensor], list[Array]]]:
    """The comparisons of each sample, and its first output on the target; of streams none."""
    with work_folder() as folder:
        if compiled.schedule.graph.stream is not None:
            yield from ((found, []) for found in compare_stream(compiled, samples, folder))
            return
        image = compiled.build(folder, Measure.TRACE)
        operators = OperatorComparison(compiled.schedule.graph)
        size = len(samples) if compiled.schedule.graph.states else _BATCH  # a program begins anew
        for first in range(0, len(samples), size):
            batch = samples[first : first + size]
            runs = _run(compiled, image, batch)
            for inputs, run, found in zip(batch, runs, _compare(compiled, batch, runs), strict=True):
                theirs = engine and operators.call(inputs, engine.run(inputs))
                yield [*found, *(theirs or ())], list(run.outputs[:1])


def _run(compiled: Program, image: Image, batch: Samples) -> list[TargetRun]:
    execution = execute(image, compiled.schedule, batch)
    traces = read_trace(image, compiled.schedule, batch)
    return [TargetRun(*run) for run in zip(execution.outputs, traces, strict=True)]


def _compare(compiled: Program, batch: Samples, runs: Sequence[TargetRun]) -> Iterator[Iterator[ComparedTensor]]:
    """The comparisons of calls that follow each other with the references."""
    schedule = compiled.schedule
    imported = schedule.graph if compiled.has_front_end else compiled.imported  # what takes the same inputs
    if computes_real(schedule.graph):
        originals, target = reference.evaluate_calls(imported, batch), RealTarget(schedule, imported)
        for inputs, run, original in zip(batch, runs, originals, strict=True):
            yield target.call(inputs, run, original)
    else:
        for run, expected in zip(runs, run_references(imported, schedule.graph, batch), strict=True):
            yield compare_target(schedule, run, expected)


def _first_mismatch(compiled: Program, comparisons: Sequence[ComparedTensor]) -> FirstMismatch | None:
    wrong = [comparison for comparison in comparisons if comparison.mismatches]
    if not wrong:
        return None
    first = min(wrong, key=lambda comparison: comparison.stage)
    return FirstMismatch(stages(compiled.schedule)[first.stage].operator, first.tensor, first.side)


def _permitted(compiled: Program, comparisons: Sequence[ComparedTensor]) -> Iterator[Permitted]:
    found: dict[tuple[int, str, Rounding], list[int]] = {}
    for comparison in comparisons:
        if comparison.permitted and comparison.rounding is not None:
            key = comparison.stage, comparison.tensor, comparison.rounding
            found.setdefault(key, []).append(comparison.permitted)
    places = stages(compiled.schedule)
    for (stage, tensor, rounding), counts in sorted(found.items()):
        place = places[stage]
        yield Permitted(place.index, place.operator, tensor, rounding, sum(counts), len(counts))


def _layers(compiled: Program, comparisons: Sequence[ComparedTensor]) -> Iterator[Layer]:
    for position, stage in enumerate(stages(compiled.schedule)):
        here = [comparison for comparison in comparisons if comparison.stage == position]
        target = [comparison for comparison in here if comparison.side is Side.TARGET]
        oracle = [comparison for comparison in here if comparison.side is Side.ORACLE]
        yield Layer(stage.index, stage.operator, stage.name, stage.kernel, *_worst(target), *_worst(oracle))


def _worst(comparisons: Sequence[ComparedTensor]) -> tuple[float, int]:
    """Largest difference and number of mismatches."""
    largest = max((comparison.max_abs_diff for comparison in comparisons), default=0)
    return largest, sum(comparison.mismatches for comparison in comparisons)
