"""Samples of a compiled model: from files, from arrays, drawn, and what it makes of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tinygen.errors import UsageError
from tinygen.ir.graph import Port
from tinygen.ir.samples import input_arrays
from tinygen.ir.types import Array
from tinygen.option import COUNT, option
from tinygen.pipeline import Compiled
from tinygen.quant.dataset import read_labels
from tinygen.system.work import work_folder
from tinygen.verify.samples import Samples, load_samples, stack_samples
from tinygen.verify.signal import load_calls

MOST_SAMPLES = 1_000_000  # that are drawn or read at once
SAMPLES_HELP = (
    "Samples, .npz or .npy with an array per input (named as in the model, or in0, in1, ...); the first axis counts "
    "samples."
)

Arrays = npt.ArrayLike | Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike]
Data = str | Path | Arrays


def seed_option() -> int:
    """Which random inputs are drawn, of tasks that may draw some."""
    return option(0, COUNT, "--seed", at_least=0, help="Seed of random inputs, where no data is given.")


def load_inputs(compiled: Compiled, file: Path) -> Samples:
    """The samples in a file; for a stream, the inputs of its calls in turn: see `load_samples` and `load_calls`."""
    if compiled.graph.stream is not None:
        return load_calls(file, compiled.imported, compiled.graph)
    return load_samples(file, compiled.graph.inputs)


def load_labels(compiled: Compiled, file: Path, samples: int) -> Array | None:
    """The class of each of the samples in a file, where it has them; None of a stream, whose samples are columns."""
    return None if compiled.graph.stream is not None else read_labels(file, samples)


def samples_of(compiled: Compiled, data: Data) -> tuple[Samples, Array | None]:
    """Samples in a file or in arrays, and their labels where a file has some.

    One array stands for the only input, a list or a dictionary of arrays for several; each has its input's shape, or
    samples as first axis. UsageError.
    """
    if isinstance(data, str | Path):
        inputs = load_inputs(compiled, Path(data))
        return inputs, load_labels(compiled, Path(data), len(inputs))
    ports = compiled.graph.inputs
    return stack_samples(_named_arrays(data, ports, compiled.name), ports, compiled.name), None


@contextmanager
def sample_file(data: Data | None) -> Iterator[Path | None]:
    """The file of samples; arrays get one that is gone afterwards: one array for the only input, or a dictionary."""
    if data is None or isinstance(data, str | Path):
        yield None if data is None else Path(data)
        return
    arrays = data if isinstance(data, Mapping) else {"in0": data}
    with work_folder() as folder:
        file = folder / "samples.npz"
        np.savez(file, allow_pickle=False, **{name: np.asarray(values) for name, values in arrays.items()})
        yield file


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
