"""What a sweep of thousands of candidates takes, and how it scales; writes sweep.md and sweep.json beside it.

    python -m benchmarks.sweep [PART ...]

Parts: `rate`, `ram`, `alone`, `overhead`, `many`, `scaling`, `queue`; without one all of them, which takes twenty
minutes. Each runs in a process of its own, so that times and memory are its own. `scaling` and `queue` take the seconds
that `rate` and `ram` have recorded.
"""

import asyncio
import json
import logging
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count, islice
from pathlib import Path
from statistics import mean
from typing import Any

import onnx

import tinygen.sweeping
from examples.families import Member, family, network
from tinygen.option import from_written
from tinygen.options import Options
from tinygen.sweeping.bounded import bounded
from tinygen.sweeping.candidate import digest_of
from tinygen.sweeping.engine import (
    SERVES_NO_PAGE,
    SETTINGS,
    BatchQueue,
    Cluster,
    Findings,
    RunBatch,
    at_one_go,
    package,
)
from tinygen.sweeping.point import Batch, PointResult, PointTask, run_batch
from tinygen.sweeping.sweep import Models, Sweep, plan_of

BOARDS = ("mps2-an382", "mps2-an386", "mps3-an547", "mps2-an385")  # Cortex-M0, M4, M55, M3
GOALS = {"rate": 8.0, "overhead_ms": 5.0, "efficiency": 0.9}
_OUT = Path(__file__).with_suffix("")
_WORKERS = 2
_ROUNDS = 10_000_000  # of an empty loop
_CANDIDATES = 1_000
_RAM = 40  # of them with -O ram
_ALONE = 5  # candidates that are inspected one process at a time
_MANY = 2_500
_EMPTY = 1_500  # candidates whose points do nothing
_MODEL_BYTES = 150_000  # of these
_SIMULATED = 64  # workers
_IN_A_PROCESS = 16  # of them
_SIMULATED_BYTES = 25_000  # of their candidates, as of those that were recorded
_EACH_S = 90.0  # that each of them sleeps
_LENGTHS_S = (5, 15, 30, 90)  # the same where time is the queue's own
_Fields = Mapping[str, str | float]
_MEMORY_FIELDS = ("parent_before_bytes", "parent_tenth_bytes", "parent_end_bytes", "worker_bytes")
_GOALS = {"-O time": "rate", "-O ram": "ram"}  # and the part that recorded points with it
_TIMES = ("parent_ms", "scheduler_ms", "workers_ms")
_INTRODUCTION = f"""# Sweeps

By `python -m benchmarks.sweep`: `tinygen sweep` with two workers on a machine of two cores. Rates are points by process
time of all that a sweep runs. How fast the machine was meanwhile, which others may share, is told by ten million rounds
of an empty loop of Python in each of two processes at once, before and behind. Candidates come from
[examples/families.py](../examples/families.py); boards are {", ".join(BOARDS)} (Cortex-M0, M4, M55 and M3), with
`-O time` and `--kernels auto`.
"""
_ENGINES = """
Measured with another version of `tinygen/sweeping` than *Scaling*: {others}.
"""
_RATE = """
## Rate

{candidates:,} candidates of MLPerf Tiny's size on each board, inspected with `-O time`: {points:,} points, {failures}
of them failed, **{points_a_second:.1f} points a second and core** (goal: at least {goal:g}). That includes the start of
the workers, and the script that makes the networks, which is part of the process that sweeps. A point takes
{median:.0f} ms in the median and {longest:.0f} ms at most; of each candidate the first one imports it.

An empty loop took {loop:.2f} s meanwhile. `tinygen inspect`, one process a point, makes {alone:.2f} a second and core,
on {alone_points} points of the same candidates: the sweep is {times:.0f} times as fast.
"""
_OVERHEAD = """
## Overhead

Process time of all processes for everything but planning, by sweeps of {empty:,} candidates of {size:,} bytes whose
points do nothing, less the {start:.1f} s of a sweep of one candidate, which are the start of two workers:
**{several:.2f} ms a point** with {boards} points a candidate, {single:.2f} ms with one (goal: below {goal:g}).
"""
_MEMORY = """
## 10,000 points

{points:,} points in one sweep, {failures} of them failed: {candidates:,} small keyword networks from a generator, which
is asked for the next one when there is room. Peak memory of the process that sweeps: {before:.0f} MiB before,
{tenth:.0f} MiB after a tenth of the candidates, **{end:.0f} MiB at the end**, with all rows; of the larger worker
{worker:.0f} MiB. Rate: {points_a_second:.1f} points a second and core; an empty loop took {loop:.2f} s.
"""
_SCALING = """
## Scaling, simulated

{workers} Dask workers in {processes} processes of the same machine sleep as long as points took: those of *Rate*
({mean:.0f} ms in the mean), and {ram_points} with `-O ram` ({ram_mean:.0f} ms). All else is that of a sweep: a
scheduler in a process of its own, candidates of {size:,} bytes that go to the workers, results that come back and are
stored. Efficiency is the sum of the recorded times over the time that all workers had, from the first candidate to the
last row. The process that sweeps, the scheduler and all workers share two cores, which those of a cluster do not;
*others* is what else ran on these cores. The goal of more than {goal:g} is {verdict}.

| goal | points | seconds | efficiency | points a second | sweeping, ms | scheduler, ms | workers, ms | others, cores |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}

The three times are process time of a point: {workers} busy workers need {needed:.1f} of the two cores with `-O time`,
and wait where others leave less. Where messages take no time, only the ends of a sweep are lost: while groups of points
grow, and while workers wait for the last points. Efficiency of {workers} workers then, by the work that each has; time
is counted by the benchmark, so that the machine is of no matter:

| goal | {lengths} |
|---|{columns}
{ends}

So a sweep for {workers} workers needs about {enough} s of work for each of them. What bounds larger clusters is the one
process that takes most of a point, be it the one that sweeps or the scheduler: by process time it serves
{time_rate:,.0f} points a second with `-O time`, where a message has points of several candidates, and {ram_rate:,.0f}
with `-O ram`, where each has one.
"""


def mlperf_sized() -> Iterator[Member]:
    """Keyword and image networks of 20 thousand to some million MACs, as MLPerf Tiny's are."""
    drawn = list(family(range(16, 66, 5), (3, 4, 5, 6), range(40, 65, 2)))
    return islice((drawn[place * 7 % len(drawn)] for place in range(len(drawn))), _CANDIDATES)


def small() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Small keyword networks, many times under another name and digest."""
    made = [(member.name, network(member)) for member in family((8, 12), (1, 2), (20, 25), ("keyword",))]
    for number in range(_MANY):
        name, model = made[number % len(made)]
        copied = onnx.ModelProto()
        copied.CopyFrom(model)
        copied.doc_string = str(number)
        yield f"{name}_{number}", copied


def _networks(members: Iterator[Member]) -> Models:
    return ((member.name, network(member)) for member in members)


def _swept(
    models: Models, cluster: Cluster, run: RunBatch = run_batch, boards: Sequence[str] = BOARDS, goal: str = "time"
) -> Sweep:
    """A sweep with nothing stored, done."""
    with tempfile.TemporaryDirectory() as cache:
        swept = Sweep(models, plan_of(boards, {"optimize": goal}), PointTask(), cluster, Path(cache), run)
        for _ in swept.run():
            pass
    return swept


def _process_seconds() -> float:
    """Of this process and those that it started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _peak_bytes(who: int = resource.RUSAGE_SELF) -> int:
    return resource.getrusage(who).ru_maxrss << 10


def by_process_time(batch: Batch, task: PointTask, folder: Path) -> tuple[PointResult, ...]:
    """`run_batch`, with seconds of process time."""
    found = list[PointResult]()
    for single in batch.singles:
        begin = time.process_time()
        [result] = run_batch(single, task, folder)
        found.append(replace(result, seconds=round(time.process_time() - begin, 4)))
    return tuple(found)


def rate() -> dict[str, Any]:
    """Points a second and core; seconds of each point, by candidate."""
    return _recorded(mlperf_sized(), "time")


def ram() -> dict[str, Any]:
    """The same of some candidates with a goal that takes longer."""
    return _recorded(islice(mlperf_sized(), 0, None, _CANDIDATES // _RAM), "ram")


def _recorded(members: Iterator[Member], goal: str) -> dict[str, Any]:
    begin = _process_seconds()
    swept = _swept(_networks(members), Cluster(workers=_WORKERS), by_process_time, goal=goal)
    seconds = _process_seconds() - begin
    rows = swept.rows
    each = [[row["seconds"] for row in rows[first : first + len(BOARDS)]] for first in range(0, len(rows), len(BOARDS))]
    return {
        "points": len(rows),
        "failures": swept.failures,
        "process_seconds": round(seconds, 1),
        "points_a_second": round(len(rows) / seconds, 1),
        "seconds": each,
    }


def alone() -> dict[str, Any]:
    """The same by `tinygen inspect`, one process a point."""
    members = list(mlperf_sized())
    with tempfile.TemporaryDirectory() as folder:
        begin = _process_seconds()
        for member in members[:: len(members) // _ALONE]:
            file = Path(folder) / f"{member.name}.onnx"
            onnx.save(network(member), file)
            for board in BOARDS:
                line = [str(Path(sys.executable).with_name("tinygen")), "inspect", str(file), "-t", board, "-O", "time"]
                subprocess.run([*line, "--json"], check=True, capture_output=True)
    points = len(members[:: len(members) // _ALONE]) * len(BOARDS)
    return {"points": points, "points_a_second": round(points / (_process_seconds() - begin), 2)}


_EMPTY_RESULT = PointResult(arena_bytes=1, const_bytes=1, macs=1, estimated_instructions=1)


def nothing(batch: Batch, task: PointTask, _folder: Path) -> tuple[PointResult, ...]:
    """All of `run_batch` but planning."""
    for chosen in batch.points:
        with bounded(task.timeout_s, task.memory_bytes):
            from_written(Options, chosen)
    return (_EMPTY_RESULT,) * len(batch.points)


def overhead() -> dict[str, Any]:
    """Milliseconds of process time of a point beyond planning, by points of a candidate; not those of starting."""

    def seconds(candidates: int, boards: Sequence[str]) -> float:
        begin = _process_seconds()
        models = ((f"m{number}", number.to_bytes(8, "big") + bytes(_MODEL_BYTES)) for number in range(candidates))
        _swept(models, Cluster(workers=_WORKERS), nothing, boards)
        return _process_seconds() - begin

    start = seconds(1, BOARDS)
    points = {count: (seconds(_EMPTY, BOARDS[:count]) - start) / (_EMPTY * count) for count in (len(BOARDS), 1)}
    return {"start_seconds": round(start, 1), **{str(count): round(1e3 * each, 2) for count, each in points.items()}}


def many() -> dict[str, Any]:
    """Memory of a sweep of 10,000 points."""
    before = _peak_bytes()
    begin = _process_seconds()
    peaks = dict[int, int]()

    def watched() -> Iterator[tuple[str, onnx.ModelProto]]:
        for index, candidate in enumerate(small()):
            peaks[index] = _peak_bytes()
            yield candidate

    swept = _swept(watched(), Cluster(workers=_WORKERS))
    return {
        "points": len(swept.rows),
        "failures": swept.failures,
        "points_a_second": round(len(swept.rows) / (_process_seconds() - begin), 1),
        "parent_before_bytes": before,
        "parent_tenth_bytes": peaks[_MANY // 10],
        "parent_end_bytes": _peak_bytes(),
        "worker_bytes": _peak_bytes(resource.RUSAGE_CHILDREN),
    }


def sleeping(batch: Batch, _task: PointTask, _folder: Path) -> tuple[PointResult, ...]:
    """As long as the model says that a point takes on its board."""
    assert not isinstance(batch.model, Path)
    document, _, _ = batch.model.data.partition(b"}")  # what follows makes it another model, of the size of one
    times = json.loads(document + b"}")
    each = [times[chosen["target"]] for chosen in batch.points]
    time.sleep(sum(each))
    return tuple(replace(_EMPTY_RESULT, seconds=seconds) for seconds in each)


def _by_goal() -> Iterator[tuple[str, Sequence[Sequence[float]]]]:
    """Recorded seconds by candidate."""
    stored = json.loads(_OUT.with_suffix(".json").read_text(encoding="utf-8"))
    for goal, part in _GOALS.items():
        yield goal, stored[part]["seconds"]


def scaling() -> dict[str, Any]:
    """Efficiency of a simulated cluster, by goal: recorded seconds over those that its workers had."""
    return {goal: _simulated(_SIMULATED, seconds) for goal, seconds in _by_goal()}


def queue() -> dict[str, Any]:
    """Efficiency of the engine's queue, by goal and seconds of each worker, where messages take no time."""
    return {
        goal: {
            str(each): round(queue_efficiency(_SIMULATED, _times(seconds, _SIMULATED, each)), 3) for each in _LENGTHS_S
        }
        for goal, seconds in _by_goal()
    }


def _times(recorded: Sequence[Sequence[float]], workers: int, each_s: float) -> Sequence[Sequence[float]]:
    """Of candidates, so many that each worker has about so many seconds."""
    candidates = round(workers * each_s * len(recorded) / sum(map(sum, recorded)))
    return [recorded[number % len(recorded)] for number in range(candidates)]


def queue_efficiency(workers: int, times: Sequence[Sequence[float]]) -> float:
    """Seconds that points take over those that workers have, which take the next group as soon as they have none."""
    batches = (Batch(Path(), "", (0,) * len(each), tuple({"seconds": one} for one in each)) for each in times)
    queue, waiting = BatchQueue(batches, Cluster.together), deque[tuple[Batch, ...]]()
    busy, started = list[tuple[float, int, tuple[Batch, ...], tuple[Findings, ...]]](), count()
    now, worked = 0.0, [0.0]

    def pass_by(single: Batch, _task: PointTask, _folder: Path) -> Findings:
        worked[0] += float(str(single.points[0]["seconds"]))
        return (_EMPTY_RESULT,)

    while True:
        waiting.extend(queue.next(len(waiting) + len(busy), Cluster.ahead * workers))
        while waiting and len(busy) < workers:
            group, before = waiting.popleft(), worked[0]
            found = at_one_go(pass_by, group, PointTask(), Path(), lambda: worked[0])
            heappush(busy, (now + worked[0] - before, next(started), group, found))
        if not busy:
            return worked[0] / now / workers
        now, _, group, found = heappop(busy)
        deque(queue.end(group, found), maxlen=0)


def _simulated(workers: int, recorded: Sequence[Sequence[float]]) -> dict[str, float]:
    times = _times(recorded, workers, _EACH_S)

    def models() -> Models:
        documents = (json.dumps(dict(zip(BOARDS, each, strict=True))).encode() for each in times)
        return (
            (f"m{number}", document + str(number).encode() + bytes(_SIMULATED_BYTES))
            for number, document in enumerate(documents)
        )

    with _cluster(workers) as (address, scheduler):
        cluster = Cluster(scheduler=address)
        _swept(islice(models(), workers), cluster, sleeping)  # workers have imported what they need
        before, begin = _used(scheduler), time.perf_counter()
        swept = _swept(models(), cluster, sleeping)
        took = time.perf_counter() - begin
        used = {name: seconds - before[name] for name, seconds in _used(scheduler).items()}
    points, others = len(swept.rows), used.pop("machine") - sum(used.values())
    return {
        "points": points,
        "seconds": round(took, 2),
        "efficiency": round(sum(map(sum, times)) / took / workers, 3),
        "points_a_second": round(points / took),
        **{f"{name}_ms": round(1e3 * seconds / points, 2) for name, seconds in used.items()},
        "others_cores": round(others / took, 2),
    }


def _used(scheduler: Any) -> dict[str, float]:
    """Process time of the process that sweeps, of the scheduler's, of its workers', and of all of the machine."""
    machine = package("psutil").cpu_times()
    return {
        "parent": time.process_time(),
        "scheduler": sum(scheduler.cpu_times()[:2]),
        "workers": sum(sum(host.cpu_times()[:2]) for host in scheduler.children()),
        "machine": machine.user + machine.nice + machine.system + machine.irq + machine.softirq,
    }


@contextmanager
def _cluster(workers: int) -> Iterator[tuple[str, Any]]:
    """Address and process of a scheduler with so many workers."""
    with _beside("--cluster", str(workers)) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), package("psutil").Process(process.pid)


@contextmanager
def _beside(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """This file in a process that ends when nothing more can come in."""
    line = [sys.executable, "-m", "benchmarks.sweep", *arguments]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        try:
            yield process
        finally:
            process.stdin.close()


def serve(workers: int) -> None:
    """A scheduler, and workers in processes beside it."""
    dask, distributed = package("dask"), package("distributed")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))
        cluster = stack.enter_context(distributed.LocalCluster(n_workers=0, **SERVES_NO_PAGE))
        for _ in range(workers // _IN_A_PROCESS):
            stack.enter_context(_beside("--workers", cluster.scheduler_address))
        with distributed.Client(cluster) as client:
            client.wait_for_workers(workers)
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


async def work(scheduler: str) -> None:
    """Some workers, of one thread each."""
    dask, distributed = package("dask"), package("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # as `tinygen sweep` does
    with dask.config.set(SETTINGS):
        async with AsyncExitStack() as stack:
            for _ in range(_IN_A_PROCESS):
                worker = distributed.Worker(scheduler, nthreads=1, memory_limit=0, dashboard=False)
                await stack.enter_async_context(worker)
            await asyncio.to_thread(sys.stdin.read)


PARTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "rate": rate,
    "ram": ram,
    "alone": alone,
    "overhead": overhead,
    "many": many,
    "scaling": scaling,
    "queue": queue,
}


def page(found: Mapping[str, Any]) -> str:
    """The page of stored results."""
    rate, ram, alone, overhead, many = (found[part] for part in ("rate", "ram", "alone", "overhead", "many"))
    milliseconds = sorted(1e3 * seconds for each in rate["seconds"] for seconds in each)
    sizes = {name.removeprefix("parent_").removesuffix("_bytes"): many[name] / (1 << 20) for name in _MEMORY_FIELDS}
    speed = {
        **rate,
        "candidates": len(rate["seconds"]),
        "goal": GOALS["rate"],
        "median": milliseconds[len(milliseconds) // 2],
        "longest": milliseconds[-1],
        "alone": alone["points_a_second"],
        "alone_points": alone["points"],
        "times": rate["points_a_second"] / alone["points_a_second"],
        "loop": rate["loop_s"],
    }
    cost = {
        "empty": _EMPTY,
        "size": _MODEL_BYTES,
        "boards": len(BOARDS),
        "goal": GOALS["overhead_ms"],
        "start": overhead["start_seconds"],
        "several": overhead[str(len(BOARDS))],
        "single": overhead["1"],
    }
    simulated = {
        "workers": _SIMULATED,
        "processes": _SIMULATED // _IN_A_PROCESS,
        "size": _SIMULATED_BYTES,
        "mean": sum(milliseconds) / len(milliseconds),
        "ram_points": ram["points"],
        "ram_mean": 1e3 * sum(map(sum, ram["seconds"])) / ram["points"],
        "goal": GOALS["efficiency"],
        **_scaling_fields(*({goal: found[part][goal] for goal in _GOALS} for part in ("scaling", "queue"))),
    }
    memory = {**many, **sizes, "candidates": _MANY, "loop": many["loop_s"]}
    others = [part for part in PARTS if found[part].get("engine") != found["scaling"]["engine"]]
    notes = _INTRODUCTION + (_ENGINES.format(others=", ".join(f"`{part}`" for part in others)) if others else "")
    pairs = (_RATE, speed), (_OVERHEAD, cost), (_MEMORY, memory), (_SCALING, simulated)
    return notes + "".join(text.format_map(values) for text, values in pairs)


def _scaling_fields(scaling: Mapping[str, Mapping[str, float]], queue: Mapping[str, Mapping[str, float]]) -> _Fields:
    met = {goal: row["efficiency"] > GOALS["efficiency"] for goal, row in scaling.items()}
    lengths, time_row = [str(each) for each in _LENGTHS_S], scaling["-O time"]
    point_ms = sum(time_row[name] for name in _TIMES)
    enough = (each for each in lengths if all(row[each] > GOALS["efficiency"] for row in queue.values()))
    slower = {goal: max(row["parent_ms"], row["scheduler_ms"]) for goal, row in scaling.items()}
    return {
        "rows": "\n".join(_row(goal, row) for goal, row in scaling.items()),
        "verdict": " and ".join(f"{'met' if is_met else 'missed'} with `{goal}`" for goal, is_met in met.items()),
        "needed": 1e-3 * point_ms * time_row["points_a_second"] / time_row["efficiency"],
        "lengths": " | ".join(f"{each} s" for each in lengths),
        "columns": "--:|" * len(lengths),
        "ends": "\n".join(
            f"| `{goal}` | {' | '.join(f'{row[each]:.3f}' for each in lengths)} |" for goal, row in queue.items()
        ),
        "enough": next(enough, "more"),
        "time_rate": 1e3 / slower["-O time"],
        "ram_rate": 1e3 / slower["-O ram"],
    }


def _row(goal: str, found: Mapping[str, float]) -> str:
    times = " | ".join(f"{found[name]:.2f}" for name in (*_TIMES, "others_cores"))
    return (
        f"| `{goal}` | {found['points']:,} | {found['seconds']:.1f} | {found['efficiency']:.3f} | "
        f"{found['points_a_second']:,} | {times} |"
    )


def _engine() -> str:
    """Which code is measured."""
    return digest_of(tuple(sorted(Path(tinygen.sweeping.__file__).parent.glob("*.py"))))[:8]


def loop_seconds() -> float:
    """Process time of an empty loop of Python, the mean of two processes at once."""
    code = (
        f"import time\nbegin = time.process_time()\nfor _ in range({_ROUNDS}): pass\nprint(time.process_time() - begin)"
    )
    line = [sys.executable, "-c", code]
    started = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for _ in range(_WORKERS)]
    return mean(float(process.communicate()[0]) for process in started)


def main(parts: Sequence[str]) -> None:
    """Measure, store, write the page."""
    file = _OUT.with_suffix(".json")
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for part in parts or PARTS:
        line = [sys.executable, "-m", "benchmarks.sweep", "--measure", part]
        before = loop_seconds()
        measured = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout)
        found[part] = {**measured, "loop_s": round(mean((before, loop_seconds())), 2), "engine": _engine()}
        ordered = {name: found[name] for name in PARTS if name in found}
        file.write_text(f"{json.dumps(ordered)}\n", encoding="utf-8")
    if found.keys() >= PARTS.keys():
        _OUT.with_suffix(".md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--measure", part]:
            print(json.dumps(PARTS[part]()))
        case ["--cluster", workers]:
            serve(int(workers))
        case ["--workers", scheduler]:
            asyncio.run(work(scheduler))
        case parts:
            main(parts)
