"""What image classification takes within 96 to 512 KB of flash; writes flash.md.

    python -m benchmarks.flash

Needs the models of ../shared/models. Nothing is built or run: instructions are modelled.
"""

from pathlib import Path

from benchmarks.goals import MODELS, planned
from tinygen.kernels.base import Objective
from tinygen.options import Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import Shared, plan_model
from tinygen.planner.cost.code import beside_constants

PAGE = Path(__file__).with_name("flash.md")
_MODEL = MODELS / "mlperf_tiny" / "pretrainedResnet_quant.tflite"
_LIMITS = (96, 100, 112, *range(128, 513, 32))  # KB
_RATES = (2, 4, 8, 16)  # KB
_HEAD = """\
# Flash against time

Made by `python -m benchmarks.flash` (`make bench-flash`); do not edit.

Image classification on Cortex-M4 (`mps2-an386`) with `-O time`, without CMSIS-NN: how weights stand in flash is chosen
layer by layer (`tests/planner/test_growth.py`), within what code leaves (`tests/planner/test_code.py`). Constants, what
the rest of an image takes at most by the estimate, and arena in bytes, instructions modelled. Without a limit each
further percent of time may cost a tenth of the plain constants.

| asked for | constants | code, with a margin | instructions | arena |
|---|--:|--:|--:|--:|
"""


def main() -> None:
    """Write the page."""
    shared, text = Shared(), _HEAD
    asked: list[tuple[str, dict[str, int]]] = [("nothing", {})]
    asked += [(f"`--flash {limit}K`", {"flash_bytes": limit << 10}) for limit in _LIMITS]
    asked += [(f"`--flash-per-percent {rate}K`", {"flash_per_percent": rate << 10}) for rate in _RATES]
    for name, options in asked:
        chosen = Options("mps2-an386", objective=Objective.TIME, cmsis_nn=WITHOUT_CMSIS_NN, **options)  # type: ignore[arg-type]
        compiled = plan_model(_MODEL, chosen, shared=shared)
        found = planned(compiled.schedule, compiled.library)
        code = beside_constants(compiled.schedule, compiled.toolbox)
        text += (
            f"| {name} | {found.const_bytes:,} | {code:,} | {round(found.instructions):,} | {found.arena_bytes:,} |\n"
        )
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
