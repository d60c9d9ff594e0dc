"""Folders for work: gone afterwards, also where a process was killed at any step."""

import os
import tempfile
from pathlib import Path

import pytest

from tests.support.kills import killed_at_every_step
from tinygen.system.work import is_work, work_folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def _work(place: Path) -> None:
    with work_folder(place) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "file").write_text("x")
        (folder / "other").write_text("y")


def test_a_folder_is_for_this_user_alone_and_gone_afterwards(place: Path) -> None:
    with work_folder() as folder:
        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700
        assert all(map(is_work, _names(place)))
    assert _names(place) == []


def test_a_folder_is_gone_after_an_error(place: Path) -> None:
    with pytest.raises(KeyError), work_folder() as folder:
        (folder / "file").write_text("x")
        raise KeyError
    assert _names(place) == []


def test_what_is_killed_at_any_step_is_swept_by_the_next(place: Path) -> None:
    for _ in killed_at_every_step(place, lambda: _work(place)):
        assert all(map(is_work, _names(place)))
        _work(place)
        assert _names(place) == []


def test_a_sweep_that_is_killed_at_any_step_is_ended_by_the_next(place: Path) -> None:
    _leave(place)
    for _ in killed_at_every_step(place, lambda: _work(place)):
        _work(place)
        assert _names(place) == []
        _leave(place)


def _leave(place: Path) -> None:
    """What a process leaves that is killed while it works."""
    child = os.fork()
    if child == 0:
        with work_folder(place) as folder:
            (folder / "file").write_text("x")
            os._exit(0)
    os.waitpid(child, 0)


def test_folders_that_are_worked_in_stay(place: Path) -> None:
    with work_folder(place) as first, work_folder(place) as second:
        assert first.is_dir() and second.is_dir()
        with work_folder(place):
            pass
        assert first.is_dir() and second.is_dir()


def test_other_files_stay(place: Path) -> None:
    mine = [".tinygen-work-mine", ".tinygen-work-0123456789abcdef", "tinygen.lock", ".tinygen-work-notes.lock"]
    for name in mine:
        (place / name).mkdir()
    _work(place)
    assert _names(place) == sorted(mine)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away: other users' are not tested")
def test_what_another_user_has_left_stays(place: Path) -> None:
    _leave(place)
    for path in place.iterdir():
        os.chown(path, 65534, 65534)
    before = _names(place)
    _work(place)
    assert _names(place) == before and len(before) == 2
