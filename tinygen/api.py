"""tinygen from Python: the commands as functions, with the commands' options as keywords.

A model is a path; the bytes of a TFLite or ONNX file; an `onnx.ModelProto`; a pair of a `torch.nn.Module` and a tuple
of example inputs; a `torch.export.ExportedProgram`; or a `keras.Model`. Data are the path of an .npz or .npy file, an
array for the only input, or a dictionary of arrays for several.

Every function raises a `tinygen.errors.TinygenError`; the one that fits says whether model, options or a tool are at
fault. What they return prints as the command's tables, and has its document as `to_dict()`.
"""

from __future__ import annotations  # `help` shows names, not what they stand for

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, TypeVar

from tinygen.build.desk import Desk
from tinygen.build.output import write_folder
from tinygen.calib.request import CalibrationRequest
from tinygen.codegen.project import ProjectKind
from tinygen.frontends.in_memory import Network, network_file
from tinygen.ir.types import Array
from tinygen.option import choice, from_written, options_of, written
from tinygen.options import Joining, Options
from tinygen.pipeline import Compiled
from tinygen.product import JointModels, product
from tinygen.report.compilation import Compilation, report_compilation
from tinygen.report.execution import Run
from tinygen.report.inspection import Inspection
from tinygen.report.measurement import BenchReport
from tinygen.report.result import Reported
from tinygen.report.validation import ValidationReport
from tinygen.tasks.calibration import CalibratedTable, calibrate_model
from tinygen.tasks.compiling import compiled_within
from tinygen.tasks.inspection import InspectionRequest, inspect_model
from tinygen.tasks.listener import SILENT
from tinygen.tasks.measuring import BenchRequest, bench_model
from tinygen.tasks.quantization import ModelFormat, QuantizationRequest, QuantizedModel, quantize_model
from tinygen.tasks.running import RunRequest, run_compiled
from tinygen.tasks.samples import Data, sample_file, samples_of, stack_outputs
from tinygen.tasks.validation import ValidationRequest, validate_compiled

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _takes(*requests: type) -> Callable[[_Function], _Function]:
    """Gives a function with `**options` the signature with all options of dataclasses, which `help` shows."""

    def signed(function: _Function) -> _Function:
        own = {name: p for name, p in signature(function).parameters.items() if p.kind is not Parameter.VAR_KEYWORD}
        found = {keyword: option for request in requests for keyword, option in options_of(request).items()}
        declared = (
            Parameter(keyword, Parameter.KEYWORD_ONLY, default=option.written_default, annotation=option.kind.type)
            for keyword, option in found.items()
            if keyword not in own
        )
        ordered = [p for p in own.values() if p.kind is not Parameter.KEYWORD_ONLY]
        keywords = [*(p for p in own.values() if p.kind is Parameter.KEYWORD_ONLY), *declared]
        annotation = signature(function).return_annotation
        function.__signature__ = Signature([*ordered, *keywords], return_annotation=annotation)  # type: ignore[attr-defined]
        return function

    return signed


def _asked(given: Mapping[str, Any], *requests: type) -> list[Any]:
    """Each dataclass of its own options, the last one of all that are left; UsageError for what is no option."""
    rest, made = dict(given), list[Any]()
    for request in requests[:-1]:
        own = {keyword: rest.pop(keyword) for keyword in options_of(request) if keyword in rest}
        made.append(from_written(request, own))
    return [*made, from_written(requests[-1], rest)]


@dataclass(frozen=True, repr=False)
class Model(Reported):
    """A compiled model."""

    compiled: Compiled

    @property
    def report(self) -> Compilation:
        """Arena, constants, work, kernels, and the files that `write` writes."""
        return report(self.compiled, self.compiled.folder_files(ProjectKind.MAKE))

    def run(self, x: Data) -> Array | tuple[Array, ...]:
        """The outputs of the generated C for one or more samples; for a board, under QEMU.

        `x` is an array for the only input, a list or a dictionary of arrays for several, or the path of an .npy or .npz
        file. An array has its input's shape, or samples as first axis. The first axis of an output counts samples too.
        One array for one output, a tuple for several.
        """
        outputs = stack_outputs(self.compiled.execute(samples_of(self.compiled, x)[0]).outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def validate(self, data: Data | None = None, **options: Any) -> ValidationReport:
        """Compare with an oracle on `data`, or on drawn samples; by default the one that runs the model's file.

        Options are those of `tinygen validate`: `samples`, `against`, `per_layer`, `seed`. Labels in a file give the
        accuracy too.
        """
        [asked] = _asked(options, ValidationRequest)
        return validate_compiled(self.compiled, asked, data=data)

    def write(self, out: str | Path, project: str = "make", force: bool = False) -> Path:
        """Write the model's C, all sources it needs and a build file into the folder `out`."""
        files = self.compiled.folder_files(choice(ProjectKind, "project", project))
        write_folder(Path(out), files, force)
        return Path(out)


@_takes(Options)
def compile(model: Network, target: str = Options.target, **options: Any) -> Model:
    """Compile a model for a target; the options are those of `tinygen compile`, with underscores and without dashes:
    `compile("kws.tflite", "mps2-an386", ram="8K", optimize="ram", input="streamed", split=False)`. Without `optimize`,
    the fastest kernels that take no more RAM than the plain ones. `trust`: code in the model file may run (see
    SECURITY.md).
    """
    return Model(_compiled(model, target, options))


def _compiled(model: Network, target: str, options: Mapping[str, Any], desk: Desk | None = None) -> Compiled:
    [chosen] = _asked({"target": target, **options}, Options)
    return compiled_within(network_file(model), chosen, SILENT, desk)


@_takes(InspectionRequest, Options)
def inspect(model: Network, target: str = Options.target, **options: Any) -> Inspection:
    """Whether a model is supported and fits, and what stands in the way: `fits`, `arena_bytes`, `peak_step`,
    `unsupported`. `ops` lists operators, `curve` what less RAM costs. What does not fit is no error here.
    """
    asked, chosen = _asked({"target": target, **options}, InspectionRequest, Options)
    return inspect_model(network_file(model), chosen, asked)[0]


@_takes(RunRequest, Desk, Options)
def run(model: Network, data: Data | None = None, target: str = Options.target, **options: Any) -> Run:
    """Compute the outputs of the generated C for the samples of `data`, or for one that is drawn from `seed`: on this
    machine, under QEMU, or on the board at `port`. `outputs` has an array by name, whose first axis counts samples.
    """
    asked, desk, chosen = _asked({"target": target, **options}, RunRequest, Desk, Options)
    compiled = compiled_within(network_file(model), chosen, SILENT, desk.chosen)
    return run_compiled(compiled, asked, data)


@_takes(ValidationRequest, Desk, Options)
def validate(
    model: Network, data: Data | None = None, target: str = Options.target, **options: Any
) -> ValidationReport:
    """Run a model on the target and compare every tensor with a reference, to the bit: on `data`, or on `samples` that
    are drawn from `seed`. Differences are no error here: see `exact`.
    """
    asked, desk, chosen = _asked({"target": target, **options}, ValidationRequest, Desk, Options)
    compiled = compiled_within(network_file(model), chosen, SILENT, desk.chosen)
    return validate_compiled(compiled, asked, data=data)


@_takes(BenchRequest, Desk, Options)
def bench(model: Network, target: str = Options.target, **options: Any) -> BenchReport:
    """Measure one inference under QEMU, or on the board at `port` too: instructions, modelled cycles, stack, code,
    constants. The host counts nothing.
    """
    asked, desk, chosen = _asked({"target": target, **options}, BenchRequest, Desk, Options)
    return bench_model(network_file(model), chosen, asked, desk.chosen)


@_takes(CalibrationRequest)
def calibrate(model: Network, data: Data | None = None, *, errors: bool = False, **options: Any) -> CalibratedTable:
    """Find the quantization of a float model from samples. `errors`: measure what each layer loses, too."""
    with sample_file(data) as file:
        [request] = _asked({"data": file, **options}, CalibrationRequest)
        return calibrate_model(network_file(model), request, measures_layers=errors)


@_takes(QuantizationRequest)
def quantize(model: Network, data: Data | None = None, *, format: str = "onnx", **options: Any) -> QuantizedModel:
    """A float model as a quantized one that other runtimes take, by samples or by a `ctable`: `format` is onnx, with
    QuantizeLinear, or tflite. Its `content` is a model too: `compile(quantize(...).content)`.
    """
    chosen = choice(ModelFormat, "format", format)
    with sample_file(data) as file:
        [request] = _asked({"data": file, **options}, QuantizationRequest)
        return quantize_model(network_file(model), request, chosen)


@dataclass(frozen=True)
class Models:
    """Several compiled models in one folder and one memory."""

    product: JointModels

    @property
    def arena_bytes(self) -> int:
        """Memory of all of them."""
        return self.product.joint.arena_bytes

    def write(self, out: str | Path, project: str = "make", force: bool = False) -> Path:
        """Write the C of all models, all sources that they need, each once, and a build file into the folder `out`."""
        write_folder(Path(out), self.product.folder_files(choice(ProjectKind, "project", project)), force)
        return Path(out)


def join(
    name: str,
    models: Sequence[Model],
    together: Sequence[Sequence[str]] = (),
    cascade: Sequence[Sequence[str]] = (),
) -> Models:
    """Models for one board, each compiled with options of its own, in one memory; `name`: of the folder, in C.

    Those of each list in `together` may interrupt each other; in each list of `cascade` one takes the output of the one
    before where it lies. Raises UsageError where they do not go together, DoesNotFitError.
    """
    joining = Joining(tuple(map(tuple, together)), tuple(map(tuple, cascade)))
    made = product(name, [model.compiled for model in models], joining)
    made.check_fits()
    return Models(made)


def report(compiled: Compiled, files: Iterable[str]) -> Compilation:
    """The report on a compiled model that is written as `files`."""
    return report_compilation(
        compiled.schedule,
        compiled.name,
        compiled.source,
        compiled.kernels,
        files,
        compiled.arena_limit_bytes,
        compiled.saved,
        written(compiled.options),
        compiled.schedule.hot_code,
    )
