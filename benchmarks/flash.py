"""What image classification and anomaly detection take within limits of flash; writes flash.md.

    python -m benchmarks.flash

Needs the models of ../shared/models, the Arm compiler and QEMU. Instructions of image classification are modelled,
those of anomaly detection are counted.
"""

from pathlib import Path

import tinygen
from benchmarks.goals import MODELS, planned
from tinygen.kernels.base import Objective
from tinygen.options import Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import Shared, plan_model
from tinygen.planner.cost.code import beside_constants

PAGE = Path(__file__).with_name("flash.md")
_BOARD = "mps2-an386"
_MODEL = MODELS / "mlperf_tiny" / "pretrainedResnet_quant.tflite"
_PACKED = MODELS / "mlperf_tiny" / "ad01_int8.tflite"
_PACKED_LIMITS = (304, *range(288, 224, -16), *range(224, 176, -8))  # KB
_LIMITS = (96, 100, 112, *range(128, 513, 32))  # KB
_RATES = (2, 4, 8, 16)  # KB
_HEAD = """\
# Flash against time

Made by `python -m benchmarks.flash` (`make bench-flash`); do not edit.

Image classification on Cortex-M4 (`mps2-an386`) with `-O time`, without CMSIS-NN: how weights stand in flash is chosen
layer by layer (`tests/planner/test_growth.py`), within what code leaves (`tests/planner/test_code.py`). Constants, what
the rest of an image takes at most by the estimate, and arena in bytes, instructions modelled. Without a limit each
further percent of time may cost a tenth of what portable kernels and their constants take.

| asked for | constants | code, with a margin | instructions | arena |
|---|--:|--:|--:|--:|
"""
_PACKED_HEAD = """
## Packed weights

Anomaly detection on the same core with `-O time`, without CMSIS-NN: where weights do not fit, as many layers as need be
stand in the bits that their blocks of 32 weights need (`--pack-constants`, `runtime_c/operators/tg_squeezed.h`), or in
a Huffman code (`runtime_c/operators/tg_huffman.h`), whose table takes RAM. The outputs are the same. Bytes as built,
instructions counted under QEMU; Vela's codec takes 184,384 bytes for these weights.

| asked for | constants | code | instructions | arena |
|---|--:|--:|--:|--:|
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(_growing() + _packing(), encoding="utf-8")


def _packing() -> str:
    text = _PACKED_HEAD
    for limit in _PACKED_LIMITS:
        found = tinygen.bench(_PACKED, _BOARD, optimize="time", cmsis_nn="off", flash=f"{limit}K")
        text += (
            f"| `--flash {limit}K` | {found.const_bytes:,} | {found.code_bytes:,} | {found.instructions:,} "
            f"| {found.arena_bytes:,} |\n"
        )
    return text


def _growing() -> str:
    shared, text = Shared(), _HEAD
    asked: list[tuple[str, dict[str, int]]] = [("nothing", {})]
    asked += [(f"`--flash {limit}K`", {"flash_bytes": limit << 10}) for limit in _LIMITS]
    asked += [(f"`--flash-per-percent {rate}K`", {"flash_per_percent": rate << 10}) for rate in _RATES]
    for name, options in asked:
        chosen = Options(_BOARD, objective=Objective.TIME, cmsis_nn=WITHOUT_CMSIS_NN, **options)  # type: ignore[arg-type]
        compiled = plan_model(_MODEL, chosen, shared=shared)
        found = planned(compiled.schedule, compiled.toolbox)
        code = beside_constants(compiled.schedule, compiled.toolbox)
        text += (
            f"| {name} | {found.const_bytes:,} | {code:,} | {round(found.instructions):,} | {found.arena_bytes:,} |\n"
        )
    return text


if __name__ == "__main__":
    main()
