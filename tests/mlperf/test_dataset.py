"""Data sets: the runner's folders, arrays, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from tinygen.errors import UsageError
from tinygen.mlperf.dataset import load_data, random_data
from tinygen.mlperf.tasks import TASKS, Task


@pytest.mark.parametrize("is_root", [True, False])
def test_folder(tmp_path: Path, is_root: bool) -> None:
    folder = tmp_path / "kws01"
    folder.mkdir()
    for index in range(3):
        (folder / f"{index}.bin").write_bytes(bytes([index]) * 490)
    (folder / "y_labels.csv").write_text("0.bin, 12, 4\n1.bin, 12, 7\n2.bin, 12, 0\n")
    data = load_data(tmp_path if is_root else folder, TASKS["kws"])
    assert len(data) == 3
    samples = list(data.samples(2))
    assert [(sample.name, sample.label, sample.windows) for sample in samples] == [
        ("0.bin", 4, (bytes(490),)),
        ("1.bin", 7, (bytes([1]) * 490,)),
    ]


def test_windows_of_a_recording(tmp_path: Path) -> None:
    """As the runner cuts them: 2560 bytes, 512 further each time, 196 in a file of the benchmark."""
    recording = np.arange(640 + 195 * 128, dtype=np.float32)
    np.savez(tmp_path / "ad.npz", x=recording[None], y=np.array([1]))
    (sample,) = load_data(tmp_path / "ad.npz", TASKS["ad"]).samples(1)
    assert len(sample.windows) == 196
    assert np.array_equal(np.frombuffer(sample.windows[195], np.float32), recording[195 * 128 :])


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_random_data(task: Task) -> None:

    data = random_data(task, 3, 5)
    samples = list(data.samples(9))
    assert [len(sample.windows[0]) for sample in samples] == [task.sample_bytes] * 3
    assert [sample.windows for sample in random_data(task, 3, 5).samples(3)] == [s.windows for s in samples]


def _refusal(source: Path, task: str = "kws") -> str:
    with pytest.raises(UsageError) as caught:
        list(load_data(source, TASKS[task]).samples(9))
    return str(caught.value).replace(str(source.parent), "")


def test_refusals(tmp_path: Path) -> None:
    x = np.zeros((2, 490), np.int8)
    np.savez(tmp_path / "float.npz", x=x + np.float32(0.5))
    np.savez(tmp_path / "two.npz", data=x, more=x)
    np.savez(tmp_path / "class.npz", x=x, y=np.array([3, 12]))
    np.savez(tmp_path / "labels.npz", x=x, y=np.zeros(3))
    np.savez(tmp_path / "short.npz", x=x[:, 1:])
    (tmp_path / "text.npz").write_text("no archive")
    assert _refusal(tmp_path / "float.npz") == (
        "/float.npz: array 'x', sample 0 holds 0.5, a whole number of -128..127 was expected for keyword spotting. "
        "Convert the array, or correct what made it."
    )
    assert _refusal(tmp_path / "two.npz") == (
        "/two.npz: holds the arrays ['data', 'more'], one named 'x' or 'in0' was expected. Rename an array."
    )
    assert _refusal(tmp_path / "labels.npz") == "/labels.npz: array 'y' has shape [3], [2] was expected, as 'x' has."
    assert _refusal(tmp_path / "class.npz") == (
        "/class.npz, sample 1: has label 12, a class of 0..11 was expected for keyword spotting. "
        "Choose the data set of this task."
    )
    assert _refusal(tmp_path / "short.npz") == (
        "/short.npz, sample 0: has 489 bytes, 490 were expected for keyword spotting. Choose the data set of this task."
    )
    for name in ("text.npz", "none.npz"):
        assert _refusal(tmp_path / name).startswith(f"/{name}: cannot be read as samples (")


@pytest.mark.parametrize("names", [("x", "y"), ("in0", "labels"), ("features", "label")])
def test_arrays_are_named_as_for_other_commands(tmp_path: Path, names: tuple[str, str]) -> None:
    x = np.arange(2 * 490, dtype=np.int64).reshape(2, 490) % 100
    np.savez(tmp_path / "kws.npz", **{names[0]: x, names[1]: np.array([[3], [11]])})  # type: ignore[arg-type]
    samples = list(load_data(tmp_path / "kws.npz", TASKS["kws"]).samples(9))
    assert [sample.label for sample in samples] == [3, 11]
    assert samples[1].windows == (x[1].astype(np.int8).tobytes(),)


def test_windows_without_numbers(tmp_path: Path) -> None:
    recording = np.zeros((2, 700), np.float32)
    recording[1, 650] = np.nan
    np.savez(tmp_path / "ad.npz", x=recording)
    assert _refusal(tmp_path / "ad.npz", "ad") == (
        "/ad.npz: array 'x', sample 1 holds NaN or infinity, finite numbers were expected. "
        "Remove the sample, or correct what made it."
    )
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "0.bin").write_bytes(recording[1].tobytes())
    (folder / "y_labels.csv").write_text("0.bin,2,1\n")
    assert _refusal(folder, "ad") == (
        "/set/0.bin: holds NaN or infinity, finite numbers were expected. Remove the sample, or correct what made it."
    )


def test_folder_refusals(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    assert _refusal(folder) == (
        "/set/y_labels.csv: is missing, the runner's truth file was expected. Name the data set's folder."
    )
    (folder / "y_labels.csv").write_text("0.bin\n")
    assert _refusal(folder) == "/set/y_labels.csv: is damaged, lines `file,classes,class` were expected."
    (folder / "y_labels.csv").write_text("0.bin,12,1\n")
    assert _refusal(folder) == "/set/0.bin: cannot be read (No such file or directory)."
