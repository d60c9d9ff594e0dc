"""Schedules as programs: printed, built and run as they are."""

from collections.abc import Sequence
from pathlib import Path

from tinygen.build.execute import Sample, execute
from tinygen.build.firmware import MemoryLimits, build_firmware
from tinygen.build.kernel_sources import kernel_library, native, operators
from tinygen.build.toolchain import Sanitizer, for_board
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.ir.types import Array
from tinygen.kernels.base import Library
from tinygen.planner.schedule.schedule import Schedule


def run_schedule(
    schedule: Schedule, library: Library, folder: Path, inputs: Sequence[Sample], sanitizers: Sequence[Sanitizer] = ()
) -> Sequence[Sequence[Array]]:
    """The outputs for each sample, from the schedule's board."""
    files = render(schedule, "net", "net")
    trees = (kernel_library(library, None), operators(), native())
    toolchain = for_board(schedule.board, sanitizers=sanitizers)
    image = build_firmware(schedule, "net", files, trees, toolchain, folder, Measure.INSTRUCTIONS, MemoryLimits())
    return execute(image, schedule, inputs).outputs
