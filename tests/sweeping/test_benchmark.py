"""benchmarks/sweep.md: made of what is stored, within its goals; simulated points sleep as long as was recorded."""

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import sweep
from benchmarks.sweep import BOARDS, GOALS, by_process_time, page, sleeping, small
from tests.support.command_line import DIGITS
from tests.test_readme import CHECKOUT
from tinygen.sweeping.candidate import Suggestion, digest_of, source_of
from tinygen.sweeping.point import Batch, PointTask
from tinygen.sweeping.sweep import plan_of

_PAGE = CHECKOUT / "benchmarks" / "sweep.md"
_STORED: dict[str, Any] = json.loads(_PAGE.with_suffix(".json").read_text(encoding="utf-8"))


def test_the_page_is_what_is_stored() -> None:
    assert page(_STORED) == _PAGE.read_text(encoding="utf-8")


def test_one_command_writes_the_whole_page_of_one_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    def measured(line: list[str], **_how: Any) -> Any:
        asked.append(line[-1])
        return SimpleNamespace(stdout=json.dumps(_STORED[line[-1]]))

    monkeypatch.setattr(sweep, "_OUT", tmp_path / "sweep")
    monkeypatch.setattr("subprocess.run", measured)
    loops = iter(range(100))
    monkeypatch.setattr(sweep, "loop_seconds", lambda: float(next(loops)))
    sweep.main(())
    assert asked == ["rate", "ram", "alone", "overhead", "many", "scaling", "queue"]
    stored = json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))
    text = (tmp_path / "sweep.md").read_text(encoding="utf-8")
    assert [part["loop_s"] for part in stored.values()] == [0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5]
    assert "An empty loop took 0.50 s" in text and "; an empty loop took 8.50 s" in text
    assert page(stored) == text and "Measured with another version" not in text
    stored["many"]["engine"] = "earlier"
    assert "than *Scaling*: `many`.\n" in page(stored)


def test_goals_are_met() -> None:
    assert _STORED["rate"]["points"] == 4_000 and _STORED["rate"]["points_a_second"] >= GOALS["rate"]
    assert max(_STORED["overhead"][points] for points in ("4", "1")) < GOALS["overhead_ms"]
    assert _STORED["many"]["points"] == 10_000
    assert [part["failures"] for part in (_STORED["rate"], _STORED["many"])] == [0, 0]
    assert all(_STORED["queue"][goal]["30"] > GOALS["efficiency"] for goal in ("-O time", "-O ram"))
    assert all(_STORED["scaling"][goal]["efficiency"] > GOALS["efficiency"] for goal in ("-O time", "-O ram"))


def test_the_queue_keeps_workers_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_LENGTHS_S", (15,))
    stored = {goal: {"15": _STORED["queue"][goal]["15"]} for goal in ("-O time", "-O ram")}
    assert sweep.queue() == stored, "time of the benchmark's own: the same on each machine"
    assert sweep.queue_efficiency(2, [[1.0, 1.0], [1.0, 1.0]]) == 1.0
    assert sweep.queue_efficiency(2, [[3.0]]) == 0.5
    assert sweep.queue_efficiency(2, [[3.0, 1.0]]) == 4 / (2 * 4), (
        "the second point is known to be left when the first ends"
    )


def test_simulated_points_sleep_as_long_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = list[float]()
    monkeypatch.setattr("time.sleep", slept.append)
    times = dict(zip(BOARDS, (0.1, 0.2, 0.3, 0.4), strict=True))
    source = source_of(Suggestion("m", json.dumps(times).encode() + bytes(50)))
    points = plan_of(BOARDS, {}).points
    found = sleeping(Batch(source, "", (0, 1, 2, 3), points), PointTask(), Path())
    assert slept == [1.0] and [result.seconds for result in found] == [0.1, 0.2, 0.3, 0.4]


def test_recording_changes_nothing_but_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "time", SimpleNamespace(process_time=count().__next__))
    batch = Batch(DIGITS, digest_of((DIGITS,)), (0, 1), plan_of(BOARDS[:2], {"kernels": "portable"}).points)
    found = by_process_time(batch, PointTask(), Path())
    assert [result.error for result in found] == ["", ""] and found[0].arena_bytes
    assert [result.seconds for result in found] == [1, 1]


def test_small_candidates_are_many_under_digests_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_MANY", 40)
    made = list(small())
    assert len(made) == len({name for name, _ in made}) == len({model.SerializeToString() for _, model in made}) == 40
