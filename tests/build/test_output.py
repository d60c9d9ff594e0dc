"""The output folder: complete or absent, and the user's own files stay."""

import fcntl
import itertools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kills import killed_at_every_step
from tinygen.build.output import MANIFEST, check_folder, write_folder
from tinygen.errors import UsageError
from tinygen.system.lock import locked

FILES = {"a.c": "int a;\n", "sub/b.h": "/* b */\n"}


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }


def refusal(folder: Path, files: dict[str, str] = FILES, force: bool = False) -> str:
    with pytest.raises(UsageError) as caught:
        write_folder(folder, files, force)
    return str(caught.value)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    write_folder(folder, FILES)
    return folder


def test_a_new_folder_holds_the_files_and_nothing_else_appears(tmp_path: Path) -> None:
    write_folder(tmp_path / "deep" / "out", FILES)
    assert contents(tmp_path) == {f"deep/out/{file}": text for file, text in FILES.items()}
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    assert (tmp_path / "deep" / "out").stat().st_mode & 0o777 == 0o777 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_folder(tmp_path / name, FILES)
    assert (tmp_path / "one" / MANIFEST).read_bytes() == (tmp_path / "two" / MANIFEST).read_bytes()


def test_a_second_time_replaces_and_removes_what_tinygen_wrote(out: Path) -> None:
    (out / "mine.txt").write_text("mine")
    write_folder(out, {"a.c": "int a2;\n"})
    assert contents(out) == {"a.c": "int a2;\n", "mine.txt": "mine"}
    assert not (out / "sub").exists()
    assert sorted(path.name for path in out.iterdir()) == [MANIFEST, "a.c", "mine.txt"]


def test_the_folder_itself_stays_the_same(out: Path) -> None:
    """Someone may have it as working directory."""
    inode = out.stat().st_ino
    write_folder(out, {"c.c": "\n"})
    assert out.stat().st_ino == inode


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    write_folder(tmp_path, FILES)
    assert contents(tmp_path) == FILES


def test_a_folder_of_the_users_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("mine")
    assert refusal(tmp_path) == (
        f"{tmp_path}: is not empty and was not made by tinygen, an empty or new folder was expected. "
        "Choose another output folder, or overwrite files there with --force."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.c"]
    (tmp_path / "other.c").write_text("other")
    write_folder(tmp_path, FILES, force=True)
    assert contents(tmp_path) == {**FILES, "other.c": "other"}


def test_a_changed_file_is_refused_by_name_and_overwritten_with_force(out: Path) -> None:
    (out / "sub" / "b.h").write_text("mine")
    assert refusal(out, {**FILES, "a.c": "new"}) == (
        f"{out / 'sub/b.h'}: was changed after tinygen wrote it, or is not tinygen's. "
        "Keep a copy of it elsewhere, or overwrite it with --force."
    )
    assert contents(out) == {"a.c": "int a;\n", "sub/b.h": "mine"}
    write_folder(out, FILES, force=True)
    assert contents(out) == FILES


def test_a_changed_file_that_is_no_longer_made_stays(out: Path) -> None:
    (out / "a.c").write_text("mine")
    write_folder(out, {"sub/b.h": "\n"})
    assert contents(out) == {"a.c": "mine", "sub/b.h": "\n"}


def test_a_users_file_in_the_way_of_a_new_one_is_refused(out: Path) -> None:
    (out / "new.c").write_text("mine")
    assert "new.c: was changed after tinygen wrote it, or is not tinygen's." in refusal(out, {"new.c": "x"})
    assert (out / "new.c").read_text() == "mine"


def test_after_an_interruption_between_files_the_same_files_can_be_written_again(out: Path) -> None:
    (out / "a.c").write_text("int a2;\n")  # as an interrupted second time would leave it: manifest of the first
    write_folder(out, {"a.c": "int a2;\n"})
    assert contents(out) == {"a.c": "int a2;\n"}


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "[]",
        '{"files": 3}',
        '{"files": {}, "before": 3}',
        '{"files": {}, "before": {"a.c": "0"}}',
        '{"files": {"../../x": "0"}}',
        '{"files": {"/etc/x": "0"}}',
        '{"files": {"a.c": 1}}',
    ],
)
def test_a_damaged_manifest_is_refused(out: Path, manifest: str) -> None:
    (out / MANIFEST).write_text(manifest)
    assert refusal(out) == (
        f"{out}: its {MANIFEST} is damaged, the list of tinygen's files was expected. "
        "Choose another output folder, or overwrite files there with --force."
    )
    write_folder(out, FILES, force=True)
    assert json.loads((out / MANIFEST).read_text())["files"].keys() == FILES.keys()


def test_a_manifest_cannot_remove_files_elsewhere(out: Path) -> None:
    outside = out.parent / "keep.txt"
    outside.write_text("keep")
    digest = "0" * 64
    (out / MANIFEST).write_text(json.dumps({"files": {"sub/../../keep.txt": digest}}))
    refusal(out)
    assert outside.read_text() == "keep"


def test_links_are_not_written_through(out: Path) -> None:
    elsewhere = out.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file.c").write_text("int a;\n")
    (out / "a.c").unlink()
    (out / "a.c").symlink_to(elsewhere / "file.c")
    assert "a.c: was changed" in refusal(out)
    write_folder(out, {**FILES, "a.c": "new"}, force=True)
    assert (elsewhere / "file.c").read_text() == "int a;\n"
    (out / "linked").symlink_to(elsewhere)
    assert refusal(out, {"linked/file.c": "x"}, force=True) == (
        f"{out / 'linked'}: is in the way, a folder was expected. Remove it."
    )


def test_a_link_to_a_folder_is_the_folder(out: Path) -> None:
    link = out.parent / "link"
    link.symlink_to(out)
    write_folder(link, {"a.c": "new"})
    assert contents(out) == {"a.c": "new"}
    assert link.is_symlink()


OLD = {"a.c": "int old;\n", "same.h": "/* same */\n", "gone/b.h": "/* old */\n"}
NEW = {"a.c": "int new;\n", "same.h": "/* same */\n", "made/c.h": "/* new */\n"}
OTHER = {"a.c": "int other;\n", "d.c": "int d;\n"}
MINE = {"mine.txt": "mine", "gone/mine.txt": "mine too"}


def _write_mine(folder: Path) -> None:
    for file, text in MINE.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)


def _renew(folder: Path, files: dict[str, str]) -> None:
    """The folder with `files` by tinygen, and the user's own."""
    shutil.rmtree(folder, ignore_errors=True)
    write_folder(folder, files)
    _write_mine(folder)


def _everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("next_one", [OLD, NEW, OTHER], ids=["old", "new", "other"])
def test_an_update_killed_at_any_step_is_mended_by_the_next(tmp_path: Path, next_one: dict[str, str]) -> None:
    """Whatever the next one writes; nothing of tinygen's is taken for the user's, and nothing of the user's touched."""
    out = tmp_path / "out"
    _renew(out, OLD)
    for _ in killed_at_every_step(tmp_path, lambda: write_folder(out, NEW)):
        check_folder(out)
        write_folder(out, next_one)
        assert contents(out) == {**next_one, **MINE}
        assert _everything(tmp_path) == {f"out/{file}" for file in {*next_one, *MINE, MANIFEST}}
        assert not (out / "made").exists() or "made/c.h" in next_one
        _renew(out, OLD)
    assert contents(out) == {**NEW, **MINE}


def test_an_update_killed_again_and_again_is_mended_by_the_last(tmp_path: Path) -> None:
    """Each time one step further, with three sets of files in turn: all that was ever under way is known."""
    out = tmp_path / "out"
    _renew(out, OLD)
    turns = itertools.cycle((NEW, OTHER, OLD))
    for _ in killed_at_every_step(tmp_path, lambda: write_folder(out, next(turns))):
        next(turns)
    write_folder(out, NEW)
    assert contents(out) == {**NEW, **MINE}


def test_a_first_time_killed_at_any_step_is_complete_or_absent(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in killed_at_every_step(tmp_path, lambda: write_folder(out, NEW)):
        assert not out.exists() or contents(out) == NEW
        write_folder(out, NEW)
        assert _everything(tmp_path) == {f"out/{file}" for file in (*NEW, MANIFEST)}
        shutil.rmtree(out)


def test_an_empty_folder_killed_at_any_step_is_filled_by_the_next(tmp_path: Path) -> None:
    """What is left of the first one does not make it a folder of the user's."""
    out = tmp_path / "out"
    out.mkdir()
    for _ in killed_at_every_step(tmp_path, lambda: write_folder(out, NEW)):
        check_folder(out)
        write_folder(out, OTHER)
        assert _everything(out) == {*OTHER, MANIFEST}
        shutil.rmtree(out)
        out.mkdir()


def test_force_killed_at_any_step_needs_force_for_what_is_still_the_users(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _renew(out, OLD)
    (out / "a.c").write_text("changed")
    for _ in killed_at_every_step(tmp_path, lambda: write_folder(out, NEW, force=True)):
        if (out / "a.c").read_text() == "changed":
            assert "a.c: was changed after tinygen wrote it" in refusal(out, OTHER)
            assert (out / "a.c").read_text() == "changed"
            write_folder(out, OTHER, force=True)
        else:
            write_folder(out, OTHER)
        assert contents(out) == {**OTHER, **MINE}
        _renew(out, OLD)
        (out / "a.c").write_text("changed")


def test_a_folder_is_not_updated_by_two_at_the_same_time(out: Path) -> None:
    """While somebody holds the folder, nothing in it changes."""
    with locked(out / ".tinygen.lock"):
        child = os.fork()
        if child == 0:
            fcntl.flock = lambda *_: os._exit(7)
            write_folder(out, {"a.c": "int other;\n"})
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7  # it came to the lock
        assert contents(out) == {**FILES, ".tinygen.lock": ""}


def _file(path: Path) -> Path:
    path.write_text("")
    return path


def _loop(path: Path) -> Path:
    path.symlink_to(path)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_file, "{out}: is a file, a folder was expected. Choose another output folder."),
        (
            lambda path: _file(path) / "x" / "y",
            "{path}: is a file, a folder was expected. Choose another output folder.",
        ),
        (lambda _: Path("/proc/tinygen"), "/proc/tinygen: cannot be written ("),
        (
            lambda path: path / ("n" * 300),
            "{out}: cannot be written (File name too long). Choose another output folder.",
        ),
        (_loop, "{out}: cannot be written ("),
    ],
)
def test_impossible_folders(tmp_path: Path, make: Callable[[Path], Path], message: str) -> None:
    path = tmp_path / "place"
    out = make(path)
    assert refusal(out).startswith(message.format(out=out, path=path))
    assert [entry.name for entry in tmp_path.iterdir()] in ([], ["place"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere: read-only folders are not tested")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert "cannot be written (Permission denied)" in refusal(tmp_path / "out")


def test_a_folder_in_place_of_a_file_is_refused(out: Path) -> None:
    (out / "c.c").mkdir()
    assert refusal(out, {"c.c": "x"}, force=True) == f"{out / 'c.c'}: is a folder, a file was expected. Remove it."


def test_a_failure_half_way_leaves_no_folder(tmp_path: Path) -> None:
    refusal(tmp_path / "out", {"a.c": "x", "n" * 300: "y"})
    assert list(tmp_path.iterdir()) == []
