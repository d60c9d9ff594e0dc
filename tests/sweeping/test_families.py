"""The example's families are networks that tinygen takes, and a searcher that is given rows keeps within its limits."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from examples.families import Member, family, main, network
from tests.support.tools import requires_host_cc
from tests.sweeping.test_sweep import BOARDS, needs_dask
from tinygen.pipeline import Shared
from tinygen.sweeping.candidate import Suggestion, digest_of_source, source_of
from tinygen.sweeping.point import Batch, PointResult, PointTask, evaluate, run_batch
from tinygen.sweeping.sweep import plan_of, sweep


def test_a_family_is_its_product_and_no_network_is_another(tmp_path: Path) -> None:
    main(tmp_path, "8,16", "1", "32")
    files = sorted(tmp_path.iterdir())
    assert [file.stem for file in files] == sorted(member.name for member in family([8, 16], [1], [32]))
    assert len({file.read_bytes() for file in files}) == 4
    member = Member("image", 8, 1, 32)
    assert (tmp_path / f"{member.name}.onnx").read_bytes() == network(member).SerializeToString()


def test_wider_deeper_and_finer_networks_take_more_on_each_core(tmp_path: Path) -> None:
    plan = plan_of(BOARDS, {"optimize": "time", "kernels": "portable"})

    def swept(member: Member) -> tuple[PointResult, ...]:
        source = source_of(Suggestion(member.name, network(member)))
        return run_batch(Batch(source, digest_of_source(source), (0, 1, 2), plan.points), PointTask(), tmp_path)

    members = (
        *(Member("keyword", 8, 1, 20), Member("keyword", 16, 1, 20), Member("keyword", 8, 2, 20)),
        *(Member("keyword", 8, 1, 40), Member("image", 8, 1, 20), Member("image", 8, 2, 20)),
    )
    found = [swept(member) for member in members]
    assert {result.error for results in found for result in results} == {""}
    instructions = np.array([[result.estimated_instructions for result in results] for results in found])
    for more, less in ((1, 0), (2, 0), (3, 0), (5, 4)):
        assert (instructions[more] > instructions[less]).all()
    arenas = np.array([[result.arena_bytes for result in results] for results in found])
    assert (arenas[[1, 3]] > arenas[0]).all()


@requires_host_cc
@pytest.mark.slow
def test_members_compute_what_onnxruntime_does(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: families are not compared with it")
    [chosen] = plan_of("host", {"kernels": "portable"}).points
    for member in (Member("keyword", 8, 1, 20), Member("image", 8, 2, 20)):
        file = tmp_path / f"{member.name}.onnx"
        onnx.save(network(member), file)
        found = evaluate(file, chosen, PointTask(validate=3), Shared())
        assert (found.error, found.exact) == ("", True)


@pytest.mark.slow
def test_optuna_drives_a_sweep(tmp_path: Path) -> None:
    needs_dask()
    pytest.importorskip("optuna", reason="optuna is not installed: the example that searches is not run")
    from examples.search import Search  # noqa: PLC0415  (needs optuna)

    search = Search(trials=6, ram=9_000, instructions=2_000_000)
    rows = sweep([], BOARDS[1], suggest=search, workers=1, optimize="time", kernels="portable", cache=tmp_path)
    assert len(rows) == 6
    assert [trial.value for trial in search.study.trials] == [row["macs"] for row in rows]
    limits = {"arena_bytes": 9_000, "estimated_instructions": 2_000_000}
    expected = [{name: row[name] / most - 1 for name, most in limits.items()} for row in rows]
    assert [trial.constraints for trial in search.study.trials] == expected
