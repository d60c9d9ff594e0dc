"""Data sets of the runner: a folder with its truth file, or arrays in an .npz."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.types import Array
from tinygen.mlperf.tasks import InputForm, Task

TRUTH_FILE = "y_labels.csv"

_DTYPES = {InputForm.FEATURES: np.int8, InputForm.IMAGE: np.uint8, InputForm.WINDOW: np.float32}


@dataclass(frozen=True)
class Sample:
    """One file of a data set: a single input, or windows of a longer one."""

    name: str
    windows: tuple[bytes, ...]
    label: int | None


@dataclass(frozen=True)
class DataSet:
    """Samples in the order of the truth file."""

    source: str
    files: tuple[tuple[str, int | None], ...]  # names and labels
    arrays: Array | None  # [sample, ...], where they come from an .npz
    task: Task

    def __len__(self) -> int:
        return len(self.files)

    def samples(self, limit: int) -> Iterator[Sample]:
        """The first samples, read one by one."""
        for index, (name, label) in enumerate(self.files[:limit]):
            yield Sample(name, self._windows(name, self._bytes(index, name)), label)

    def _bytes(self, index: int, name: str) -> bytes:
        if self.arrays is not None:
            return np.ascontiguousarray(self.arrays[index]).tobytes()
        try:
            return (Path(self.source) / name).read_bytes()
        except OSError as error:
            raise UsageError(f"{Path(self.source) / name}: cannot be read ({error.strerror}).") from None

    def _windows(self, name: str, data: bytes) -> tuple[bytes, ...]:
        size, stride = self.task.sample_bytes, self.task.stride_bytes
        starts = range(0, len(data) - size + 1, stride) if stride else range(1 if len(data) == size else 0)
        if not starts:
            raise UsageError(
                f"{self.source}, {name}: has {len(data)} bytes, {size} were expected for {self.task.title}. "
                "Choose the data set of this task."
            )
        return tuple(data[start : start + size] for start in starts)


def load_data(source: Path, task: Task) -> DataSet:
    """A data set; UsageError where it is none of this task."""
    return _from_folder(source, task) if source.is_dir() else _from_arrays(source, task)


def random_data(task: Task, count: int, seed: int) -> DataSet:
    """Inputs without meaning, for measuring time."""
    random = np.random.default_rng(seed)
    shape = (count, task.input_elements)
    values: Array
    match task.form:
        case InputForm.FEATURES:
            values = random.integers(-128, 128, shape, np.int8)
        case InputForm.IMAGE:
            values = random.integers(0, 256, shape, np.uint8)
        case InputForm.WINDOW:
            values = random.standard_normal(shape, np.float32)
    return DataSet(f"random (seed {seed})", _unlabelled(count), values, task)


def _unlabelled(count: int) -> tuple[tuple[str, int | None], ...]:
    return tuple((f"sample {index}", None) for index in range(count))


def _from_folder(folder: Path, task: Task) -> DataSet:
    """The folder with the truth file, or the one above it that holds a folder for each task."""
    inner = folder / task.model_version
    found = inner if (inner / TRUTH_FILE).is_file() else folder
    try:
        rows = list(csv.reader((found / TRUTH_FILE).read_text(encoding="utf-8").splitlines()))
        files = tuple((row[0].strip(), int(row[2])) for row in rows if row)
    except OSError:
        raise UsageError(
            f"{found / TRUTH_FILE}: is missing, the runner's truth file was expected. Name the data set's folder."
        ) from None
    except (ValueError, IndexError):
        raise UsageError(f"{found / TRUTH_FILE}: is damaged, lines `file,classes,class` were expected.") from None
    return DataSet(str(found), files, None, task)


def _from_arrays(file: Path, task: Task) -> DataSet:
    arrays = _arrays(file)
    if "x" not in arrays:
        raise UsageError(f"{file}: holds {', '.join(arrays) or 'nothing'}, an array `x` of samples was expected.")
    values, labels = arrays["x"], arrays.get("y")
    if values.ndim < 2 or values.dtype != _DTYPES[task.form]:
        raise UsageError(
            f"{file}: x is {values.dtype}{list(values.shape)}, {np.dtype(_DTYPES[task.form])}[samples, ...] was "
            f"expected for {task.title}. Convert it."
        )
    if labels is None:
        return DataSet(str(file), _unlabelled(len(values)), values, task)
    if labels.shape != (len(values),):
        raise UsageError(f"{file}: y has the shape {list(labels.shape)}, [{len(values)}] was expected, as x has.")
    files = tuple((f"sample {index}", int(label)) for index, label in enumerate(labels))
    return DataSet(str(file), files, values, task)


def _arrays(file: Path) -> dict[str, Array]:
    try:
        with np.load(file) as archive:
            return {name: archive[name] for name in ("x", "y") if name in archive}
    except (OSError, ValueError, AttributeError, TypeError):
        raise UsageError(f"{file}: cannot be read, a folder or an .npz file with `x` and `y` was expected.") from None
