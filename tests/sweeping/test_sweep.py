"""`tinygen sweep`: the table is the same whatever happens to workers; what fails is a row."""

import csv
import os
import re
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

import tinygen as package
from tests.support.command_line import DIGITS, DIGITS_DATA, interruptible_process, tinygen
from tests.support.tools import requires_arm_gcc, requires_qemu
from tests.sweeping.test_store import stored
from tinygen import frontends, pipeline
from tinygen.build.toolchain import Toolchain
from tinygen.cli.terminal import Terminal
from tinygen.codegen.harness import Measure
from tinygen.errors import ToolError, UsageError
from tinygen.pipeline import Compiled
from tinygen.planner.search.search_work import Watch
from tinygen.sweeping import engine, point
from tinygen.sweeping.bounded import ExceededError, bounded
from tinygen.sweeping.candidate import Given, Suggestion, digest_of, source_of
from tinygen.sweeping.engine import Cluster
from tinygen.sweeping.point import Batch, PointResult, PointTask, evaluate, run_batch
from tinygen.sweeping.store import ResultStore, key_of
from tinygen.sweeping.sweep import Row, Sweep, SweepPlan, is_better, plan_of, read_plan, sweep
from tinygen.sweeping.table import FILES, standing
from tinygen.system.work import work_folder

BOARDS = ("mps2-an382", "mps2-an386", "mps3-an547")  # M0, M4, M55


def needs_dask() -> None:
    pytest.importorskip("distributed", reason="dask is not installed: sweeps are not run")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: sweeps are not run")


def without_seconds(rows: Any) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def directly(rows: int) -> list[dict[str, Any]]:
    """What the points of digits give without a cluster."""
    plan = plan_of(BOARDS[:rows], {"kernels": "portable"})
    batch = Batch(DIGITS, digest_of((DIGITS,)), tuple(range(rows)), plan.points)
    found = run_batch(batch, PointTask(), Path())
    pairs = zip(plan.points, found, strict=True)
    return without_seconds({"model": str(DIGITS), **chosen, **vars(finding)} for chosen, finding in pairs)


def test_a_worker_imports_a_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[Path] = []
    real, counted = frontends.import_model, imported.append

    def counting(source: Path, *more: Any) -> Any:
        counted(source)
        return real(source, *more)

    monkeypatch.setattr(pipeline, "import_model", counting)
    point._kept().clear()
    plan = plan_of(BOARDS, {"optimize": ["time", "ram"], "kernels": "portable"})
    batch = Batch(DIGITS, digest_of((DIGITS,)), tuple(range(6)), plan.points)
    found = run_batch(batch, PointTask(), Path())
    assert run_batch(batch, PointTask(), Path())[0].arena_bytes == found[0].arena_bytes
    assert (len(imported), [finding.error_code for finding in found]) == (1, [0] * 6)


@requires_arm_gcc
def test_points_share_the_kernel_objects_of_a_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards of one core, goals, and workers, as they take them from tinygen's cache folder."""
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))
    made, compile = Counter[tuple[str, tuple[str, ...]]](), Toolchain.compile

    def counting(toolchain: Toolchain, sources: Sequence[Path], include: Any, flags: Any, folder: Path) -> list[Path]:
        if tmp_path / "cache" in folder.parents:
            made.update((source.name, toolchain.flags) for source in sources)
        return compile(toolchain, sources, include, flags, folder)

    def building(compiled: Compiled) -> Any:
        """In the place of `bench`, which also runs it."""
        with work_folder(tmp_path) as folder:
            compiled.build(folder, Measure.INSTRUCTIONS)
        return SimpleNamespace(**dict.fromkeys(point._MEASURED, 1))

    monkeypatch.setattr(Toolchain, "compile", counting)
    monkeypatch.setattr(point, "bench", building)
    boards = "mps2-an382", "mps2-an386", "netduinoplus2"  # M0, and two M4
    plan = plan_of(boards, {"optimize": ["time", "ram"], "kernels": "portable"})
    batch = Batch(DIGITS, digest_of((DIGITS,)), tuple(range(6)), plan.points)
    found = run_batch(batch, PointTask(bench=True), Path())
    assert [finding.error for finding in found] == [""] * 6
    kernels = {kernel: times for kernel, times in made.items() if kernel[0] in ("arm_convolve_s8.c", "tg_convolve.c")}
    assert list(kernels.values()) == [1] * 4, "two sources for two cores, once each"


def test_a_point_is_what_inspect_shows() -> None:
    document = tinygen("inspect", DIGITS, "-t", BOARDS[1], "--kernels", "portable", "--json").document
    row = directly(2)[1]
    names = ("fits", "arena_bytes", "lower_bound_bytes", "const_bytes", "macs", "extra_macs")
    assert [row[name] for name in names] == [document[name] for name in names]


def test_what_hangs_is_stopped() -> None:
    with pytest.raises(ExceededError, match=r"^timeout: it took more than 0.2 s\.$"), bounded(0.2, 1 << 40):
        while True:
            time.sleep(0.001)


def test_what_takes_too_much_memory_is_stopped() -> None:
    with pytest.raises(ExceededError, match=r"^memory: it took more than 50,000,000 bytes\.$"), bounded(60, 50_000_000):
        held = []
        while True:
            held.append(bytearray(b"x" * 1_000_000))
            time.sleep(0.001)


def test_a_limit_leaves_nothing_behind() -> None:
    """In a process of its own, which hangs if it does: at calls that are profiled, where CPython 3.11 is left with the
    flag of an exception that never arrived."""
    code = """if True:
        import sys, time
        from tinygen.sweeping.bounded import ExceededError, bounded
        ends = []
        for _ in range(40):
            try:
                with bounded(0.05, 1 << 40):
                    time.sleep(0.05)  # about when the watcher looks: before, in and after the end of the block
                ends.append(None)
            except ExceededError:
                ends.append(ExceededError)
        sys.setprofile(lambda *event: None)
        (lambda: None)()
        sys.setprofile(None)
        print(len(ends))
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert (ended.stdout, ended.stderr) == ("40\n", "")


def test_what_exceeds_a_limit_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_arguments: Any, **_shared: Any) -> Any:
        while True:
            time.sleep(0.001)

    monkeypatch.setattr(point, "plan_model", endless)
    [chosen] = plan_of("host", {}).points
    late = evaluate(DIGITS, chosen, PointTask(timeout_s=0.1), pipeline.Shared())
    large = evaluate(DIGITS, chosen, PointTask(memory_bytes=-1), pipeline.Shared())
    assert (late.error_code, late.error) == (1, "timeout: it took more than 0.1 s.")
    assert (large.error_code, large.error) == (1, "memory: it took more than -1 bytes.")
    assert not late.is_repeatable, "it is tried again the next time"


def test_exclusions_leave_points_out(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        'axes = {target = ["host", "mps2-an386"], optimize = ["time", "ram"]}\n'
        '[[exclude]]\ntarget = "host"\noptimize = ["ram"]\n'
    )
    points = plan_of((), {}, read_plan(file)).points
    assert [(chosen["target"], chosen["optimize"]) for chosen in points] == [
        ("host", "time"),
        ("mps2-an386", "time"),
        ("mps2-an386", "ram"),
    ]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"ram": ["64K", "many"]}, "many"),
        ({"speed": "high"}, "speed: is no option"),
        ({"optimize": []}, r"optimize: is \[\], values of the option --optimize were expected"),
        ({"target": ["nowhere"]}, "nowhere"),
    ],
)
def test_a_wrong_axis_is_refused_before_any_work(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_of("host", axes)


def test_without_dask_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(engine, "import_module", missing)
    with pytest.raises(ToolError, match=r"^distributed: not installed, needed for sweeps\. Run `pip install"):
        engine.package("distributed")


@pytest.mark.slow
def test_a_killed_worker_costs_nothing(tmp_path: Path) -> None:
    needs_dask()
    damaged = tmp_path / "damaged.tflite"
    damaged.write_bytes(b"\0\0\0\0TFL3" + bytes(40))
    content, killed = DIGITS.read_bytes(), list[int]()

    def kill_one() -> None:
        time.sleep(1)  # so that it may be at work: the table is the same whenever it is killed
        killed.extend(pid for stat in Path("/proc").glob("[0-9]*/stat") for pid in _worker(stat))
        os.kill(killed[0], signal.SIGKILL)

    def models() -> Iterator[Given]:
        """The cluster is there when it is asked for the second one, and until it has the last."""
        yield content
        killer.start()
        yield damaged
        killer.join()
        yield tmp_path / "missing.tflite"

    killer = Thread(target=kill_one)
    rows = sweep(models(), BOARDS[:2], kernels="portable", workers=1, cache=tmp_path / "cache")
    assert killed
    assert [{**row, "model": str(DIGITS)} for row in without_seconds(rows[:2])] == directly(2)
    assert [row["error_code"] for row in rows] == [0, 0, 3, 3, 2, 2]
    again = Sweep(
        [("model0", content)],
        plan_of(BOARDS[:2], {"kernels": "portable"}),
        PointTask(),
        Cluster(),
        tmp_path / "cache",
    )
    assert list(again.run()) == [2], "all is stored: no cluster is started"
    assert again.rows == rows[:2]


def _worker(stat: Path) -> Iterator[int]:
    """The process, where it is a worker that this one has started: multiprocessing names it by its parent."""
    try:
        fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        command = stat.with_name("cmdline").read_bytes()
    except OSError:
        return
    if int(fields[1]) == os.getpid() and b"spawn_main" in command:
        yield int(stat.parent.name)


@pytest.mark.slow
def test_the_command_writes_both_tables_and_goes_on_where_it_was(tmp_path: Path) -> None:
    needs_dask()
    out, cache = tmp_path / "out", tmp_path / "cache"
    line = ("sweep", DIGITS, "-t", ",".join(BOARDS), "--kernels", "portable", "--workers", "1", "--cache", cache)
    with interruptible_process(*line, "-o", out, cwd=tmp_path) as process:
        while process.poll() is None and not stored(cache):
            time.sleep(0.02)
        process.kill()  # the whole sweep
    ended = tinygen(*line, "-o", out, "--json")
    assert ended.code == 0, ended.stderr
    with (out / FILES[0]).open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    expected = [{name: "" if value is None else str(value) for name, value in row.items()} for row in directly(3)]
    assert without_seconds(rows) == expected
    parquet = pytest.importorskip("pyarrow.parquet")
    assert without_seconds(parquet.read_table(out / FILES[1]).to_pylist()) == directly(3)
    assert len(re.findall(r'<tr id="p\d"', (out / FILES[2]).read_text(encoding="utf-8"))) == 3
    assert SweepPlan({"target": ("host",)}).points == ({"target": "host"},)


def deadly(batch: Batch, task: PointTask, _folder: Path) -> tuple[PointResult, ...]:
    """In the place of `run_batch`: a point with -O ram kills its worker, one of a missing file only the first time."""
    is_first = isinstance(batch.model, Path) and not batch.model.exists()
    if is_first or any(chosen["optimize"] == "ram" for chosen in batch.points):
        Path(str(batch.model)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return tuple(PointResult(arena_bytes=task.validate) for _ in batch.points)


@pytest.mark.slow
def test_a_point_that_kills_its_worker_each_time_is_a_row(tmp_path: Path) -> None:
    needs_dask()
    points = plan_of("host", {"optimize": ["time", "ram", "size"]}).points
    batches = Batch(DIGITS, "", (0, 1, 2), points), Batch(tmp_path / "killed", "", (3,), points[:1])
    impatient = {"distributed.deploy.lost-worker-timeout": "10ms"}  # as on a busy machine
    with socket.socket() as taken, warnings.catch_warnings(), engine.package("dask").config.set(impatient):
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # another process has it
            taken.bind(("127.0.0.1", 8787))  # as another sweep does
            taken.listen()
        warnings.simplefilter("error")
        found = {
            part.numbers: finding
            for ended in engine.findings(iter(batches), PointTask(7), Cluster(workers=1), deadly)
            for part, finding in ended
        }
    arenas = {numbers: finding.arena_bytes for numbers, (finding,) in found.items()}
    assert arenas == {(0,): 7, (1,): None, (2,): 7, (3,): 7}, "the first death may be another point's, or nobody's"
    assert found[1,][0].error.startswith("its worker ended each time that it was tried")


def test_candidates_that_are_no_files_are_imported_from_the_workers_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point, "_MODELS_KEPT", 2)
    point._kept().clear()
    plan = plan_of("host", {"kernels": "portable"})
    graph = onnx.helper.make_graph([], "empty", [], [])
    sources = [source_of(Suggestion(f"../{n}", DIGITS.read_bytes() + bytes(n))) for n in range(4)]
    sources.append(source_of(Suggestion("", onnx.helper.make_model(graph))))
    for number, source in enumerate(sources):
        batch = Batch(source, str(number), (number,), plan.points)
        [found] = run_batch(batch, PointTask(), tmp_path)
        assert found.error_code == (3 if number == 4 else 0), found.error
        assert len(list(tmp_path.iterdir())) == min(number + 1, 2), "what is not kept is removed"


def test_accuracy_is_found_where_there_are_labels() -> None:
    [chosen] = plan_of("host", {"kernels": "portable"}).points
    found = evaluate(DIGITS, chosen, PointTask(data=DIGITS_DATA), pipeline.Shared())
    assert (found.error, found.accuracy) == ("", 361 / 364)  # as LiteRT: examples/digits/README.md


@requires_qemu
@pytest.mark.qemu
@pytest.mark.slow
def test_points_are_validated_and_measured() -> None:
    [chosen] = plan_of(BOARDS[1], {"kernels": "portable"}).points
    found = evaluate(DIGITS, chosen, PointTask(validate=1, bench=True), pipeline.Shared())
    assert (found.error, found.exact, found.mismatches) == ("", True, 0)
    measured = tinygen("bench", DIGITS, "-t", BOARDS[1], "--kernels", "portable", "--json").document
    names = ("instructions", "cycles_model", "cycles_band", "ram_bytes", "stack_bytes", "code_bytes", "flash_bytes")
    assert [getattr(found, name) for name in names] == [measured[name] for name in names]


def test_progress_says_how_many_failed_and_which_point_is_best() -> None:
    def row(**figures: Any) -> Row:
        base = {"model": "a/b.tflite", "target": "m4", "accuracy": None, "cycles_model": None, "cycles_band": None}
        return {**base, "estimated_instructions": 5_000, **figures}

    assert is_better(row(estimated_instructions=4_000), row())
    assert is_better(row(accuracy=0.9), row(accuracy=0.8, estimated_instructions=1))
    assert is_better(row(cycles_model=3), row(cycles_model=4, estimated_instructions=1))
    assert standing(0, None) == ""
    assert standing(1_200, row()) == "1,200 failed, best b.tflite on m4: 5,000 estimated_instructions"
    measured = row(accuracy=0.5, cycles_model=7, cycles_band=0.3)
    assert standing(0, measured) == "best b.tflite on m4: accuracy 0.500, 7 ± 30% cycles_model"


def test_the_command_shows_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    shown = list[tuple[str, int, int]]()

    @contextmanager
    def searching(_terminal: Terminal, what: str) -> Iterator[Watch]:
        assert what == "sweeping 2 points"
        yield lambda sought, done, total: shown.append((sought, done, total))

    monkeypatch.setattr(Terminal, "searching", searching)
    found = (
        PointResult(estimated_instructions=7, arena_bytes=1, const_bytes=1),
        PointResult(error_code=4, error="large"),
    )
    store = ResultStore(tmp_path)
    for chosen, finding in zip(plan_of(BOARDS[:2], {}).points, found, strict=True):
        store.put({key_of(digest_of((DIGITS,)), chosen, PointTask()): finding})
    store.close()
    line = ("-t", ",".join(BOARDS[:2]), "--cache", tmp_path, "-o", tmp_path / "out")
    ended = tinygen("sweep", DIGITS, *line)
    assert ended.code == 0, ended.stderr
    best = f"best {DIGITS.name} on {BOARDS[0]}: 7 estimated_instructions"
    assert shown == [(f"1 failed, {best}", 2, 2)]


def test_what_a_worker_cannot_read_is_tried_again_the_next_time(tmp_path: Path) -> None:
    batch = Batch(tmp_path / "model.tflite", "digest", (0,), plan_of(BOARDS[0], {}).points)
    (found,) = run_batch(batch, PointTask(), Path())
    assert (found.error_code, found.is_repeatable) == (2, False), found.error


def test_what_ends_before_the_first_point_leaves_the_tables_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_dask()

    def ending(_sweep: Sweep) -> Iterator[int]:
        raise ToolError("tcp://head:1: does not answer. Correct --scheduler.")

    line = ("sweep", tmp_path / "missing.tflite", "-t", BOARDS[0], "--cache", tmp_path, "-o", tmp_path / "out")
    ended = tinygen(*line, "--json")
    (row,) = ended.document["rows"]
    told = f"{tmp_path / 'missing.tflite'}: cannot be read (No such file or directory), a model was expected."
    assert (ended.code, row["error_code"], row["error"]) == (0, 2, f"{told} Correct the path.")
    before = [(tmp_path / "out" / name).read_bytes() for name in FILES]
    monkeypatch.setattr(Sweep, "run", ending)
    ended = tinygen(*line)
    assert (ended.code, ended.stderr) == (6, "tinygen: tcp://head:1: does not answer. Correct --scheduler.\n")
    assert [(tmp_path / "out" / name).read_bytes() for name in FILES] == before


@pytest.mark.slow
def test_suggest_drives_the_sweep(tmp_path: Path) -> None:
    needs_dask()
    asked = list[int]()

    def suggest(history: Any) -> Iterator[Given]:
        asked.append(len(history))
        if len(history) >= 2:
            return
        if len(asked) <= 2:
            name = f"trial{len(asked)}"
            yield Suggestion(name, DIGITS, {"optimize": "ram" if history else "time"})

    axes: Any = {"kernels": "portable", "optimize": ["time", "size"]}
    rows = package.sweep([], "host", suggest=suggest, workers=1, cache=tmp_path, **axes)
    assert [row["model"] for row in rows] == ["trial1", "trial2"]
    assert asked[-1] == 2
    with pytest.raises(UsageError, match=r"^a: has an option 'ram', one of target, kernels"):
        package.sweep([Suggestion("a", DIGITS, {"ram": "1K"})], "host", kernels="portable", cache=tmp_path)


@pytest.mark.slow
def test_a_cluster_that_is_there_does_the_same(tmp_path: Path) -> None:
    needs_dask()
    distributed = engine.package("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        rows = sweep(
            [("digits", DIGITS.read_bytes())], BOARDS[:2], kernels="portable", scheduler=address, cache=tmp_path
        )
    assert [{**row, "model": str(DIGITS)} for row in without_seconds(rows)] == directly(2)


@pytest.mark.slow
def test_ctrl_c_leaves_a_complete_table_of_what_was_done(tmp_path: Path) -> None:
    needs_dask()
    out, cache = tmp_path / "out", tmp_path / "cache"
    line = ("-t", ",".join(BOARDS), "-O", "time,ram,size,balanced", "--kernels", "auto,portable,native")
    with interruptible_process(
        "sweep", DIGITS, *line, "--workers", "1", "--cache", cache, "-o", out, cwd=tmp_path
    ) as process:
        while process.poll() is None and not stored(cache):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, notes = process.communicate(timeout=120)
    with (out / FILES[0]).open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) > 0
    assert {row["error_code"] for row in rows} == {"0"}
    assert f"with {len(rows)} of 36 points" in notes
    assert process.returncode == (0 if len(rows) == 36 else 130)
