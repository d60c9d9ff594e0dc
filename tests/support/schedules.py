"""Schedules as programs: printed, built and run as they are."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.support.graphs import evaluate, random_inputs
from tinygen.build.execute import Execution, Sample, execute
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
    return executed_schedule(schedule, library, folder, inputs, sanitizers).outputs


def executed_schedule(
    schedule: Schedule, library: Library, folder: Path, inputs: Sequence[Sample], sanitizers: Sequence[Sanitizer] = ()
) -> Execution:
    """All that the program reports of them."""
    files = render(schedule, "net", "net")
    trees = (kernel_library(library, None), operators(), native())
    toolchain = for_board(schedule.board, sanitizers=sanitizers)
    image = build_firmware(schedule, "net", files, trees, toolchain, folder, Measure.INSTRUCTIONS, MemoryLimits())
    return execute(image, schedule, inputs)


def check_runs(schedule: Schedule, library: Library, folder: Path, samples: int = 1) -> None:
    """The program's first output is that of the references, for random inputs one after the other."""
    drawn = [random_inputs(schedule.graph, seed) for seed in range(1, samples + 1)]
    found = run_schedule(schedule, library, folder, drawn)
    for inputs, (output,) in zip(drawn, found, strict=True):
        np.testing.assert_array_equal(output, evaluate(schedule.graph, inputs)[schedule.graph.output_tensors[0]])
