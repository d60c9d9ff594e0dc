"""Batches on the workers of a Dask cluster: one on this machine's cores, or one that is there."""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import zip_longest
from math import ceil, inf
from pathlib import Path
from time import monotonic
from typing import Any

from tinygen.errors import ToolError
from tinygen.option import COUNT, TEXT, HelpPanel, option
from tinygen.sweeping.point import Batch, PointResult, PointTask, run_batch

_AT_ONE_GO_S = 1.0  # that a worker takes for a group: beside it a message is nothing, and who waits sees rows
_ASK_EVERY_S = 1.0
_MOST_DEATHS = 3  # of workers that had a point: the first may have been another point's, or nobody's fault
SETTINGS = {  # of Dask in this process, and in what it starts
    "distributed.admin.large-graph-warning-threshold": "1GB",  # models that are no files go with their points
    "distributed.scheduler.allowed-failures": 0,  # what is tried again runs alone
    "distributed.worker.memory.target": False,  # results are small: nothing to spill
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.admin.tick.limit": "1h",  # a worker that computes is not late
    "distributed.admin.tick.interval": "1s",  # what workers do beside points takes time from them
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,
    "distributed.deploy.lost-worker-timeout": "1000h",  # one that is just being started again is not given up
}
SERVES_NO_PAGE: Mapping[str, Any] = {  # of Dask's own; what it serves instead takes any port, as other sweeps have one
    "dashboard_address": None,
    "scheduler_kwargs": {"dashboard_address": "localhost:0"},
}
_KILLED = (
    "its worker ended each time that it was tried, alone at last: killed for its memory, or hanging beyond --timeout."
)

Findings = tuple[PointResult, ...]  # of the points of a batch
Ended = Sequence[tuple[Batch, Findings]]
RunBatch = Callable[[Batch, PointTask, Path], Findings]


@dataclass(frozen=True)
class Cluster:
    """Where points are computed."""

    scheduler: str | None = option(
        None,
        TEXT,
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler to use, tcp://...; its workers read the models by the same paths (default: a local one).",
        panel=HelpPanel.PLACE,
    )
    workers: int | None = option(
        None,
        COUNT,
        "--workers",
        metavar="N",
        at_least=1,
        help="Processes on this machine (default: its cores).",
        panel=HelpPanel.PLACE,
    )
    ahead: int = 3  # groups of batches for each worker that are submitted: a bound of what the cluster holds
    together: int = 32  # batches in a group, at most


def package(name: str) -> Any:
    """A module of the extra `sweep`; ToolError where it is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolError(
            f"{name.partition('.')[0]}: not installed, needed for sweeps. Run `pip install 'tinygen[sweep]'`."
        ) from error


def findings(
    batches: Iterator[Batch | None], task: PointTask, cluster: Cluster, run: RunBatch = run_batch
) -> Iterator[Ended]:
    """What batches, or parts of them, give, in the order in which they end: what has ended since, at one go. None among
    the batches: no more before something is found.

    A batch whose workers are killed is tried again, at last point by point and with nothing beside it, so that a point
    which kills its worker is found and costs no other one anything.
    """
    distributed = package("distributed")
    with _client(cluster, task) as client:
        queue, running = BatchQueue(batches, cluster.together), dict[Any, tuple[Batch, ...]]()
        ended, workers = distributed.as_completed(loop=client.loop), _Workers(client)
        while True:
            groups = tuple(queue.next(len(running), cluster.ahead * workers.count()))
            if groups:  # in one message
                futures = client.map(_on_worker, groups, run=run, task=task, pure=False)
                running |= zip(futures, groups, strict=True)
                ended.update(futures)
            if not running:
                return
            futures = ended.next_batch()
            found = _results(client, futures)
            now = list[tuple[Batch, Findings]]()
            for future in futures:
                if future not in found and future.status in ("pending", "lost"):
                    ended.add(future)  # its worker died with the result, which is computed again
                    continue
                group = running.pop(future)
                if future in found:
                    now += queue.end(group, found[future])
                elif isinstance(future.exception(), distributed.KilledWorker):
                    now += [(batch, (PointResult(error_code=1, error=_KILLED),)) for batch in queue.suspect(group)]
                else:
                    raise ToolError(f"cluster: lost a batch ({future.exception()}), a result was expected. Try again.")
            yield now


def _results(client: Any, futures: Sequence[Any]) -> dict[Any, tuple[Findings, ...]]:
    """By future, of those that gave some."""
    killed = package("distributed").KilledWorker
    while True:
        ended = [future for future in futures if future.status == "finished"]
        try:
            found = dict(zip(ended, client.gather(ended), strict=True))
        except killed:  # with the result, which was to be computed again: the future has that error now
            continue
        for future in ended:
            future.release()  # or it is computed again where the worker that holds it dies
        return found


class BatchQueue:
    """What is still to be computed, in groups that take a worker about as long as it works at one go.

    A message costs as much as points of small models do, so a worker is sent several models; it gives back what it did
    not come to, which is another worker's then, and the next groups have fewer. Where there are no more models, what
    was given back is shared out among all workers, point by point at last: none is left with several long ones.
    """

    def __init__(self, batches: Iterator[Batch | None], together: int) -> None:
        self._batches, self._most = batches, together
        self._waiting = deque[Batch]()  # of groups that took longer
        self._suspects = deque[Batch]()
        self._size = 1  # of a group
        self._following: Batch | None = None  # of those that no worker had: taken to see whether there are more
        self._may_follow = True

    def next(self, running: int, most: int) -> Iterator[tuple[Batch, ...]]:
        """Groups until `most` are running; suspects one by one, when nothing else runs."""
        if self._suspects:
            if not running:
                yield (self._suspects.popleft(),)
            return
        self._may_follow = True
        for _ in range(most - running):
            group = tuple(self._taken() if self._has_more or not self._waiting else self._shared_out(most))
            if not group:
                return
            yield group

    def end(self, group: Sequence[Batch], found: Sequence[Findings]) -> Iterator[tuple[Batch, Findings]]:
        """What a worker has come to, with its points; the rest of its group is to be computed."""
        done = 0
        for batch, results in zip_longest(group, found, fillvalue=()):
            assert isinstance(batch, Batch)
            if results:
                yield batch.part(0, len(results)), results
            if len(results) < len(batch.points):
                self._waiting.append(batch.part(len(results)))
            else:
                done += 1
        if done < len(group):
            self._size = min(self._size, max(1, done))
        elif done == self._size < self._most:
            self._size += 1

    def suspect(self, group: Sequence[Batch]) -> list[Batch]:
        """Try those of a worker that was killed alone; gives those that were tried often enough."""
        dead = [batch for batch in group if len(batch.points) == 1 and batch.deaths + 1 >= _MOST_DEATHS]
        self._suspects.extend(alone for batch in group if batch not in dead for alone in batch.alone)
        return dead

    @property
    def _has_more(self) -> bool:
        if self._following is None and self._may_follow:
            self._following = next(self._batches, None)
            self._may_follow = self._following is not None
        return self._following is not None

    def _taken(self) -> Iterator[Batch]:
        for _ in range(self._size):
            if self._waiting:
                yield self._waiting.popleft()
            elif self._has_more:
                assert self._following is not None
                yield self._following
                self._following = None
            else:
                return

    def _shared_out(self, most: int) -> Iterator[Batch]:
        self._waiting = deque(single for batch in self._waiting for single in batch.singles)
        for _ in range(ceil(len(self._waiting) / most)):
            yield self._waiting.popleft()


class _Workers:
    """How many there are, which costs a message: asked now and then."""

    def __init__(self, client: Any) -> None:
        self._client, self._count, self._asked = client, 0, -_ASK_EVERY_S

    def count(self) -> int:
        """At least 1, so that a cluster which grows with its work begins."""
        if monotonic() - self._asked >= _ASK_EVERY_S:
            self._count, self._asked = len(self._client.scheduler_info(n_workers=-1)["workers"]), monotonic()
        return max(1, self._count)


def _on_worker(group: Sequence[Batch], run: RunBatch, task: PointTask) -> tuple[Findings, ...]:
    return at_one_go(run, group, task, Path(package("distributed").get_worker().local_directory))


def at_one_go(
    run: RunBatch, group: Sequence[Batch], task: PointTask, folder: Path, clock: Callable[[], float] = monotonic
) -> tuple[Findings, ...]:
    """What the first points of the group give, by batch: one, and more as long as time is left.

    A model is gone through where that takes no more than as long again: another worker would have to import it.
    """
    begin, found = clock(), list[Findings]()
    for batch in group:
        results: Findings = ()
        started = clock()
        for single in batch.singles:
            now = clock()
            left_s = (now - started) / len(results) * (len(batch.points) - len(results)) if results else inf
            if (found or results) and now - begin >= _AT_ONE_GO_S and left_s > _AT_ONE_GO_S:
                return (*found, results)
            results += run(single, task, folder)
        found.append(results)
    return tuple(found)


@contextmanager
def _client(cluster: Cluster, task: PointTask) -> Iterator[Any]:
    distributed, dask = package("distributed"), package("dask")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))
        if cluster.scheduler is not None:
            try:
                yield stack.enter_context(distributed.Client(cluster.scheduler))
            except OSError as error:
                raise ToolError(f"{cluster.scheduler}: does not answer ({error}). Correct --scheduler.") from None
            return
        local = distributed.LocalCluster(
            n_workers=cluster.workers or os.cpu_count(),
            threads_per_worker=1,
            memory_limit=2 * task.memory_bytes,  # beyond the limit of a point, what is kept between points
            silence_logs=logging.CRITICAL,
            **SERVES_NO_PAGE,
        )
        stack.enter_context(local)
        yield stack.enter_context(distributed.Client(local))
