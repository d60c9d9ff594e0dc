"""tinygen from Python: compile a model, run it, prove it, write it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tinygen.build.output import write_folder
from tinygen.build.toolchain import Opt
from tinygen.calib.engines import Assigning, Forced
from tinygen.codegen.project import ProjectKind
from tinygen.errors import UsageError
from tinygen.frontends.spelling import spelling_from_text
from tinygen.ir.graph import Port
from tinygen.ir.samples import input_arrays
from tinygen.ir.types import Array
from tinygen.kernels.base import Objective
from tinygen.pipeline import Compiled, Kernels, Options, compile_model
from tinygen.planner.schedule.solver import Solver
from tinygen.quant.widths import Widths
from tinygen.report.compilation import Compilation, report_compilation
from tinygen.report.curve import REREADABLE, RESIDENT, STREAMED, CurveRow, curve_rows
from tinygen.targets import parse_size
from tinygen.verify.oracle import Oracle
from tinygen.verify.samples import Samples, load_samples, stack_samples
from tinygen.verify.signal import load_calls
from tinygen.verify.validate import Validation, validate

DEFAULT_SAMPLES = 5  # drawn where no data is given

_Choice = TypeVar("_Choice", bound=Enum)

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
        """Compare with an oracle on `data`, or on drawn samples; by default the one that runs the model's file."""
        given = None if data is None else self._samples(data)
        drawn = DEFAULT_SAMPLES if given is None else results_of(self.compiled, given)
        count = samples if samples is not None else drawn
        oracle = None if against is None else choice(Oracle, "against", against)
        return validate(self.compiled, given, count, oracle, seed, per_layer)

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


def compile(
    path: str | Path,
    target: str = "host",
    *,
    name: str | None = None,
    ram: str | int | None = None,
    flash: str | int | None = None,
    optimize: str | None = None,
    split: bool = True,
    shrink: bool = True,
    streamed: bool = False,
    rereadable: bool = False,
    stored: bool = False,
    recompute: str | float = "5%",
    slack: str | float = Options.slack,
    solver: str = "builtin",
    stream: str | None = None,
    kernels: str = "auto",
    cmsis_nn: str | Path | None = None,
    cc_opt: str | None = None,
    allow_float: bool = False,
    input_shape: Sequence[str] = (),
    dim: Sequence[str] = (),
    input_layout: str = "nchw",
    ctable: str | Path | None = None,
    calibrate: str | Path | None = None,
    weights: str = "int8",
    op: Sequence[str] = (),
    activations: str = "int8",
    engine: Sequence[str] = (),
    max_drop: float = Assigning.max_drop,
    trust: bool = False,
) -> Model:
    """Compile a model file for a target; the options are those of `tinygen compile` (`streamed`: --input streamed,
    `rereadable`: --input rereadable, `stored`: --results stored). Without `optimize`, the fastest kernels that take no
    more RAM than the plain ones. `trust`: code in the model file may run (see SECURITY.md).

    Raises a `tinygen.errors.TinygenError`; the one that fits says whether model, options or a tool are at fault.
    """
    options = options_from_text(
        target,
        name=name,
        ram=ram,
        flash=flash,
        optimize=optimize,
        split=split,
        shrink=shrink,
        streamed=streamed,
        rereadable=rereadable,
        stored=stored,
        recompute=recompute,
        slack=slack,
        solver=solver,
        stream=stream,
        kernels=kernels,
        cmsis_nn=None if cmsis_nn is None else Path(cmsis_nn),
        cc_opt=cc_opt,
        allow_float=allow_float,
        input_shape=input_shape,
        dim=dim,
        input_layout=input_layout,
        ctable=None if ctable is None else Path(ctable),
        calibrate=None if calibrate is None else Path(calibrate),
        weights=weights,
        op=op,
        activations=activations,
        engine=engine,
        max_drop=max_drop,
        trust=trust,
    )
    compiled = compile_model(Path(path), options)
    compiled.check_fits()
    return Model(compiled)


def options_from_text(
    target: str,
    *,
    names_target: bool = True,
    name: str | None = None,
    ram: str | int | None = None,
    flash: str | int | None = None,
    optimize: str | None = None,
    split: bool = True,
    shrink: bool = True,
    streamed: bool = False,
    rereadable: bool = False,
    stored: bool = False,
    recompute: str | float = "5%",
    slack: str | float = Options.slack,
    solver: str = "builtin",
    stream: str | None = None,
    kernels: str = "auto",
    cmsis_nn: Path | None = None,
    cc_opt: str | None = None,
    allow_float: bool = False,
    input_shape: Sequence[str] = (),
    dim: Sequence[str] = (),
    input_layout: str = "nchw",
    ctable: Path | None = None,
    calibrate: Path | None = None,
    weights: str = "int8",
    op: Sequence[str] = (),
    activations: str = "int8",
    engine: Sequence[str] = (),
    max_drop: float = Assigning.max_drop,
    trust: bool = False,
) -> Options:
    """Options as people write them; UsageError."""
    if kernels == Kernels.PORTABLE.value and cmsis_nn is not None:
        raise UsageError("--kernels portable, --cmsis-nn: are given both, one was expected. Leave one of them out.")
    return Options(
        target=target,
        names_target=names_target,
        name=name,
        ram_bytes=None if ram is None else parse_size(ram),
        flash_bytes=None if flash is None else parse_size(flash),
        objective=Objective.TIME if optimize is None else choice(Objective, "optimize", optimize),
        may_grow=optimize is not None or kernels == Kernels.NATIVE.value,
        may_split=split,
        may_shrink=shrink,
        fetches_input=streamed or rereadable,
        rereads_input=rereadable,
        stores_output=stored,
        recompute=parse_share("recompute", recompute),
        slack=parse_share("slack", slack),
        solver=choice(Solver, "solver", solver),
        stream=stream,
        kernels=choice(Kernels, "kernels", kernels),
        cmsis_nn=cmsis_nn,
        opt=None if cc_opt is None else choice(Opt, "cc-opt", str(cc_opt)),
        allow_float=allow_float,
        spelling=spelling_from_text(tuple(input_shape), tuple(dim), input_layout),
        ctable=ctable,
        calibrate=calibrate,
        widths=Widths.parse(weights, op, activations),
        assigning=Assigning(checked_drop(max_drop), None, tuple(map(Forced.parse, engine))),
        trust=trust,
    )


def checked_drop(points: float) -> float:
    """The bound of --max-drop; UsageError where it is none."""
    if not 0 <= points < float("inf"):
        raise UsageError(f"--max-drop: is {points:g}, a number from 0 was expected.")
    return points


def parse_share(option: str, text: str | float) -> float:
    """A share written as 5% or 0.05; UsageError that names the option."""
    try:
        share = float(str(text).removesuffix("%")) / (100 if str(text).endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"--{option}: is '{text}', a share of 0% to 100%, such as 5% or 0.05, was expected.")
    return share


def choice(values: type[_Choice], option: str, text: str) -> _Choice:
    """The value called `text`; UsageError that names the others."""
    for value in values:
        if value.value == text:
            return value
    known = ", ".join(str(value.value) for value in values)
    raise UsageError(f"--{option}: is '{text}', one of {known} was expected. Choose one of them.")


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
