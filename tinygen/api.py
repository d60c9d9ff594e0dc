"""tinygen from Python: compile a model, run it, prove it, write it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tinygen.build.output import write_folder
from tinygen.codegen.project import ProjectKind
from tinygen.errors import UsageError
from tinygen.ir.graph import Port
from tinygen.ir.samples import input_arrays
from tinygen.ir.types import Array
from tinygen.option import choice, options_of, written
from tinygen.options import Joining, Options, options_from_text
from tinygen.pipeline import Compiled, compile_model
from tinygen.product import JointModels, product
from tinygen.quant.dataset import read_labels
from tinygen.report.compilation import Compilation, report_compilation
from tinygen.report.curve import REREADABLE, RESIDENT, STREAMED, CurveRow, curve_rows
from tinygen.verify.oracle import Oracle
from tinygen.verify.samples import Samples, load_samples, stack_samples
from tinygen.verify.signal import load_calls
from tinygen.verify.validate import Validation, validate

DEFAULT_SAMPLES = 5  # drawn where no data is given

Arrays = npt.ArrayLike | Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike]
Data = str | Path | Arrays


@dataclass(frozen=True)
class Model:
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
        outputs = stack_outputs(self.compiled.execute(self._samples(x)).outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def validate(
        self,
        data: Data | None = None,
        samples: int | None = None,
        against: str | None = None,
        seed: int = 0,
        per_layer: bool = False,
    ) -> Validation:
        """Compare with an oracle on `data`, or on drawn samples; by default the one that runs the model's file.

        Labels in a file give the accuracy too.
        """
        given = None if data is None else self._samples(data)
        drawn = DEFAULT_SAMPLES if given is None else results_of(self.compiled, given)
        count = samples if samples is not None else drawn
        oracle = None if against is None else choice(Oracle, "against", against)
        labels = None
        if given is not None and isinstance(data, str | Path):
            labels = load_labels(self.compiled, Path(data), len(given))
        return validate(self.compiled, given, count, oracle, seed, per_layer, labels=labels)

    def write(self, out: str | Path, project: str = "make", force: bool = False) -> Path:
        """Write the model's C, all sources it needs and a build file into the folder `out`."""
        files = self.compiled.folder_files(choice(ProjectKind, "project", project))
        write_folder(Path(out), files, force)
        return Path(out)

    def _samples(self, data: Data) -> Samples:
        ports = self.compiled.graph.inputs
        if isinstance(data, str | Path):
            return load_inputs(self.compiled, Path(data))
        where = self.compiled.name
        return stack_samples(_named_arrays(data, ports, where), ports, where)


def compile(path: str | Path, target: str = "host", **options: Any) -> Model:
    """Compile a model file for a target; the options are those of `tinygen compile`, with underscores and without
    dashes: `compile("kws.tflite", "mps2-an386", ram="8K", optimize="ram", input="streamed", split=False)`. Without
    `optimize`, the fastest kernels that take no more RAM than the plain ones. `trust`: code in the model file may run
    (see SECURITY.md).

    Raises a `tinygen.errors.TinygenError`; the one that fits says whether model, options or a tool are at fault.
    """
    compiled = compile_model(Path(path), options_from_text(target, **options))
    compiled.check_fits()
    return Model(compiled)


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


def _signature() -> Signature:
    """Of `compile`, with all options as keywords."""
    own = signature(compile).parameters
    keywords = {keyword: option for keyword, option in options_of(Options).items() if keyword not in own}
    declared = (
        Parameter(keyword, Parameter.KEYWORD_ONLY, default=option.written_default, annotation=option.kind.type)
        for keyword, option in keywords.items()
    )
    return Signature([own["path"], own["target"], *declared], return_annotation=Model)


compile.__signature__ = _signature()  # type: ignore[attr-defined]  # what `help` shows


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
    )


def curve(compiled: Compiled) -> tuple[CurveRow, ...]:
    """What less RAM costs with the input resident and, where the options say so, streamed."""
    options = compiled.options
    curves = {RESIDENT: compiled.curve(fetches_input=False)}
    if options.fetches_input:
        curves[STREAMED] = compiled.curve(fetches_input=True)
    if options.rereads_input:
        curves[REREADABLE] = compiled.curve(fetches_input=True, rereads_input=True)
    return curve_rows(curves)


def load_inputs(compiled: Compiled, file: Path) -> Samples:
    """The samples in a file; for a stream, the inputs of its calls in turn: see `load_samples` and `load_calls`."""
    if compiled.graph.stream is not None:
        return load_calls(file, compiled.imported, compiled.graph)
    return load_samples(file, compiled.graph.inputs)


def load_labels(compiled: Compiled, file: Path, samples: int) -> Array | None:
    """The class of each of the samples in a file, where it has them; None of a stream, whose samples are columns."""
    return None if compiled.graph.stream is not None else read_labels(file, samples)


def results_of(compiled: Compiled, inputs: Samples) -> int:
    """How many outputs count that samples, or the calls of a stream, give."""
    stream = compiled.graph.stream
    return len(inputs) - (stream.warmup_calls - 1 if stream else 0)


def stack_outputs(samples: Sequence[Sequence[Array]]) -> tuple[Array, ...]:
    """Per output, one array with samples as first axis: in place of the model's own first axis where that is 1."""
    return tuple(_stacked(list(column)) for column in zip(*samples, strict=True))


def _stacked(column: Sequence[Array]) -> Array:
    first = column[0]
    return np.concatenate(column) if first.ndim and first.shape[0] == 1 else np.stack(column)


def _named_arrays(data: Arrays, ports: Sequence[Port], where: str) -> dict[str, Array]:
    """Arrays by name; one that has just its input's shape becomes one sample."""
    if isinstance(data, Mapping):
        given = {name: np.asarray(values) for name, values in data.items()}
    elif len(ports) == 1:
        given = {"in0": np.asarray(data)}
    elif isinstance(data, Sequence) and len(data) == len(ports):
        given = {f"in{index}": np.asarray(values) for index, values in enumerate(data)}
    else:
        count = len(data) if isinstance(data, Sequence) else 1
        names = ", ".join(port.name for port in ports)
        raise UsageError(
            f"inputs: {count} {'is' if count == 1 else 'are'} given, {len(ports)} were expected ({names}). "
            "Give a list of arrays, or a dictionary with the names of the inputs."
        )
    shapes = dict(
        zip(
            input_arrays(where, given, [port.name for port in ports]),
            (port.external.shape for port in ports),
            strict=True,
        )
    )
    return {key: array[np.newaxis] if array.shape == shapes.get(key) else array for key, array in given.items()}
