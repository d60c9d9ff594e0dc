"""Random layers on kernels of vectors: under QEMU as assembly, on the host as their C model, from the same streams."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.support.batches import stacked
from tests.support.fences import fenced_offsets, is_fenced, run, watched
from tests.support.native_layers import FAMILIES, Outcome
from tests.support.operator_models import OperatorModel
from tests.support.reference import evaluate
from tinygen import passes
from tinygen.build.execute import Sample
from tinygen.build.firmware import MemoryLimits, build_firmware
from tinygen.build.kernel_sources import kernel_library, native, operators
from tinygen.build.toolchain import Sanitizer, for_board
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Schedule
from tinygen.targets import Board, load
from tinygen.targets.isa import Isa

_RAM_BYTES = 100 << 20
_PREFIXES = {Isa.MVE: "tg_native_mve_", Isa.ZVE32X: "tg_native_rvv_"}


def check_vectors(isa: Isa, family: str, count: int, seed: int, target: str, folder: Path) -> Outcome:
    """Run `count` random layers side by side in one program, with kernels of a set, against their numpy references."""
    model = OperatorModel(np.random.default_rng([seed, *family.encode()]))
    for _ in range(count):
        FAMILIES[family](model)
    source = folder / "layers.tflite"
    source.write_bytes(model.finish())
    imported = import_model(source)
    toolbox = Toolbox(Library.PORTABLE, isa, has_native_kernels=True)
    schedule = fenced_plan(passes.run(imported), target, toolbox)
    outputs = run_fenced(schedule, model.values, folder)
    differing = [
        f"{op.source}: {[tensor.shape for tensor in op.operands]} -> {op.results[0].shape}"
        for op, output, right in zip(imported.ops, outputs, evaluate(imported, model.values), strict=True)
        if not np.array_equal(output, right)
    ]
    functions = [call.kernel.function for call in schedule.calls if is_vector(call.kernel, isa)]
    return Outcome(count, len(functions), frozenset(functions), tuple(differing), 0, 0)


def fenced_plan(graph: Graph, target: str, toolbox: Toolbox) -> Schedule:
    """Layers side by side on whole tensors, with fences between them."""
    with stacked(fenced_offsets):
        return plan(graph, _roomy(load(target)), toolbox, PlanRequest(_RAM_BYTES, may_split=False))


def _roomy(board: Board) -> Board:
    """The board with its largest RAM alone, which has room for all layers with fences between them."""
    largest = max(board.rams, key=lambda memory: memory.size)
    memories = tuple(memory for memory in board.memories if memory is largest or memory not in board.rams)
    return board.model_copy(update={"memories": memories})


def is_vector(kernel: Kernel, isa: Isa) -> bool:
    """Whether it is one of those with the vectors of an instruction set."""
    return kernel.function.startswith(_PREFIXES[isa])


def run_fenced(schedule: Schedule, inputs: Sample, folder: Path) -> Sequence[Array]:
    """The outputs of a plan with fences, none of which is touched."""
    assert is_fenced(schedule)
    board, files = schedule.board, render(schedule, "layers", "layers.tflite")
    trees = (kernel_library(Library.PORTABLE, None), operators(), native())
    checks = [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if board.is_host else []
    files = watched(files, "layers", schedule) if board.is_host else files
    toolchain = for_board(board, sanitizers=checks)
    image = build_firmware(schedule, "layers", files, trees, toolchain, folder, Measure.INSTRUCTIONS, MemoryLimits())
    (outputs,) = run(image, schedule, [inputs])
    return outputs
