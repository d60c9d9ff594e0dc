"""Random layers on the MVE kernels: under QEMU as assembly, on the host as their C model, from the same streams."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.support.native_layers import FAMILIES, Outcome
from tests.support.operator_models import OperatorModel
from tests.support.reference import evaluate
from tinygen import passes
from tinygen.build.execute import execute
from tinygen.build.firmware import MemoryLimits, build_firmware
from tinygen.build.kernel_sources import kernel_library, native, operators
from tinygen.build.toolchain import Sanitizer, for_board
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Schedule
from tinygen.targets import load
from tinygen.targets.isa import Isa

_RAM_BYTES = 100 << 20


def check_mve(family: str, count: int, seed: int, target: str, folder: Path) -> Outcome:
    """Run `count` random layers side by side in one program, against their numpy references."""
    model = OperatorModel(np.random.default_rng([seed, *family.encode()]))
    for _ in range(count):
        FAMILIES[family](model)
    source = folder / "layers.tflite"
    source.write_bytes(model.finish())
    imported = import_model(source)
    toolbox = Toolbox(Library.PORTABLE, Isa.MVE, has_native_kernels=True)
    schedule = plan(passes.run(imported), load(target), toolbox, PlanRequest(_RAM_BYTES, False, False))
    outputs = _outputs(schedule, source.name, model, folder)
    differing = [
        f"{op.source}: {[tensor.shape for tensor in op.operands]} -> {op.results[0].shape}"
        for op, output, right in zip(imported.ops, outputs, evaluate(imported, model.values), strict=True)
        if not np.array_equal(output, right)
    ]
    functions = [call.kernel.function for call in schedule.calls if is_mve(call.kernel)]
    return Outcome(count, len(functions), frozenset(functions), tuple(differing), 0)


def is_mve(kernel: Kernel) -> bool:
    """Whether it is one of those for MVE."""
    return kernel.function.startswith("tg_native_mve_")


def _outputs(schedule: Schedule, title: str, model: OperatorModel, folder: Path) -> Sequence[Array]:
    board = schedule.board
    trees = (kernel_library(Library.PORTABLE, None), operators(), native())
    checks = [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if board.is_host else []
    files = render(schedule, "layers", title)
    toolchain = for_board(board, sanitizers=checks)
    image = build_firmware(schedule, "layers", files, trees, toolchain, folder, Measure.INSTRUCTIONS, MemoryLimits())
    (outputs,) = execute(image, schedule, [model.values]).outputs
    return outputs
