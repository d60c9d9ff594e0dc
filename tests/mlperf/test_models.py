"""The reference models are fetched whole and right, or not at all."""

import shutil
from pathlib import Path

import pytest

from tests.support.shared import shared_file
from tinygen.errors import ToolError, UsageError
from tinygen.mlperf import models
from tinygen.mlperf.models import fetch, find, int8_model, reference_models
from tinygen.mlperf.tasks import TASKS

REPOSITORY = "mlcommons/tiny/1afd2c9820f795965a6134facd0b4dfae41ef23f"


def _ignore(done: int, total: int) -> None:
    assert 0 <= done < total


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository as files, in place of the network."""
    folder = tmp_path / "origin"
    for model in reference_models():
        file = folder / REPOSITORY / model.path
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shared_file(f"models/mlperf_tiny/{model.file}"), file)
    monkeypatch.setattr(models, "_HOST", folder.as_uri())
    return folder


def test_all_are_fetched_once(origin: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    steps: list[tuple[int, int]] = []
    files = fetch(out, lambda done, total: steps.append((done, total)))
    assert [file.name for file in files] == [model.file for model in reference_models()]
    assert sorted(out.iterdir()) == sorted(files) and steps[-1] == (len(files) - 1, len(files))
    shutil.rmtree(origin)
    assert fetch(out, _ignore) == files  # what is there is not asked for again


def test_wrong_contents_are_not_stored(origin: Path, tmp_path: Path) -> None:
    first = reference_models()[0]
    file = origin / REPOSITORY / first.path
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(
        ToolError, match=rf"{first.file}: has sha256 \w+, {first.sha256} was expected. The file was not"
    ):
        fetch(tmp_path / "out", _ignore)
    assert list((tmp_path / "out").iterdir()) == []


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_HOST", (tmp_path / "nowhere").as_uri())
    with pytest.raises(ToolError, match=r"ad01_int8.tflite: cannot be fetched \(.*\). Connect to a network"):
        fetch(tmp_path / "out", _ignore)


def test_every_task_has_its_model(tmp_path: Path) -> None:
    assert {task: int8_model(task).file for task in TASKS} == {
        "kws": "kws_ref_model.tflite",
        "ic": "pretrainedResnet_quant.tflite",
        "vww": "vww_96_int8.tflite",
        "ad": "ad01_int8.tflite",
        "sww": "str_ww_ref_model.tflite",
    }
    with pytest.raises(UsageError, match="needed for the task kws"):
        find(int8_model("kws"), tmp_path)
