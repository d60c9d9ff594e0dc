"""What the smallest plans take, beside the RAM that was aimed at; writes ram.md.

    python -m benchmarks.ram

Needs the models of ../shared/models. Nothing is built or run: instructions are modelled, stacks are mlperf.json's.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.goals import MODELS
from tests.support.networks import msf_cnn
from tests.support.planes import planar
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.options import InputMode, Kernels, Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import plan_model
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.search.goals import RAM_SLACK
from tinygen.report.operators import extra_macs

PAGE = Path(__file__).with_name("ram.md")
_RUN = Path(__file__).parent / "mlperf" / "mlperf.json"
_BOARD = targets.load("mps2-an386")
_HEAD = """\
# The smallest arenas

Made by `python -m benchmarks.ram` (`make bench-ram`); do not edit.

Plans of `-O ram` on Cortex-M4 (`mps2-an386`), without CMSIS-NN. Arena in bytes; MACs beside those of the network,
of which `--recompute` allows some to be done again; instructions modelled, in thousands. "Aim" is what the arena should
take, at most with so many MACs.

The first network is what msf-CNN (arXiv 2505.11483) calls MobileNetV2-0.35 on images of 144x144, with random weights
(`tests/support/networks.py`): there it takes 7,887 bytes at 1.68 times the MACs, 13,926 at 1.56 and 21,288 at 1.30,
without input, output, residuals and scratch, all of which are counted here.

More recompute gives no larger arena (`tests/planner/test_recompute.py`).

| network | input | kernels | asked for | arena | MACs | instructions | aim |
|---|---|---|---|--:|--:|--:|---|
"""
_STACKS = """
With the stack, as QEMU measures it: the smallest of all builds in [mlperf.md](mlperf/mlperf.md) for that board.

| task | RAM | of it stack | goal and kernels | aim |
|---|--:|--:|---|--:|
"""


@dataclass(frozen=True)
class Aim:
    """A plan that is asked for, and what it should take."""

    network: str
    input: str
    kernels: str
    asked: str
    plan: Callable[[], tuple[Schedule, int]]  # and the multiplications of the network
    aim: str


def rival(adds: bool, has_planes: bool, share: float) -> Schedule:
    """The smallest plan that is found for msf-CNN's network, of which so many multiplications may be done again."""
    graph = msf_cnn(adds=adds)
    return smallest(planar(graph) if has_planes else graph, share)


def smallest(graph: Graph, share: float) -> Schedule:
    """With portable kernels, an input that may be read again, and an output that the application takes."""
    again = PlanRequest(
        fetches_input=True, rereads_input=True, stores_output=True, extra_macs=int(share * graph.macs), slack=0
    )
    return plan(graph, _BOARD, Toolbox(Library.PORTABLE, _BOARD.isa, Objective.RAM), again)


def _rivals() -> Iterator[Aim]:
    for share, aim in ((0.3, "7,800 at 1.3 x"), (0.6, "6,900 at 1.6 x")):
        for adds, planes in ((False, False), (True, False), *(((True, True),) if share == 0.3 else ())):
            name = f"msf-CNN's, {'adds' if adds else 'no adds'}{', NCHW' if planes else ''}"
            asked = f"`--recompute {share:.0%} --slack 0`"
            yield Aim(name, "rereadable", "portable", asked, partial(_planned_rival, adds, planes, share), aim)


def _planned_rival(adds: bool, has_planes: bool, share: float) -> tuple[Schedule, int]:
    schedule = rival(adds, has_planes, share)
    return schedule, schedule.graph.macs


def _models() -> Iterator[Aim]:
    half, none = "`--recompute 50% --slack 0`", "`--slack 0`"
    for name, input, kernels, asked, aim in (
        ("open/mcunet_vww_int8", "rereadable", "auto", half, "9,000 at 1.5 x"),
        ("mlperf_tiny/vww_96_int8", "rereadable", "portable", half, "7,000 at 1.5 x"),
        ("mlperf_tiny/pretrainedResnet_quant", "streamed", "portable", none, "7,550"),
        ("mlperf_tiny/pretrainedResnet_quant", "streamed", "native", none, "8,000"),
        ("mlperf_tiny/kws_ref_model", "resident", "auto", "", "4,250"),
        ("mlperf_tiny/kws_ref_model", "resident", "auto", none, "4,250"),
        ("mlperf_tiny/str_ww_ref_model", "resident", "auto", "", "3,750"),
        ("mlperf_tiny/str_ww_ref_model", "resident", "auto", none, "3,750"),
    ):
        options = Options(
            _BOARD.name,
            objective=Objective.RAM,
            input=InputMode(input),
            kernels=Kernels(kernels),
            cmsis_nn=None if kernels == "portable" else WITHOUT_CMSIS_NN,
            recompute=0.5 if asked == half else 0.05,
            slack=0.0 if asked else RAM_SLACK,
        )
        planned = partial(_planned_model, MODELS / f"{name}.tflite", options)
        yield Aim(name.rpartition("/")[2], input, kernels, asked, planned, aim)


def _planned_model(model: Path, options: Options) -> tuple[Schedule, int]:
    compiled = plan_model(model, options)
    return compiled.schedule, compiled.graph.macs


def _row(aim: Aim) -> str:
    schedule, macs = aim.plan()
    ratio = f"{1 + extra_macs(schedule) / macs:.2f} x"
    thousands = f"{estimated_instructions(schedule, Library.PORTABLE) / 1000:,.0f}"
    said = (aim.network, aim.input, aim.kernels, aim.asked, f"{schedule.arena_bytes:,}", ratio, thousands, aim.aim)
    return f"| {' | '.join(said)} |\n"


def _with_stacks() -> Iterator[str]:
    rows = json.loads(_RUN.read_text(encoding="utf-8"))["rows"]
    for task, aim in (("kws", 4400), ("sww", 3900), ("ad", 860)):
        own = (row for row in rows if (row["target"], row["task"]) == (_BOARD.name, task) and row["ram_bytes"])
        least = min(own, key=lambda row: row["ram_bytes"])
        made = f"`-O {least['goal']}`, {least['variant']}"
        yield f"| {task} | {least['ram_bytes']:,} | {least['stack_bytes']:,} | {made} | {aim:,} |\n"


def main() -> None:
    """Write the page."""
    text = _HEAD + "".join(map(_row, (*_rivals(), *_models()))) + _STACKS + "".join(_with_stacks())
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
