"""The suite measures what it says, and its page and picture are those of its numbers."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command_line import tinygen
from tests.support.models import MLPERF_TINY, model_file
from tests.support.tools import requires_arm_gcc, requires_qemu, requires_riscv_gcc
from tinygen import paths
from tinygen.build.output import write_folder
from tinygen.errors import UsageError
from tinygen.kernels.base import Library, Objective
from tinygen.mlperf.rivals import published, tflm
from tinygen.mlperf.tasks import TASKS
from tinygen.options import Kernels, Options, options_from_text
from tinygen.pipeline import choose_library
from tinygen.suite.measure import (
    GOALS,
    WITH,
    WITHOUT,
    Suite,
    SuitePlan,
    SuiteRow,
    TflmRatio,
    best,
    run_suite,
    variants,
)
from tinygen.suite.picture import picture
from tinygen.suite.tables import markdown

STORED = Path(__file__).resolve().parents[2] / "benchmarks" / "mlperf"
RAM_OF_TFLM = {"kws": 0.35, "ic": 0.35, "vww": 0.35, "sww": 0.45, "ad": 0.45}  # at most, with -O ram


def _plan(targets: tuple[str, ...], goals: tuple[Objective, ...], models: Path) -> SuitePlan:
    return SuitePlan(targets, goals, (Kernels.AUTO,), models, "tinygen bench --suite mlperf")


def _ignore(done: int, total: int) -> None:
    assert 0 <= done < total


@requires_arm_gcc
@requires_riscv_gcc
def test_item_24_compilers_of_all_families_are_named() -> None:
    models = model_file("ad01_int8").parent
    versions = run_suite(_plan(("mps2-an385", "qemu-rv32", "mps2-an386"), (), models), Options(), _ignore).versions
    assert versions["compiler"].startswith("arm-none-eabi-gcc")
    assert versions["compiler for RISC-V"].startswith("riscv64-unknown-elf-gcc")


@pytest.mark.qemu
@requires_qemu
@pytest.mark.slow
def test_s2_17_ram_beside_tflm() -> None:
    models = model_file("ad01_int8").parent
    suite = run_suite(_plan(("mps2-an386", "mps3-an547"), (Objective.RAM,), models), Options(), _ignore)
    first = suite.rows[0].variant
    assert [(row.target, row.task) for row in suite.rows if row.may_shrink and row.variant == first] == [
        (target, task) for target in ("mps2-an386", "mps3-an547") for task in TASKS
    ]
    for row in suite.rows:
        assert row.tflm_ram is not None
        assert row.inner_tensors > 8 and row.inner_values > row.output_values >= row.distinct_output_values > 1
        assert row.tflm_ram.ratio <= RAM_OF_TFLM[row.task], row
        assert row.ram_bytes >= row.arena_bytes + row.stack_bytes
        assert row.instructions_per_mac == round(row.instructions / row.macs, 3)


@requires_arm_gcc
def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the host counts nothing"):
        run_suite(_plan(("mps2-an386", "host"), GOALS, tmp_path), Options(), _ignore)
    with pytest.raises(UsageError, match=r"kws_ref_model.tflite: not found in .* Fetch the reference models"):
        run_suite(_plan(("mps2-an386",), GOALS, tmp_path), Options(), _ignore)


def test_page_and_picture_are_those_of_the_stored_numbers() -> None:
    stored = json.loads((STORED / "mlperf.json").read_text(encoding="utf-8"))
    suite = Suite(**{**stored, "rows": tuple(_row(record) for record in stored["rows"])})
    assert {row.task for row in suite.rows} == set(TASKS)
    assert markdown(suite) == (STORED / "mlperf.md").read_text(encoding="utf-8")
    drawn = picture(suite)
    assert drawn == (STORED / "mlperf.svg").read_text(encoding="utf-8")
    assert f"{suite.rows[0].cycles_model:,} ± {suite.rows[0].cycles_band:.0%}" in markdown(suite)
    texts = {element.text for element in ElementTree.fromstring(drawn).iter() if element.text}
    fastest = next(best(suite.rows, "mps2-an386", Objective.TIME))
    assert any(text.startswith(f"{fastest.instructions:,}") for text in texts)


def test_s2_17_stored_builds_keep_the_bounds_that_slow_tests_measure_again() -> None:
    rows = json.loads((STORED / "mlperf.json").read_text(encoding="utf-8"))["rows"]
    asked = {"goal": "ram", "variant": f"auto {WITH}", "may_shrink": True}
    found = [row for row in rows if asked.items() <= row.items() and row["tflm_ram"]]
    assert {(row["target"], row["task"]) for row in found} == {
        (target, task) for target in ("mps2-an386", "mps3-an547") for task in TASKS
    }
    assert all(row["tflm_ram"]["ratio"] <= RAM_OF_TFLM[row["task"]] for row in found)


def _stored_ratios(target: str) -> list[dict[str, float]]:
    """Of each build what it takes of TFLM's, of what is known."""
    rows = json.loads((STORED / "mlperf.json").read_text(encoding="utf-8"))["rows"]
    kinds = ("instructions", "ram", "code")
    return [
        {kind: row[f"tflm_{kind}"]["ratio"] for kind in kinds if row[f"tflm_{kind}"]}
        for row in rows
        if row["target"] == target
    ]


def test_s2_15_s2_17_s2_18_hold_in_one_plan() -> None:
    """Two percent more instructions, three fifths of the RAM and a tenth of the code, at most, in a single build."""
    wanted = {"instructions": 1.02, "ram": 0.6, "code": 0.1}
    builds = [build for build in _stored_ratios("mps2-an386") if build.keys() == wanted.keys()]
    assert any(all(build[kind] <= most for kind, most in wanted.items()) for build in builds)


def test_s2_19_faster_and_smaller_at_once() -> None:
    builds = _stored_ratios("mps2-an386")
    assert any(build["instructions"] <= 1 / 3 and build["ram"] <= 1 / 2 for build in builds)
    assert any(build.get("code", 1) < 1 / 7 for build in builds)


def _row(record: dict[str, object]) -> SuiteRow:
    ratios = {key: TflmRatio(**value) for key, value in record.items() if isinstance(value, dict) and "ratio" in value}
    return SuiteRow(**{**record, **ratios})  # type: ignore[arg-type]


def test_s2_21_rivals_are_complete() -> None:
    rival = tflm()
    for by_board in (rival.arena_bytes, rival.ram_bytes, rival.code_bytes, rival.instructions, rival.cycles_model):
        assert "mps2-an386" in by_board
        assert all(set(by_model) == set(MLPERF_TINY) for by_model in by_board.values())
    for peers in published().million_cycles.values():
        assert all(set(by_task) <= set(TASKS) for by_task in peers.values())


def test_the_picture_s_template_is_installed() -> None:
    assert (paths.TEMPLATES / "suite.svg.j2").is_file()


def test_changed_results_are_replaced_with_force_only(tmp_path: Path) -> None:
    results, models = tmp_path / "results", tmp_path / "none"
    models.mkdir()
    write_folder(results, {"mlperf.md": "measured\n"})
    (results / "mlperf.md").write_text("edited\n")
    asked = ("bench", "--suite", "mlperf", "-t", "mps2-an386", "--models", models, "-o", results)
    ended = tinygen(*asked)
    assert ended.code == 2 and "mlperf.md: was changed after tinygen wrote it" in ended.stderr
    assert "was changed" not in tinygen(*asked, "--force").stderr  # but that there are no models
    assert (results / "mlperf.md").read_text() == "edited\n"


def test_builds_with_and_without_cmsis_nn_whatever_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (Kernels.AUTO, Kernels.CMSIS_NN, Kernels.PORTABLE)
    (tmp_path / "Include").mkdir()
    monkeypatch.setenv("TINYGEN_CMSIS_NN", str(tmp_path))
    assert [found.name for found in variants((Kernels.AUTO,), Options())] == [f"auto {WITHOUT}"] * 2
    (tmp_path / "Include" / "arm_nnfunctions.h").touch()
    found = variants(asked, Options())
    names = [f"auto {WITH}", f"auto {WITHOUT}"]
    assert [each.name for each in found] == [*names, *names, "cmsis-nn", "portable"]
    assert [each.may_shrink for each in found] == [True, True, False, False, True, True]
    libraries = [choose_library(each.options(Options())) for each in found]
    real, portable = Library.CMSIS_NN, Library.PORTABLE
    assert libraries == [real, portable, real, portable, real, portable]


def test_cmsis_nn_is_off_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Include").mkdir()
    (tmp_path / "Include" / "arm_nnfunctions.h").touch()
    monkeypatch.setenv("TINYGEN_CMSIS_NN", str(tmp_path))
    off = options_from_text("mps2-an386", cmsis_nn="off")
    assert (choose_library(Options()), choose_library(off)) == (Library.CMSIS_NN, Library.PORTABLE)
    replace(off, kernels=Kernels.PORTABLE).check()
    with pytest.raises(UsageError, match="--kernels cmsis-nn, --cmsis-nn off: exclude each other"):
        replace(off, kernels=Kernels.CMSIS_NN).check()
