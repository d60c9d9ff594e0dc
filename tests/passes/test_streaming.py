"""A stream gives, call by call, what the network gives for the window that ends there."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.causal import causal_graphs, signal, window
from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.ir.graph import Graph
from tinygen.ir.stream import Stream
from tinygen.ir.types import Array
from tinygen.ir.verify import verify
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.concat import Concat
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.resize import ResizeNearest
from tinygen.ops.window import HW, NO_PADDING, UNIT, Padding
from tinygen.passes.streaming.axis import streaming_axis
from tinygen.passes.streaming.orient import oriented
from tinygen.passes.streaming.products import products, products_of_windows
from tinygen.passes.streaming.step import stream
from tinygen.planner.plan import plan
from tinygen.planner.schedule.interpret import interpret_calls
from tinygen.targets import load
from tinygen.verify.reference import evaluate_calls

_BOARD = load("host")
_TOOLBOX = Toolbox(Library.PORTABLE, _BOARD.isa, Objective.RAM)
_RESULTS = 3


def _calls(step: Graph, columns: Array) -> list[list[Array]]:
    assert step.stream is not None
    (tensor,) = step.input_tensors
    return [[part] for part in columns.reshape(-1, *tensor.shape)]


def _window_outputs(graph: Graph, step: Graph, columns: Array) -> list[list[Array]]:
    """What the calls must give from the first one on that counts: of streamed outputs the last rows."""
    assert step.stream is not None
    ends = range(step.stream.warmup_calls * step.stream.columns, len(columns) + 1, step.stream.columns)
    found = []
    for end in ends:
        values = evaluate(graph, [window(graph, columns, end)])
        outputs = [values[tensor] for tensor in graph.output_tensors]
        found.append(
            [o[:, -t.shape[1] :] if o.ndim == 4 else o for o, t in zip(outputs, step.output_tensors, strict=True)]
        )
    return found


def _assert_same(actual: list[list[Array]], expected: list[list[Array]]) -> None:
    for given_, wanted in zip(actual, expected, strict=True):
        for one, other in zip(given_, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@settings(max_examples=120)
@given(causal_graphs())
def test_random_networks(graph: Graph) -> None:
    try:
        step = stream(graph)
    except UnsupportedModelError as error:
        assert "strides fit" in str(error)
        return
    assert step.stream is not None
    verify(step, "stream")
    columns = signal(graph, step.stream, _RESULTS, seed=1)
    expected = _window_outputs(graph, step, columns)
    calls = _calls(step, columns)
    first = step.stream.warmup_calls - 1
    values = list(evaluate_calls(step, calls))[first:]
    _assert_same([[found[tensor] for tensor in step.output_tensors] for found in values], expected)
    schedule = plan(step, _BOARD, _TOOLBOX)
    _assert_same(list(interpret_calls(schedule, calls))[first:], expected)


def _stream(graph: Graph) -> tuple[Graph, list[list[int]], int, int]:
    """The step graph, the shapes of its states, columns per call and calls until outputs count."""
    step = stream(graph)
    assert step.stream is not None
    shapes = [list(state.tensor.shape) for state in step.states]
    return step, shapes, step.stream.columns, step.stream.warmup_calls


def _assert_equal_to_window(graph: Graph, results: int = 4) -> Graph:
    step = stream(graph)
    assert step.stream is not None
    columns = signal(graph, step.stream, results, seed=7)
    values = list(evaluate_calls(step, _calls(step, columns)))[step.stream.warmup_calls - 1 :]
    actual = [[found[tensor] for tensor in step.output_tensors] for found in values]
    _assert_same(actual, _window_outputs(graph, step, columns))
    return step


def test_a_chain_keeps_what_its_kernels_reach_back() -> None:
    build = GraphBuilder()
    first = build.conv(build.input(1, 17, 1, 4), 8, HW(3, 1), UNIT, NO_PADDING)
    second = build.depthwise(first, kernel=HW(5, 1), stride=HW(2, 1), padding=NO_PADDING)
    graph = build.graph(build.fully_connected(second, 2))
    step, shapes, columns, warmup = _stream(graph)
    assert shapes == [[1, 2, 1, 4], [1, 3, 1, 8], [1, 5, 1, 8]]
    assert (columns, warmup) == (2, 9)
    assert step.macs == 2 * 3 * 4 * 8 + 5 * 8 + 6 * 8 * 2
    assert step.inputs[0].external.shape == (1, 2, 1, 4)
    _assert_equal_to_window(graph)


def test_paths_of_different_delay_meet() -> None:
    """What is added was there calls ago; a value has one state, as long as its oldest reader needs."""
    build = GraphBuilder()
    signal_ = build.input(1, 12, 2, 3)
    long = build.conv(signal_, 3, HW(5, 1), UNIT, NO_PADDING)
    for first in (0, 2, 4):
        long = build.add(long, build.slice(signal_, 1, first, 8))
    _, shapes, columns, warmup = _stream(build.graph(build.mean(long)))
    assert shapes == [[1, 4, 2, 3], [1, 7, 2, 3]] and (columns, warmup) == (1, 12)
    _assert_equal_to_window(build.graph(long))


def test_leftover_columns_are_a_delay() -> None:
    """Of 10 columns, windows of 3 with stride 2 leave the last one out: results come a column late, as there."""
    build = GraphBuilder()
    graph = build.graph(build.conv(build.input(1, 10, 1, 2), 2, HW(3, 1), HW(2, 1), NO_PADDING))
    _, shapes, columns, warmup = _stream(graph)
    assert shapes == [[1, 2, 1, 2]] and (columns, warmup) == (2, 2)
    _assert_equal_to_window(graph)


def test_padding_that_no_output_depends_on() -> None:
    """A causal network pads at the front; where the window is longer than it looks back, its last row is free of it."""
    build = GraphBuilder()
    front = build.conv(build.input(1, 16, 1, 2), 3, HW(4, 1), UNIT, Padding(3, 0, 0, 0))
    last = build.conv(front, 3, HW(4, 1), UNIT, Padding(9, 0, 0, 0), HW(3, 1))
    graph = build.graph(build.slice(last, 1, 15, 1))
    step = _assert_equal_to_window(graph)
    assert step.stream is not None and step.stream.warmup_calls == 1 + 3 + 9
    _assert_equal_to_window(build.graph(last))  # only the new row of it: it was streamed


@pytest.mark.parametrize("kind", ["conv", "pool", "pad"])
def test_padding_is_refused(kind: str) -> None:
    build = GraphBuilder()
    before = build.conv(build.input(1, 12, 1, 2), 2, HW(2, 1), UNIT, NO_PADDING)
    match kind:
        case "conv":
            padded = build.conv(before, 2, HW(3, 1))
        case "pool":
            padded = build.pool(AveragePool2D, before, HW(3, 1), UNIT)
        case "pad":
            padded = build.pad(before, (0, 1, 0, 0), (0, 1, 0, 0))
    name = {"conv": "Conv2D", "pool": "AveragePool2D", "pad": "Pad"}[kind]
    with pytest.raises(UnsupportedModelError) as caught:
        stream(build.graph(build.fully_connected(padded, 2)))
    assert str(caught.value) == (
        f"net, operator 1 ({name}): its result depends on 1 rows of padding before and 1 behind its input, along the "
        "axis of --stream; none was expected. In a stream the signal itself stands there, so that results would not be "
        "those of the window. Train the model with VALID padding along that axis, or leave --stream out."
    )


def test_strides_that_fit_no_window() -> None:
    build = GraphBuilder()
    input = build.input(1, 5, 1, 2)
    both = [build.conv(input, 2, HW(1, 1), HW(stride, 1), NO_PADDING) for stride in (2, 3)]
    with pytest.raises(UnsupportedModelError, match="its strides fit 6 columns a call, at most the 5 of its input"):
        stream(build.graph(*(build.mean(tensor) for tensor in both)))


def test_two_inputs() -> None:
    build = GraphBuilder()
    left, right = build.input(1, 9, 1, 2), build.input(1, 9, 1, 2)
    sum_ = build.add(build.conv(left, 2, HW(3, 1), UNIT, NO_PADDING), build.slice(right, 1, 1, 7))
    step, shapes, columns, warmup = _stream(build.graph(build.mean(sum_)))
    assert shapes == [[1, 2, 1, 2], [1, 1, 1, 2], [1, 6, 1, 2]] and (columns, warmup) == (1, 9)
    assert len(step.inputs) == 2


def test_inputs_of_two_lengths() -> None:
    """Both windows end with the same column; outputs count as soon as the longer one is full."""
    build = GraphBuilder()
    long, short = build.input(1, 9, 1, 2), build.input(1, 4, 1, 2)
    graph = build.graph(build.mean(build.add(build.conv(long, 2, HW(6, 1), UNIT, NO_PADDING), short)))
    step, shapes, columns, warmup = _stream(graph)
    assert shapes == [[1, 5, 1, 2], [1, 3, 1, 2]] and (columns, warmup) == (1, 9)
    signals = [np.random.default_rng(seed).integers(-128, 128, (12, 1, 2), np.int8) for seed in (1, 2)]
    calls = [[signal_[i].reshape(1, 1, 1, 2) for signal_ in signals] for i in range(12)]
    for end, found in list(enumerate(evaluate_calls(step, calls), 1))[warmup - 1 :]:
        inputs = [signals[0][np.newaxis, end - 9 : end], signals[1][np.newaxis, end - 4 : end]]
        expected = evaluate(graph, inputs)[graph.output_tensors[0]]
        np.testing.assert_array_equal(found[step.output_tensors[0]], expected)


def test_operators_on_whole_windows() -> None:
    """What needs all rows reads a window; in place over it, it would destroy the state."""
    build = GraphBuilder()
    row = build.conv(build.input(1, 8, 1, 4), 4, HW(3, 1), UNIT, NO_PADDING)
    turned = build.swap_in_rows(row)
    all_rows = build.resize(ResizeNearest, row, HW(12, 1), "")
    graph = build.graph(build.fully_connected(all_rows, 2), build.mean(turned), build.reshape(row, 1, 24))
    step = _assert_equal_to_window(graph)
    columns = signal(graph, step.stream or Stream(1, 1, 8, 8), 3, seed=2)
    calls = _calls(step, columns)
    actual = list(interpret_calls(plan(step, _BOARD, _TOOLBOX), calls))
    expected = [[found[tensor] for tensor in step.output_tensors] for found in evaluate_calls(step, calls)]
    _assert_same(actual, expected)


def _turned_input(graph: Graph, values: Array, axis: int) -> Array:
    """The inputs of the turned graph: columns first."""
    (tensor,) = graph.input_tensors
    return np.moveaxis(values, axis, 1).reshape(1, tensor.shape[1], *_last_two(tensor.shape))


def _last_two(shape: tuple[int, ...]) -> tuple[int, int]:
    return shape[2], shape[3]


def _image_network() -> tuple[Graph, int]:
    """Along the width of [1, 3, 14, 2]: everything that can be turned, then operators that take the image as it was."""
    build = GraphBuilder()
    image = build.input(1, 3, 14, 2)
    here = build.conv(image, 4, HW(2, 3), UNIT, Padding(1, 0, 0, 0))
    here = build.prelu(build.depthwise(here, 1, HW(3, 2), HW(1, 2), Padding(1, 1, 0, 0)))
    pooled = build.pool(AveragePool2D, here, HW(2, 2), UNIT, Padding(0, 1, 0, 0))
    both = build.concat([build.lookup(pooled), build.lookup(build.slice(here, 2, 1, 5))], 3)
    both = build.concat([both, build.slice(both, 1, 1, 1)], 1)
    both = build.pad(build.softmax(both), (0, 2, 0, 0), (0, 0, 0, 1))
    return build.graph(build.fully_connected(build.reshape(both, 1, both.type.elements), 3), build.mean(both)), 2


def _sequence_network() -> tuple[Graph, int]:
    """As converters write 1-D convolutions: [1, T, C], to [1, 1, T, C] and back for each."""
    build = GraphBuilder()
    here = build.input(1, 16, 3)
    for channels, dilation in ((5, 1), (4, 2)):
        row = build.conv(
            build.reshape(here, 1, 1, *here.shape[1:]), channels, HW(1, 3), UNIT, NO_PADDING, HW(1, dilation)
        )
        here = build.lookup(build.reshape(row, 1, row.shape[2], channels))
    return build.graph(build.fully_connected(here, 2)), 1


@pytest.mark.parametrize("made", [_image_network, _sequence_network])
def test_other_axes(made: Callable[[], tuple[Graph, int]]) -> None:
    graph, axis = made()
    turned = oriented(graph, axis)
    verify(turned, "oriented")
    (values,) = random_inputs(graph, seed=5)
    expected = evaluate(graph, [values])
    actual = evaluate(turned, [_turned_input(turned, values, axis)])
    for tensor in graph.output_tensors:
        np.testing.assert_array_equal(actual[tensor], expected[tensor])
    step = _assert_equal_to_window(turned)
    assert step.macs * 2 < graph.macs


def test_axes_by_name() -> None:
    def axis(shape: tuple[int, ...], text: str) -> int:
        build = GraphBuilder()
        return streaming_axis(build.graph(build.lookup(build.input(*shape))), text)

    shapes = [(1, 9, 4, 2), (1, 1, 9, 4), (1, 9, 4), (1, 9)]
    assert [axis(shape, "time") for shape in shapes] == [1, 2, 1, 1]
    assert [axis((1, 9, 4, 2), text) for text in ("height", "width", "1", "2")] == [1, 2, 1, 2]
    for shape, text in (((1, 9, 4), "width"), ((1, 9, 4, 2), "3"), ((1, 9, 4, 2), "0"), ((1, 9), "depth")):
        with pytest.raises(UsageError, match=f"--stream {text}: input 'in0' of net has shape"):
            axis(shape, text)
    for batch_or_more in ((2, 9, 4, 2), (1, 2, 3, 4, 5)):
        with pytest.raises(UnsupportedModelError, match="2 to 4 axes were expected, the first of 1"):
            axis(batch_or_more, "time")


def test_nothing_to_keep() -> None:
    build = GraphBuilder()
    graph = build.graph(build.fully_connected(build.input(1, 9, 1, 4), 2))
    with pytest.raises(UnsupportedModelError, match="none of its operators works column by column"):
        stream(graph)


def test_products() -> None:
    """Convolutions of one pixel as fully connected layers: the same values, the same work; others stay."""
    build = GraphBuilder()
    first = build.conv(build.input(1, 8, 1, 4), 6, HW(3, 1), UNIT, NO_PADDING)
    second = build.conv(first, 5, UNIT)
    graph = build.graph(build.conv(second, 3, HW(6, 1), UNIT, NO_PADDING))
    step = stream(graph)
    assert step.stream is not None
    changed = products(step)
    verify(changed, "products")
    assert [type(op) for op in changed.ops] == [Concat, Conv2D, FullyConnected, Concat, Conv2D]
    assert changed.macs == step.macs
    calls = _calls(step, signal(graph, step.stream, 2, seed=4))
    for old, new in zip(evaluate_calls(step, calls), evaluate_calls(changed, calls), strict=True):
        np.testing.assert_array_equal(old[step.output_tensors[0]], new[changed.output_tensors[0]])
    whole = products_of_windows(changed)
    assert [type(op) for op in whole.ops] == [Concat, FullyConnected, FullyConnected, Concat, FullyConnected]
    assert whole.macs == step.macs
    for old, new in zip(evaluate_calls(step, calls), evaluate_calls(whole, calls), strict=True):
        np.testing.assert_array_equal(old[step.output_tensors[0]], new[whole.output_tensors[0]])
    assert products_of_windows(graph) is graph, "it keeps no states"
