"""Findings of earlier sweeps: many processes write and read them, the oldest go, what is damaged is not used."""

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from tinygen.errors import UsageError
from tinygen.sweeping.point import PointResult, PointTask
from tinygen.sweeping.store import ResultStore, key_of

_MOST, _EACH, _WRITERS = 60, 80, 3


def stored(folder: Path) -> int:
    """How many findings a folder has."""
    store = ResultStore(folder)
    count: int = store._done(lambda connection: connection.execute("select count(*) from findings").fetchone()[0])
    store.close()
    return count


def test_what_is_put_is_found_under_its_key_alone(tmp_path: Path) -> None:
    store, key = ResultStore(tmp_path), key_of("model", {"target": "host"}, PointTask())
    other = key_of("model", {"target": "host"}, PointTask(validate=1))
    store.put({key: PointResult(arena_bytes=5)})
    assert store.get([key, other]) == {key: PointResult(arena_bytes=5)}
    store.put({str(number): PointResult(arena_bytes=number) for number in range(1_100)})
    assert len(store.get([str(number) for number in range(1_200)])) == 1_100, "more than one question to the file"
    store.close()


def _write_and_read(folder: Path, writer: int, start: Any) -> None:
    """What a process does once all are there."""
    store = ResultStore(folder, _MOST)
    start.wait()
    for number in range(_EACH):
        store.put({f"{writer}-{number}": PointResult(arena_bytes=number)})
        found = store.get([f"{each}-{number}" for each in range(_WRITERS)])
        assert all(finding == PointResult(arena_bytes=number) for finding in found.values())
    store.close()


def test_many_processes_write_and_read_a_bounded_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(_WRITERS)
    others = [context.Process(target=_write_and_read, args=(tmp_path, writer, start)) for writer in range(1, _WRITERS)]
    for other in others:
        other.start()
    _write_and_read(tmp_path, 0, start)
    for other in others:
        other.join()
    assert [other.exitcode for other in others] == [0] * len(others)
    store = ResultStore(tmp_path)
    found = store.get([f"{writer}-{number}" for writer in range(_WRITERS) for number in range(_EACH)])
    assert len(found) == stored(tmp_path) == _MOST, "the last ones of all"
    assert all(finding.arena_bytes == int(key.partition("-")[2]) for key, finding in found.items())
    assert any(f"{writer}-{_EACH - 1}" in found for writer in range(_WRITERS))
    [file] = tmp_path.glob("*.sqlite")
    last = f'"arena_bytes": {_EACH - 1}'.encode()
    file.write_bytes(file.read_bytes().replace(last, last[:-1] + b"0"))
    store.close()
    left = store.get(found)
    assert 0 < len(left) < len(found), "what was altered is missing, what was not is there"
    assert all(found[key] == finding for key, finding in left.items())
    store.close()


@pytest.mark.parametrize("damage", ["all", "half", "empty", "inside"])
def test_those_who_share_a_damaged_file_go_on_with_another(tmp_path: Path, damage: str) -> None:
    findings = {f"{number:064}": PointResult(arena_bytes=number) for number in range(200)}
    first, second = ResultStore(tmp_path), ResultStore(tmp_path)
    first.put(findings)
    assert second.get(findings) == findings
    [file] = tmp_path.glob("*.sqlite")
    whole = file.read_bytes()
    inside = whole[:4096] + b"\xff" * (len(whole) - 8192) + whole[-4096:]
    file.write_bytes(
        {"all": b"\xff" * len(whole), "half": whole[: len(whole) // 2], "empty": b"", "inside": inside}[damage]
    )
    for store in (first, second):
        assert all(findings[key] == finding for key, finding in store.get(findings).items())
    first.put(findings)
    assert first.get(findings) == second.get(findings) == findings
    assert len(list(tmp_path.glob("*.sqlite"))) == 1, "the damaged one is removed"
    first.close()
    second.close()


def test_who_has_a_file_open_that_others_remove_goes_on_with_another(tmp_path: Path) -> None:
    store, finding = ResultStore(tmp_path), {"key": PointResult(arena_bytes=5)}
    store.put(finding)
    [file] = tmp_path.glob("*.sqlite")
    file.unlink()
    store.put(finding)
    assert store.get(finding) == ResultStore(tmp_path).get(finding) == finding
    store.close()


def test_a_folder_that_cannot_be_used_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "findings000000.sqlite").mkdir()
    with pytest.raises(UsageError, match=r"sqlite: cannot be used \(.*\)\. Choose another --cache folder\.$"):
        ResultStore(tmp_path).get(["key"])
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file: cannot be made \(.*\)\. Choose another --cache folder\.$"):
        ResultStore(tmp_path / "file")
