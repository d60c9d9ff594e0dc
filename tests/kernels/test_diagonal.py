"""Results over operands that are still being read: as near as their lead allows, and no nearer."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.portable_cases import FAMILIES, Case, depthwise_case, generic_convolution_case
from tests.support.graphs import GraphBuilder
from tests.support.portable import ConvParams, DepthwiseParams, Dims, InOutput, Kernels, PoolParams, build_portable
from tinygen.ir.graph import Op
from tinygen.ir.rows import Columns, Rows, all_columns, all_rows
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.diagonal import Diagonal, Windows
from tinygen.kernels.select import select, variants
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.window import HW, UNIT, Padding, Window
from tinygen.targets.isa import Isa

_CASES = 250
_PORTABLE = Toolbox(Library.PORTABLE, Isa.DSP, Objective.RAM)


@pytest.fixture(scope="module")
def portable(tmp_path_factory: pytest.TempPathFactory) -> list[Kernels]:
    folder = tmp_path_factory.mktemp("diagonal")
    return [build_portable(folder, name, (flag,)) for name, flag in (("speed", "-O3"), ("size", "-Os"))]


def _windows(
    params: ConvParams | DepthwiseParams | PoolParams, image: Dims, taps: Dims, output: Dims
) -> Windows | None:
    """Of a call; None where a window lies in padding alone."""
    stride, pad = (HW(tile.h, tile.w) for tile in (params.stride, params.padding))
    dilation = UNIT if isinstance(params, PoolParams) else HW(params.dilation.h, params.dilation.w)
    window = Window(HW(taps.h, taps.w), stride, dilation, Padding(pad.h, 0, pad.w, 0))
    rows = [window.rows_needed(Rows(row, row + 1), image.h) for row in range(output.h)]
    columns = [window.columns_needed(Columns(at, at + 1), image.w) for at in range(output.w)]
    if None in rows or None in columns:
        return None
    return Windows(tuple(r.first for r in rows if r), tuple(c.first for c in columns if c), image.h, image.w)


@pytest.mark.parametrize(
    ("function", "make"),
    [
        ("arm_convolve_s8", generic_convolution_case),
        ("arm_depthwise_conv_s8", depthwise_case),
        ("arm_avgpool_s8", FAMILIES["avgpool"]),
        ("arm_max_pool_s8", FAMILIES["max_pool"]),
    ],
)
def test_portable_kernels_write_over_what_they_have_read(
    function: str, make: Callable[[np.random.Generator], Case], portable: list[Kernels]
) -> None:
    """At the lead results are right, one byte nearer some are not."""
    tried, wrong = 0, 0
    for seed in range(_CASES):
        case = make(np.random.default_rng(seed))
        params = case.arguments[1]
        assert isinstance(params, ConvParams | DepthwiseParams | PoolParams)
        at = next(index for index, each in enumerate(case.arguments) if isinstance(each, np.ndarray))
        values = case.arguments[at]
        assert isinstance(values, np.ndarray)
        image, taps, *_, output = (each for each in case.arguments if isinstance(each, Dims))
        windows = _windows(params, image, taps, output)
        if image.n > 1 or windows is None:
            continue
        by_pixel = isinstance(params, ConvParams) or (isinstance(params, DepthwiseParams) and params.ch_mult > 1)
        lead = windows.lead_bytes(Diagonal.PIXELS if by_pixel else Diagonal.CHANNELS, values.size, case.expected.size)
        for kernels in portable:
            for nearer in (0, 1)[: 1 + (lead > 0)]:
                arguments = list(case.arguments)
                arguments[at] = InOutput(values.astype(np.int8), lead - nearer)
                _, found = kernels.call(function, *arguments)
                is_right = np.array_equal(found, case.expected.reshape(-1))
                assert is_right or nearer, f"{kernels.name}: seed {seed}, lead {lead}"
                wrong += not is_right
        tried += 1
    assert tried >= _CASES // 3
    assert wrong >= tried // 2


@st.composite
def _layers(draw: st.DrawFn) -> Op:
    build = GraphBuilder()
    pairs = st.builds(HW, st.integers(1, 3), st.integers(1, 3))
    image = build.input(1, draw(st.integers(3, 9)), draw(st.integers(3, 9)), draw(st.integers(1, 5)))
    kernel, stride, dilation = draw(pairs), draw(pairs), draw(st.sampled_from((HW(1, 1), HW(2, 1), HW(1, 2))))
    kind = draw(st.sampled_from(("depthwise", "convolution", "pool")))
    if kind == "pool":
        build.pool(AveragePool2D if draw(st.booleans()) else MaxPool2D, image, kernel, stride)
    elif kind == "depthwise":
        build.depthwise(image, draw(st.integers(1, 2)), kernel, stride, None, dilation)
    else:
        build.conv(image, draw(st.integers(1, 7)), kernel, stride, None, dilation)
    return build.ops[-1]


@given(_layers())
@settings(deadline=None)
def test_leads_are_the_least_by_what_is_read_and_written_when(op: Op) -> None:
    """Against a walk through all elements in the order of the kernel."""
    kernel = select(op, _PORTABLE)
    operand, result = op.variable_operands[0], op.results[0]
    windows = Windows.of(op, all_rows(result), None, has_whole=True)
    if windows is None:
        return
    assert kernel.diagonal is not None
    multiple = result.shape[3] // operand.shape[3] if kernel.diagonal is Diagonal.CHANNELS else 0
    reads, least = [], 0
    for row, column, channel in product(*map(range, result.shape[1:])):
        lines, places = (
            op.rows_needed(operand, Rows(row, row + 1)),
            op.columns_needed(operand, Columns(column, column + 1)),
        )
        assert lines is not None
        assert places is not None
        first = channel if multiple else 0
        reads.append((lines.first * operand.shape[2] + places.first) * operand.shape[3] + first)
    for written in range(len(reads)):  # over nothing that is read behind it
        least = max([least, *(written + 1 - read for read in reads[written + 1 :])])
    lead = windows.lead_bytes(kernel.diagonal, operand.type.bytes, result.type.bytes)
    assert lead == least


def test_parts_of_layers_have_the_lead_of_what_they_are_given() -> None:
    """Ten rows of 4 pixels, of them rows 2 to 5 for rows 3 and 4: the second is written while its window begins a row
    behind, the pixel beside it is still read."""
    build = GraphBuilder()
    build.depthwise(build.input(1, 10, 4, 2))
    op = build.ops[-1]
    part = Windows.of(op, Rows(3, 5), None, has_whole=False)
    assert part == Windows((0, 1), (0, 0, 1, 2), 4, 4)
    assert part.lead_bytes(Diagonal.CHANNELS, 4 * 4 * 2, 2 * 4 * 2) == 2
    assert part.lead_bytes(Diagonal.PIXELS, 4 * 4 * 2, 2 * 4 * 2) == 3
    strip = Windows.of(op, Rows(0, 2), Columns(2, 4), has_whole=False)
    assert strip == Windows((0, 0), (0, 1), 3, 3)
    assert strip.lead_bytes(Diagonal.CHANNELS, 3 * 3 * 2, 2 * 2 * 2) == 4
    assert all_columns(op.results[0]) == Columns(0, 4)


def test_kernels_of_libraries_whose_order_is_not_known_keep_results_apart() -> None:
    build = GraphBuilder()
    build.conv(build.input(1, 4, 4, 4), 4)
    for tools in (Toolbox(Library.CMSIS_NN, Isa.DSP), Toolbox(Library.PORTABLE, Isa.DSP, has_native_kernels=True)):
        assert all(kernel.diagonal is None for kernel in variants(build.ops[-1], tools))
