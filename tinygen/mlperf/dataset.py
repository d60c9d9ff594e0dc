"""Data sets of the runner: a folder with its truth file, or arrays in an .npz."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.samples import LABELS, elements, input_arrays
from tinygen.ir.types import Array, DType
from tinygen.mlperf.tasks import InputForm, Task
from tinygen.verify.samples import read_arrays

TRUTH_FILE = "y_labels.csv"

_DTYPES = {InputForm.FEATURES: DType.INT8, InputForm.IMAGE: DType.UINT8, InputForm.WINDOW: DType.FLOAT32}


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
        file = Path(self.source) / name
        try:
            data = file.read_bytes()
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"{file}: cannot be read ({reason}).") from None
        if self.task.form is InputForm.WINDOW and not np.isfinite(np.frombuffer(data, "<f4", len(data) // 4)).all():
            raise UsageError(
                f"{file}: holds NaN or infinity, finite numbers were expected. Remove the sample, or correct what made "
                "it."
            )
        return data

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
    except (ValueError, IndexError, csv.Error):
        raise UsageError(f"{found / TRUTH_FILE}: is damaged, lines `file,classes,class` were expected.") from None
    _check_labels(str(found), files, task)
    return DataSet(str(found), files, None, task)


def _from_arrays(file: Path, task: Task) -> DataSet:
    arrays = read_arrays(file)
    (name,) = input_arrays(str(file), arrays, ["x"])
    values = arrays[name]
    if values.ndim < 2:
        raise UsageError(
            f"{file}: array '{name}' has shape {list(values.shape)}, [samples, ...] was expected for {task.title}. "
            "Reshape it."
        )
    values = elements(str(file), name, values, _DTYPES[task.form], task.title)
    label = next((label for label in LABELS if label in arrays), None)
    if label is None:
        return DataSet(str(file), _unlabelled(len(values)), values, task)
    labels = arrays[label]
    if labels.size != len(values):
        raise UsageError(
            f"{file}: array '{label}' has shape {list(labels.shape)}, [{len(values)}] was expected, as '{name}' has."
        )
    classes = elements(str(file), label, labels.reshape(-1), DType.INT32, "labels")
    files = tuple((f"sample {index}", int(label)) for index, label in enumerate(classes))
    _check_labels(str(file), files, task)
    return DataSet(str(file), files, values, task)


def _check_labels(where: str, files: Sequence[tuple[str, int | None]], task: Task) -> None:
    """Raise UsageError where a label is no class of the task; of windows there are two, good and anomalous."""
    classes = 2 if task.form is InputForm.WINDOW else task.output_elements
    for name, label in files:
        if label is not None and not 0 <= label < classes:
            raise UsageError(
                f"{where}, {name}: has label {label}, a class of 0..{classes - 1} was expected for {task.title}. "
                "Choose the data set of this task."
            )
