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
    np.savez(tmp_path / "float.npz", x=x.astype(np.float32))
    np.savez(tmp_path / "other.npz", data=x)
    np.savez(tmp_path / "labels.npz", x=x, y=np.zeros(3))
    np.savez(tmp_path / "short.npz", x=x[:, 1:])
    (tmp_path / "text.npz").write_text("no archive")
    assert _refusal(tmp_path / "float.npz") == (
        "/float.npz: x is float32[2, 490], int8[samples, ...] was expected for keyword spotting. Convert it."
    )
    assert _refusal(tmp_path / "other.npz") == "/other.npz: holds nothing, an array `x` of samples was expected."
    assert _refusal(tmp_path / "labels.npz") == "/labels.npz: y has the shape [3], [2] was expected, as x has."
    assert _refusal(tmp_path / "short.npz") == (
        "/short.npz, sample 0: has 489 bytes, 490 were expected for keyword spotting. Choose the data set of this task."
    )
    for name in ("text.npz", "none.npz"):
        assert _refusal(tmp_path / name) == (
            f"/{name}: cannot be read, a folder or an .npz file with `x` and `y` was expected."
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
