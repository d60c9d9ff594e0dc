"""Weights of four and two bits whose streams native kernels read from scratch: exact, and no byte beside it touched."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from tests.kernels.test_narrow_weights import LAYERS, random_layers
from tests.support.coded_layers import narrowed
from tests.support.graphs import GraphBuilder, random_inputs
from tests.support.native_layers import check
from tests.support.reference import evaluate
from tests.support.schedules import check_runs, executed_schedule, run_schedule
from tests.support.tools import requires_arm_gcc, requires_host_cc, requires_qemu, requires_riscv_qemu
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.kernels import select
from tinygen.kernels.base import PLAIN, Kernel, Library, Objective, Toolbox
from tinygen.kernels.native.expanded import ExpandedKernel, Expansion, can_expand, widened
from tinygen.kernels.native.native import StreamForm
from tinygen.kernels.native.select import native_kernels
from tinygen.kernels.prices import prices
from tinygen.kernels.select import variants
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.ring_fully_connected import RingFullyConnected
from tinygen.ops.window import HW
from tinygen.planner.plan import PlanRequest, curve, plan
from tinygen.targets import load
from tinygen.targets.isa import Isa

FEWEST_NATIVE = 0.5  # of the layers: others have factors or sizes that native kernels do not take
_ARM = [requires_arm_gcc, requires_qemu, pytest.mark.qemu]
_RISCV = [requires_riscv_qemu, pytest.mark.qemu]
TARGETS = [
    pytest.param("host", marks=requires_host_cc),
    *(pytest.param(board, marks=_ARM) for board in ("mps2-an382", "mps2-an385", "mps2-an386", "mps3-an547")),
    *(pytest.param(board, marks=_RISCV) for board in ("qemu-rv32", "qemu-rv32-zve32x")),
]
SETS = [(Isa.SCALAR, False), (Isa.SCALAR, True), (Isa.DSP, True), (Isa.MVE, True), (Isa.RV32IMAC, True)]


@pytest.mark.parametrize("family", ["convolution", "depthwise", "few_pixels", "first_layers", "fully_connected"])
@pytest.mark.parametrize(
    ("target", "sanitized"),
    [
        pytest.param("host", True, id="host-sanitized", marks=requires_host_cc),
        pytest.param("mps2-an386", False, id="m4", marks=_ARM),
        pytest.param("mps3-an547", False, id="m55", marks=_ARM),
    ],
)
def test_random_layers(family: str, target: str, sanitized: bool, tmp_path: Path) -> None:
    outcome = check(family, LAYERS, 1, target, tmp_path, sanitized, has_int4=True)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS


@pytest.mark.parametrize("dtype", [DType.INT4, DType.INT2])
@pytest.mark.parametrize("target", TARGETS)
def test_streams_of_all_forms(target: str, dtype: DType, tmp_path: Path) -> None:
    """Of convolutions, of vectors, of vectors group by group; beside layers whose streams have words of other forms."""
    board = load(target)
    layers = random_layers(len(target), LAYERS, (dtype,))
    graph, inputs = layers.graph(), layers.values()
    toolbox = Toolbox(Library.PORTABLE, board.isa, has_native_kernels=True, has_thumb2=board.has_thumb2)
    schedule = plan(graph, board, toolbox, PlanRequest())
    [outputs] = run_schedule(schedule, Library.PORTABLE, tmp_path, [inputs])
    for op, output, expected in zip(layers.ops, outputs, evaluate(graph, inputs), strict=True):
        assert np.array_equal(output, expected), f"{op}: {[tensor.type for tensor in op.operands]}"
    expanded = [call for call in schedule.calls if isinstance(call.kernel, ExpandedKernel)]
    assert {type(call.op) for call in expanded} >= {Conv2D, DepthwiseConv2D, FullyConnected}
    assert len({call.kernel.runner for call in expanded}) >= 3
    assert "tg_convolve_packed_s8" in {call.kernel.function for call in schedule.calls}


@pytest.mark.parametrize(("isa", "has_thumb2"), SETS)
def test_kernels_are_listed_by_time_and_scratch(isa: Isa, has_thumb2: bool) -> None:
    """What expands weights before what unpacks filters; without native kernels, or where flash must not grow, none."""
    toolbox = Toolbox(Library.PORTABLE, isa, has_native_kernels=True, has_thumb2=has_thumb2)
    for op in (_convolution(), _vector()):
        assert isinstance(op, Conv2D | FullyConnected)
        kernels, price = variants(op, toolbox), prices(toolbox)
        assert isinstance(kernels[0], ExpandedKernel) and not isinstance(kernels[-1], ExpandedKernel)
        scratch = [kernel.scratch_bytes for kernel in kernels]
        assert scratch == sorted(set(scratch), reverse=True)
        taken = [price.instructions(kernel.work(op)) for kernel in kernels]
        assert taken == sorted(taken) and 2 * taken[0] < taken[-1]
        for without in (toolbox.of_library, replace(toolbox, growths=((op.weights, PLAIN),))):
            assert not any(isinstance(kernel, ExpandedKernel) for kernel in variants(op, without))


def _convolution() -> Op:
    build = GraphBuilder()
    build.conv(build.input(1, 8, 8, 16), 16, HW(3, 3))
    return narrowed(build.ops[0], DType.INT4)


def _vector() -> Op:
    build = GraphBuilder()
    build.fully_connected(build.input(1, 64), 40)
    return narrowed(build.ops[0], DType.INT4)


@pytest.mark.parametrize("board", [pytest.param(board, marks=_ARM) for board in ("mps2-an386", "mps3-an547")])
def test_layers_are_as_fast_as_those_of_int8(board: str, tmp_path: Path) -> None:
    """Expanding the weights of a layer of some hundred pixels is next to nothing."""
    build = GraphBuilder()
    tensor = build.input(1, 16, 16, 32)
    for _ in range(2):
        tensor = build.conv(build.depthwise(tensor), 32)
    graph = build.graph(tensor)
    ops = tuple(narrowed(op, DType.INT4) for op in graph.ops)
    counts = []
    for name, layers in (("int4", ops), ("int8", tuple(widened(op) for op in ops))):
        toolbox = Toolbox(Library.PORTABLE, load(board).isa, has_native_kernels=True)
        schedule = plan(replace(graph, ops=layers), load(board), toolbox, PlanRequest())
        (tmp_path / name).mkdir()
        executed = executed_schedule(schedule, Library.PORTABLE, tmp_path / name, [random_inputs(graph, seed=0)])
        counts.append(executed.outcome.values["instructions"])
    assert counts[0] <= 1.06 * counts[1]


@requires_host_cc
def test_parts_of_layers_run(tmp_path: Path) -> None:
    """Rows and slices of channels: each call expands the stream of its part. Slices are parts of the same tables."""
    plain = select._others

    def expanding(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
        return native_kernels(op, replace(toolbox, has_native_kernels=True)) if can_expand(op) else plain(op, toolbox)

    toolbox = Toolbox(Library.PORTABLE, Isa.HOST, Objective.RAM, has_native_kernels=True)
    found = []
    for graph in (_bottleneck(), _head()):
        with patch.object(select, "_others", expanding):  # nothing that takes less scratch
            schedule = curve(graph, load("host"), toolbox, PlanRequest())[-1].schedule
        check_runs(schedule, Library.PORTABLE, tmp_path)
        found.append([call for call in schedule.calls if isinstance(call.kernel, ExpandedKernel)])
    by_rows, by_slices = found
    assert sum(call.op.results[0].shape[1] == 1 for call in by_rows) > 8
    assert sum(all(table.whole for table in call.kernel.tables) for call in by_slices) > 8


def _bottleneck() -> Graph:
    build = GraphBuilder()
    image = build.input(1, 8, 8, 16)
    return _narrow(build.graph(build.add(image, build.conv(build.depthwise(build.conv(image, 96)), 16))))


def _head() -> Graph:
    build = GraphBuilder()
    wide = build.conv(build.input(1, 7, 7, 32), 256)
    return _narrow(build.graph(build.fully_connected(build.pool(AveragePool2D, wide, HW(7, 7), HW(7, 7)), 10)))


def _narrow(graph: Graph) -> Graph:
    return replace(graph, ops=tuple(narrowed(op, DType.INT4) for op in graph.ops))


@pytest.mark.parametrize(("isa", "has_thumb2"), [(Isa.SCALAR, False), (Isa.DSP, True), (Isa.RV32IMAC, True)])
def test_many_filters_of_one_channel_are_expanded(isa: Isa, has_thumb2: bool) -> None:
    """As those of a convolution, which they are."""
    build = GraphBuilder()
    build.depthwise(build.input(1, 16, 16, 1), multiplier=16)
    toolbox = Toolbox(Library.PORTABLE, isa, has_native_kernels=True, has_thumb2=has_thumb2)
    assert isinstance(variants(narrowed(build.ops[0], DType.INT4), toolbox)[0], ExpandedKernel)


@pytest.mark.parametrize("isa", [Isa.DSP, Isa.MVE])
def test_layers_on_rings_are_not_expanded(isa: Isa) -> None:
    """Their runners take other operands."""
    build = GraphBuilder()
    build.fully_connected(build.input(1, 64), 8)
    (layer,) = build.ops
    assert isinstance(layer, FullyConnected)
    rows, ring = (replace(layer.input, type=replace(layer.input.type, shape=(1, n, 1, 16))) for n in (1, 3))
    fields = {"name": "ring", "source": layer.source, "weights": layer.weights, "bias": layer.bias}
    op = RingFullyConnected(
        **fields,  # type: ignore[arg-type]
        input=rows,
        ring=ring,
        place=Tensor("place", TensorType(DType.INT32, (1,))),
        output=layer.output,
        clamp=layer.clamp,
        stride=1,
        dilation=1,
    )
    op.verify()
    toolbox = Toolbox(Library.PORTABLE, isa, has_native_kernels=True)
    assert variants(op, toolbox)[0].function.startswith("tg_native")
    assert [kernel.function for kernel in variants(narrowed(op, DType.INT4), toolbox)] == ["tg_ring_fully_connected_s8"]


def test_vectors_take_scratch_for_a_group() -> None:
    toolbox = Toolbox(Library.PORTABLE, Isa.DSP, has_native_kernels=True)
    kernel = variants(_vector(), toolbox)[0]
    assert isinstance(kernel, ExpandedKernel)
    assert kernel.expansion.groups == 5 and kernel.stream_bytes == 8 * (64 + 16)
    assert [table.bytes for table in kernel.tables] == [5 * 8 * 16, 5 * 8 * 64 // 2]


def test_codes_are_those_of_the_header() -> None:
    """Two groups of a number and two words: of a word of codes the first word's weights stand lowest."""
    expansion = Expansion(StreamForm(1, 2, 0), 2, 4)
    weights = np.array([[-8, 0, 1, 7], [-1, 2, 3, -8], [0, 0, 0, 0], [7, 7, 7, 7]], np.int8)
    words = weights.view(np.int32)[:, 0]
    stream = np.array([-5, *words[:2], 99, *words[2:]], np.int32)
    assert expansion.numbers(stream).tolist() == [-5, 99]
    codes = expansion.codes(stream).view(np.uint8).reshape(2, 4)
    assert codes.tolist() == [[0x70, 0xA8, 0xB9, 0x0F], [0xF8, 0xF8, 0xF8, 0xF8]]
    stream[1] = 0x10
    with pytest.raises(AssertionError, match="so few bits"):
        expansion.codes(stream)
