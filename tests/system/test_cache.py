"""The cache: what is damaged or another's is made anew, folders that others can write are refused, nothing twice."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kills import killed_at_every_step
from tinygen.errors import ToolError
from tinygen.system import cache
from tinygen.system.work import work_folder

NAME = "kind/made.txt"
CONTENT = b"made well"
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away: other users' are not tested")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


def _make(file: Path) -> None:
    file.write_bytes(CONTENT)


def _never(file: Path) -> None:
    raise AssertionError(f"{file} is there already")


def _all(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_entry_is_made_once(folder: Path) -> None:
    made = cache.entry(NAME, _make)
    assert made == folder / NAME and made.read_bytes() == CONTENT
    assert cache.entry(NAME, _never) == made
    assert _all(folder) == [NAME, f"{NAME}.sha256"]
    assert [path.stat().st_mode & 0o777 for path in (folder, made.parent, made)] == [0o700, 0o700, 0o600]


def test_what_is_beside_the_file_goes(folder: Path) -> None:
    def make(file: Path) -> None:
        (file.parent / "other").write_text("on the way")
        _make(file)

    cache.entry(NAME, make)
    assert _all(folder) == [NAME, f"{NAME}.sha256"]


def test_what_fails_leaves_nothing(folder: Path) -> None:
    def fail(file: Path) -> None:
        file.write_bytes(CONTENT[:3])
        raise KeyError(file.name)

    with pytest.raises(KeyError):
        cache.entry(NAME, fail)
    assert _all(folder) == []


def _truncate(file: Path) -> None:
    file.write_bytes(CONTENT[:4])


def _flip(file: Path) -> None:
    file.write_bytes(CONTENT[:-1] + b"L")


def _without_digest(file: Path) -> None:
    (file.parent / f"{file.name}.sha256").unlink()


def _spoilt_digest(file: Path) -> None:
    (file.parent / f"{file.name}.sha256").write_bytes(b"\xff\0")


def _link(file: Path) -> None:
    elsewhere = file.with_name("elsewhere")
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def _open_to_all(file: Path) -> None:
    file.chmod(0o666)


def _planted(file: Path) -> None:
    os.chown(file, NOBODY, NOBODY)


@pytest.mark.parametrize(
    "harm",
    [_truncate, _flip, _without_digest, _spoilt_digest, _link, _open_to_all, pytest.param(_planted, marks=as_root)],
)
def test_an_entry_that_may_be_wrong_is_made_anew(folder: Path, harm: Callable[[Path], None]) -> None:
    file = cache.entry(NAME, _make)
    harm(file)
    assert cache.entry(NAME, _make) == file
    assert file.read_bytes() == CONTENT and not file.is_symlink()
    assert file.stat().st_uid == os.geteuid()
    cache.entry(NAME, _never)
    assert folder in file.parents


@pytest.mark.parametrize("place", ["", "kind"])
def test_a_folder_that_others_may_write_is_refused(folder: Path, place: str) -> None:
    cache.entry(NAME, _make)
    (folder / place).chmod(0o777)
    with pytest.raises(ToolError) as caught:
        cache.entry(NAME, _never)
    assert str(caught.value) == (
        f"{folder / place}: others may write to it (mode 777), a cache folder for its owner alone was expected, for "
        f"what lies there is linked and run. Run `chmod go-w {folder / place}`, or name another folder with "
        "$TINYGEN_CACHE."
    )


def test_a_folder_of_a_shared_group_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But not one of the user's own group, which many systems make for every user."""
    folder.mkdir(parents=True)
    folder.chmod(0o770)
    monkeypatch.setattr("tinygen.system.cache._is_private_group", lambda _: False)
    with pytest.raises(ToolError, match="others may write to it \\(mode 770\\)"):
        cache.entry(NAME, _never)
    monkeypatch.undo()


@as_root
def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    folder.mkdir(parents=True)
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(ToolError) as caught:
        cache.entry(NAME, _never)
    assert str(caught.value) == (
        f"{folder}: belongs to user {NOBODY}, a cache folder of user 0 was expected, for what lies there is linked "
        "and run. Run as that user, or name another folder with $TINYGEN_CACHE."
    )


def test_a_file_in_place_of_the_folder(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("mine")
    with pytest.raises(ToolError) as caught:
        cache.entry(NAME, _never)
    assert str(caught.value) == (
        f"{folder}: cannot be written (File exists), a cache folder was expected. Correct that, or name another folder "
        "with $TINYGEN_CACHE."
    )


def test_killed_at_any_step_the_next_one_makes_it(folder: Path) -> None:
    for _ in killed_at_every_step(folder, lambda: cache.entry(NAME, _make)):
        assert cache.entry(NAME, _make).read_bytes() == CONTENT
        assert all(not stat.S_ISLNK(path.lstat().st_mode) for path in folder.rglob("*"))
        with work_folder(folder / "kind"):  # sweeps
            pass
        left = set(_all(folder)) - {f"{NAME}.lock"}
        assert left == {NAME, f"{NAME}.sha256"}
        for file in left:
            (folder / file).unlink()


ONE_OF_MANY = """
import fcntl, os, sys
from tinygen.system import cache

lock = fcntl.flock

def announce(descriptor, operation):
    os.write(1, b"lock\\n")
    return lock(descriptor, operation)

def make(file):
    os.write(1, b"make\\n")
    sys.stdin.readline()
    file.write_bytes(b"made well")

fcntl.flock = announce
cache.entry("made.txt", make)
os.write(1, b"done\\n")
"""


def _one_of_many() -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", ONE_OF_MANY]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def _one_that_makes() -> "subprocess.Popen[str]":
    """One that has the lock, and waits with the entry half made."""
    process = _one_of_many()
    _said_until(process, "make")
    return process


def _said_until(process: "subprocess.Popen[str]", word: str) -> list[str]:
    assert process.stdout is not None
    said: list[str] = []
    while word not in said:
        line = process.stdout.readline()
        assert line, f"ended after {said}"
        said.append(line.strip())
    return said


def test_two_processes_do_not_make_the_same(folder: Path) -> None:
    """The second one comes to the lock while the first one works, and finds the entry made."""
    with _one_that_makes() as first, _one_of_many() as second:
        assert _said_until(second, "lock") == ["lock"]
        assert first.stdin is not None
        first.stdin.write("go on\n")
        _said_until(first, "done")
        assert second.stdin is not None
        second.stdin.write("go on\n")
        assert "make" not in _said_until(second, "done")
    assert (folder / "made.txt").read_bytes() == CONTENT


def test_one_that_is_killed_lets_the_next_one_in(folder: Path) -> None:
    with _one_that_makes() as first, _one_of_many() as second:
        _said_until(second, "lock")
        first.kill()
        assert second.stdin is not None
        second.stdin.write("go on\n")
        assert "make" in _said_until(second, "done")
    assert (folder / "made.txt").read_bytes() == CONTENT
