"""How batches are put together for workers: groups that take about a second, whatever models take."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tinygen.sweeping import point
from tinygen.sweeping.engine import BatchQueue, Cluster, at_one_go
from tinygen.sweeping.point import Batch, PointResult, PointTask


def _batches(count: int, points: int = 1) -> Iterator[Batch]:
    """Each with a number of its own."""
    for number in range(count):
        yield Batch(Path(str(number)), "", (number,) * points, ({},) * points)


def _end(queue: BatchQueue, group: tuple[Batch, ...], *points: int) -> list[int]:
    """So many points of each batch are done; gives how many are said to be."""
    return [len(part.points) for part, _ in queue.end(group, [(PointResult(),) * count for count in points])]


def _names(groups: Any) -> list[str]:
    return ["".join(str(batch.model) for batch in group) for group in groups]


def test_groups_grow_while_workers_come_to_all_of_them() -> None:
    queue = BatchQueue(_batches(10), together=3)
    [first] = groups = list(queue.next(0, 1))
    assert _names(groups) == ["0"]
    _end(queue, first, 1)
    second, third = groups = list(queue.next(0, 2))
    assert _names(groups) == ["12", "34"]
    _end(queue, second, 1, 1)
    _end(queue, third, 1, 1)
    [fourth] = groups = list(queue.next(2, 3))
    assert _names(groups) == ["567"]
    _end(queue, fourth, 1, 1, 1)
    assert _names(queue.next(0, 5)) == ["89"], "not more together than is allowed, and what is left"


def test_what_a_worker_did_not_come_to_is_next_and_groups_shrink() -> None:
    queue = BatchQueue(_batches(6), together=4)
    for _ in range(2):
        [group] = queue.next(0, 1)
        _end(queue, group, *[1] * len(group))
    [group] = groups = list(queue.next(0, 1))
    assert _names(groups) == ["345"]
    assert _end(queue, group, 1) == [1]
    assert _names(queue.next(0, 9)) == ["4", "5"]


def test_a_batch_may_end_in_the_middle() -> None:
    queue = BatchQueue(_batches(2, points=5), together=1)
    for done in (2, 2, 1):
        [group] = queue.next(0, 1)
        assert _end(queue, group, done) == [done]
    assert _names(queue.next(0, 1)) == ["1"]


def test_what_is_given_back_is_shared_out_at_the_end() -> None:
    queue = BatchQueue(_batches(2, points=5), together=1)
    first, second = queue.next(0, 2)
    assert _end(queue, first, 1) + _end(queue, second, 1) == [1, 1]
    groups = list(queue.next(0, 3))
    assert _names(groups) == ["000", "01", "1"], "smaller and smaller, and those of a model together"
    assert sum(len(_end(queue, group, *[1] * len(group))) for group in groups) == 6
    assert [len(single.points) for [single] in queue.next(0, 3)] == [1, 1]


def test_sharing_out_waits_for_the_end_of_the_models() -> None:
    one, two = _batches(2, points=3)
    queue = BatchQueue(iter((one, two)), together=1)
    [group] = queue.next(0, 1)
    assert _end(queue, group, 1) == [1]
    groups = list(queue.next(0, 2))
    assert [len(batch.points) for [batch] in groups] == [2, 3], (
        "all points of a model go to one worker, which reads it once"
    )


def test_nothing_more_is_taken_where_the_source_waits() -> None:
    first, second = _batches(2)
    queue = BatchQueue(iter((first, None, second)), together=4)
    assert _names(queue.next(0, 9)) == ["0"]
    assert _names(queue.next(0, 9)) == ["1"], "asked again when something was found"


def test_what_lost_its_worker_runs_alone_until_it_is_given_up() -> None:
    queue = BatchQueue(_batches(3), together=1)
    [two] = _batches(1, points=2)
    assert queue.suspect((two,)) == []
    assert list(queue.next(1, 9)) == [], "nothing runs beside a suspect"
    tried, given_up = 0, list[Batch]()
    while len(given_up) < 2:
        [[alone]] = queue.next(0, 9)
        assert len(alone.points) == 1
        given_up += queue.suspect((alone,))
        tried += 1
    assert tried == 4, "two more times each"
    assert _names(queue.next(0, 9)) == ["0", "1", "2"], "the others go on"


def test_a_worker_gives_back_what_it_has_no_time_for() -> None:
    now = [0.0]

    def run(batch: Batch, _task: PointTask, _folder: Path) -> tuple[PointResult, ...]:
        now[0] += float(batch.digest)
        return tuple(PointResult() for _ in batch.points)

    def done(points: int, *seconds: float) -> list[int]:
        group = [Batch(Path(), str(each), (0,) * points, ({},) * points) for each in seconds]
        return [len(found) for found in at_one_go(run, group, PointTask(), Path(), lambda: now[0])]

    assert done(1, 0.3, 0.3, 0.3, 0.3, 0.3) == [1, 1, 1, 1, 0]
    assert (done(1, 5.0, 0.1), done(1, 0.1, 0.1)) == ([1, 0], [1, 1])
    assert (done(3, 0.6, 0.1), done(3, 1.1, 0.1)) == ([3, 0], [1]), "a model is ended where that takes no second more"


def test_a_worker_that_gives_points_back_imports_a_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now, imported = [0.0], list[Path]()

    def placed(batch: Batch, _folder: Path) -> point._KeptModel:
        assert isinstance(batch.model, Path)
        imported.append(batch.model)
        return point._KeptModel(batch.model, None)

    def run(batch: Batch, _task: PointTask, folder: Path) -> tuple[PointResult, ...]:
        point._kept_model(batch, folder)
        now[0] += 0.9  # too long for two
        return (PointResult(),)

    monkeypatch.setattr(point, "_placed", placed)
    point._kept().clear()
    queue, sent = BatchQueue(_batches(12, points=4), together=32), deque[tuple[Batch, ...]]()
    sent.extend(queue.next(0, Cluster.ahead))
    while sent:
        group = sent.popleft()
        _end(queue, group, *map(len, at_one_go(run, group, PointTask(), Path(), lambda: now[0])))
        sent.extend(queue.next(len(sent), Cluster.ahead))
    assert len(imported) == len(set(imported)) == 12 and now[0] == pytest.approx(12 * 4 * 0.9)
    point._kept().clear()
