"""Issue 16: the C of networks whose images come and go plane by plane: what the references compute, row after row."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.float_models import as_float
from tests.support.graphs import GraphBuilder, evaluate
from tests.support.planes import planar
from tests.support.schedules import run_schedule
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen import targets
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.clamp import Clamp, with_clamp
from tinygen.ops.pool2d import MaxPool2D
from tinygen.ops.window import HW
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Fused, Schedule

_HOST, _M4, _M55 = "host", "mps2-an386", "mps3-an547"
_RESIDENT = PlanRequest()
_STREAMED = PlanRequest(fetches_input=True)
_REREADABLE = PlanRequest(fetches_input=True, rereads_input=True, extra_macs=20_000)
_STORED = PlanRequest(fetches_input=True, stores_output=True)


def _bytes() -> Graph:
    """int8: a convolution with columns to spare, so that strips pay."""
    build = GraphBuilder()
    image = build.conv(build.input(1, 13, 24, 3), 8, HW(3, 3), HW(2, 2))
    return planar(build.graph(build.conv(build.depthwise(image), 5)))


def _one_plane() -> Graph:
    build = GraphBuilder()
    return planar(build.graph(build.conv(build.conv(build.input(1, 12, 7, 1), 6, HW(3, 3)), 1)))


def _pools() -> Graph:
    build = GraphBuilder()
    image = build.pool(MaxPool2D, build.input(1, 11, 9, 3), HW(3, 3), HW(1, 1))
    return planar(build.graph(build.pool(MaxPool2D, image, HW(2, 2), HW(2, 2))))


def _words() -> Graph:
    """int16."""
    graph = _pools()
    type = TensorType(DType.INT16, (), Quant((0.01,), (0,)))
    wide = graph.replace_tensors({t: replace(t, type=replace(type, shape=t.shape)) for t in graph.tensors})
    return replace(
        wide,
        inputs=tuple(replace(port, external=port.tensor.type) for port in wide.inputs),
        outputs=tuple(replace(port, external=port.tensor.type) for port in wide.outputs),
        ops=tuple(with_clamp(op, Clamp.none(type)) if isinstance(op, MaxPool2D) else op for op in wide.ops),
    )


def _floats() -> Graph:
    return as_float(_pools())


def _planned(graph: Graph, board: str, request: PlanRequest) -> Schedule:
    target = targets.load(board)
    return plan(graph, target, Toolbox(Library.PORTABLE, target.isa, Objective.RAM), request)


@pytest.mark.parametrize(
    ("build", "board", "request_"),
    [
        pytest.param(_bytes, _HOST, _RESIDENT, marks=requires_host_cc, id="resident"),
        pytest.param(_bytes, _HOST, _STREAMED, marks=requires_host_cc, id="streamed"),
        pytest.param(_bytes, _HOST, _REREADABLE, marks=requires_host_cc, id="rereadable"),
        pytest.param(_bytes, _HOST, _STORED, marks=requires_host_cc, id="stored"),
        pytest.param(_one_plane, _HOST, _STORED, marks=requires_host_cc, id="one-plane"),
        pytest.param(_words, _HOST, _STORED, marks=requires_host_cc, id="int16"),
        pytest.param(_words, _HOST, _RESIDENT, marks=requires_host_cc, id="int16-resident"),
        pytest.param(_floats, _HOST, _STORED, marks=requires_host_cc, id="float"),
        pytest.param(_floats, _HOST, _RESIDENT, marks=requires_host_cc, id="float-resident"),
        pytest.param(_bytes, _M4, _STORED, marks=requires_qemu, id="m4-stored"),
        pytest.param(_bytes, _M4, _RESIDENT, marks=requires_qemu, id="m4-resident"),
        pytest.param(_bytes, _M55, _REREADABLE, marks=requires_qemu, id="m55-rereadable"),
        pytest.param(_words, _M55, _RESIDENT, marks=requires_qemu, id="m55-int16-resident"),
    ],
)
def test_issue16_c_computes_from_planes_what_references_do(
    build: Callable[[], Graph], board: str, request_: PlanRequest, tmp_path: Path
) -> None:
    graph = build()
    schedule = _planned(graph, board, request_)
    sanitizers = (Sanitizer.ADDRESS, Sanitizer.UNDEFINED) if board == _HOST else ()
    rng = np.random.default_rng(6)
    types = [tensor.type for tensor in graph.input_tensors]
    samples = [[rng.integers(-120, 120, type.shape).astype(type.dtype.numpy) for type in types] for _ in range(2)]
    for inputs, outputs in zip(
        samples, run_schedule(schedule, Library.PORTABLE, tmp_path, samples, sanitizers), strict=True
    ):
        expected = evaluate(graph, inputs)
        for tensor, output in zip(graph.output_tensors, outputs, strict=True):
            np.testing.assert_array_equal(output, expected[tensor])


def test_rereadable_planes_are_read_in_strips() -> None:
    schedule = _planned(_bytes(), _M4, _REREADABLE)
    source = render(schedule, "net", "net")["net.c"]
    assert any(isinstance(step, Fused) and schedule.strips(step) > 1 for step in schedule.steps)
    assert "if (net_fetch_patch(user, 13 * plane + row, 1, first_column, columns, line) != 0) {" in source


def test_headers_say_which_row_is_asked_for() -> None:
    header = render(_planned(_bytes(), _M4, _STORED), "net", "net")["net.h"]
    assert "rows [first, first + count) of the input, 3 planes of 13 rows of 24 int8_t, to `rows`.\n" in header
    for height in (13, 7):
        assert (
            f" * Row {height} * p + y is row y of plane p: called with ascending y, for each with all planes, or with "
            "all rows at once;\n * each row once per inference. Returns 0, or another value to give the inference up.\n"
        ) in header
    assert "int net_fetch_rows(void *user, int first, int count, int8_t *rows);\n" in header
    header = render(_planned(_one_plane(), _M4, _STORED), "net", "net")["net.h"]
    assert "of the input, 12 rows of 7 int8_t, to `rows`.\n * Called with ascending rows, each row once" in header
    header = render(_planned(_bytes(), _M4, _REREADABLE), "net", "net")["net.h"]
    assert "without gaps.\n * Row 13 * p + y is row y of plane p.\n * It must be able to go back" in header
