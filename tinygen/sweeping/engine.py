"""Batches on the workers of a Dask cluster: one on this machine's cores, or one that is there."""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tinygen.errors import ToolError
from tinygen.option import COUNT, TEXT, option
from tinygen.sweeping.point import Batch, PointResult, PointTask, run_batch

_MOST_DEATHS = 3  # of workers that had a point: the first may have been another point's, or nobody's fault
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # what is tried again runs alone
    "distributed.worker.memory.target": False,  # results are small: nothing to spill
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.admin.tick.limit": "1h",  # a worker that computes is not late
    "distributed.deploy.lost-worker-timeout": "1000h",  # one that is just being started again is not given up
}
_KILLED = (
    "its worker ended each time that it was tried, alone at last: killed for its memory, or hanging beyond --timeout."
)

RunBatch = Callable[[Batch, PointTask, Path], tuple[PointResult, ...]]


@dataclass(frozen=True)
class Cluster:
    """Where points are computed."""

    scheduler: str | None = option(
        None,
        TEXT,
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler to use, tcp://...; its workers read the models by the same paths (default: a local one).",
    )
    workers: int | None = option(
        None, COUNT, "--workers", metavar="N", at_least=1, help="Processes on this machine (default: its cores)."
    )
    ahead: int = 3  # batches for each worker that are submitted: a bound of what the cluster holds


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
) -> Iterator[tuple[Batch, tuple[PointResult, ...]]]:
    """What each batch gives, in the order in which they end. None among the batches: no more before something is found.

    A batch whose workers are killed is tried again, at last point by point and with nothing beside it, so that a point
    which kills its worker is found and costs no other one anything.
    """
    distributed = package("distributed")
    with _client(cluster, task) as client:
        running: dict[Any, Batch] = {}
        suspects: deque[Batch] = deque()
        while True:
            for batch in _next(client, len(running), batches, suspects, cluster.ahead):
                running[client.submit(_on_worker, run, batch, task, pure=False)] = batch
            if not running:
                return
            done, _ = distributed.wait(list(running), return_when="FIRST_COMPLETED")
            for future in done:
                batch = running.pop(future)
                if future.status == "finished":
                    found = future.result()
                    future.release()  # or it is computed again where the worker that holds it dies
                    yield batch, found
                    continue
                if not isinstance(future.exception(), distributed.KilledWorker):
                    raise ToolError(f"cluster: lost a batch ({future.exception()}), a result was expected. Try again.")
                if len(batch.points) == 1 and batch.deaths + 1 >= _MOST_DEATHS:
                    yield batch, (PointResult(error_code=1, error=_KILLED),)
                else:
                    suspects.extend(batch.alone)


def _next(
    client: Any, running: int, batches: Iterator[Batch | None], suspects: deque[Batch], ahead: int
) -> Iterator[Batch]:
    """What there is room for; suspects one by one, when nothing else runs."""
    if suspects:
        if not running:
            yield suspects.popleft()
        return
    room = ahead * max(1, len(client.scheduler_info(n_workers=-1)["workers"])) - running
    for _, batch in zip(range(room), batches, strict=False):
        if batch is None:
            return
        yield batch


def _on_worker(run: RunBatch, batch: Batch, task: PointTask) -> tuple[PointResult, ...]:
    return run(batch, task, Path(package("distributed").get_worker().local_directory))


@contextmanager
def _client(cluster: Cluster, task: PointTask) -> Iterator[Any]:
    distributed, dask = package("distributed"), package("dask")
    with ExitStack() as stack:
        if cluster.scheduler is not None:
            try:
                yield stack.enter_context(distributed.Client(cluster.scheduler))
            except OSError as error:
                raise ToolError(f"{cluster.scheduler}: does not answer ({error}). Correct --scheduler.") from None
            return
        stack.enter_context(dask.config.set(_SETTINGS))
        local = distributed.LocalCluster(
            n_workers=cluster.workers or os.cpu_count(),
            threads_per_worker=1,
            memory_limit=2 * task.memory_bytes,  # beyond the limit of a point, what is kept between points
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
        stack.enter_context(local)
        yield stack.enter_context(distributed.Client(local))
