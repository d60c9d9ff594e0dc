"""A shrunk network computes the same bytes, channel by channel, and less of what does not matter."""

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.graphs import GraphBuilder
from tests.support.models import SUPPORTED, model_file
from tests.support.sparse_networks import sparse_network
from tinygen import passes
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.verify import verify
from tinygen.passes.shrink import shrink
from tinygen.passes.shrinking.equality import equal_channels
from tinygen.passes.shrinking.intervals import channel_intervals
from tinygen.verify.reference import evaluate, own_value
from tinygen.verify.samples import Samples, random_samples

NETWORKS = 150
SHRINKING_NETWORKS = 100  # of these, that must get smaller for the test to mean something


def _samples(graph: Graph) -> Samples:
    """Random inputs, and both ends, everywhere and in turns."""
    extreme = [(-128, -128), (127, 127), (-128, 127), (127, -128), (-3, -3)]
    found = list(random_samples(graph.inputs, 4, seed=1))
    for pair in extreme:
        found.append([np.resize(np.array(pair, np.int8), port.external.shape) for port in graph.inputs])
    return found


def _check_same(graph: Graph, shrunk: Graph, samples: Samples) -> None:
    for inputs in samples:
        values = {tensor.name: array for tensor, array in evaluate(graph, inputs).items()}
        for tensor, array in evaluate(shrunk, inputs).items():
            expected = own_value(tensor, values)
            assert expected is not None and np.array_equal(array, expected), tensor.name


def test_random_networks() -> None:
    smaller = 0
    for seed in range(NETWORKS):
        graph = sparse_network(seed)
        shrunk = shrink(graph, group=1 + seed % 4)
        verify(shrunk, "shrink")
        _check_same(graph, shrunk, _samples(graph))
        assert shrunk.macs <= graph.macs, f"seed {seed}"
        assert [p.tensor.shape for p in shrunk.outputs] == [p.tensor.shape for p in graph.outputs]
        smaller += shrunk.macs < graph.macs
    assert smaller >= SHRINKING_NETWORKS


def test_analyses_hold() -> None:
    """No value lies outside of its interval, and channels that are called equal are."""
    for seed in range(NETWORKS):
        graph = sparse_network(seed)
        intervals, equal = channel_intervals(graph), equal_channels(graph)
        for inputs in _samples(graph):
            for tensor, array in evaluate(graph, inputs).items():
                channels = array.reshape(-1, array.shape[-1]).astype(np.int64)
                assert (channels >= intervals[tensor].low).all() and (channels <= intervals[tensor].high).all(), seed
                assert np.array_equal(channels, channels[:, equal[tensor]]), f"seed {seed}, {tensor.name}"


def test_nothing_to_remove() -> None:
    builder = GraphBuilder()
    graph = builder.graph(builder.conv(builder.conv(builder.input(1, 4, 4, 3), 8), 4))
    assert shrink(graph) is graph


@pytest.mark.parametrize("name", SUPPORTED)
def test_models(name: str) -> None:
    """Supported models, tensor by tensor."""
    steps = [step for step in passes.PASSES if step is not shrink]
    graph = passes.run(import_model(model_file(name)), steps)
    shrunk = shrink(graph)
    if shrunk is not graph:
        _check_same(graph, shrunk, random_samples(graph.inputs, 2, seed=2))


def test_pruned_model() -> None:
    """Half of the MACs and most weights of the person detector of MLPerf Tiny are for nothing."""
    imported = import_model(model_file("vww_96_int8"))
    shrunk = passes.run(imported)
    assert imported.macs == 7_489_664
    assert shrunk.macs <= 3_770_000  # 3,727,313 without rounding up to groups of 4 channels
    weights = sum(op.weights.type.bytes for op in shrunk.ops if hasattr(op, "weights"))
    assert weights <= 31_000


def test_what_is_said_about_it() -> None:
    """`--shrink off` leaves the graph whole; reports say what is removed."""
    shrunk, whole = (
        tinygen("inspect", model_file("vww_96_int8"), "--json", "--kernels", "portable", *options).document
        for options in ((), ("--shrink", "off"))
    )
    assert (whole["macs"], whole["saved_macs"], whole["saved_const_bytes"]) == (7_489_664, 0, 0)
    assert shrunk["saved_macs"] == whole["macs"] - shrunk["macs"] > 3_700_000
    assert shrunk["saved_const_bytes"] > 180_000
    assert shrunk["const_bytes"] < whole["const_bytes"] - 180_000
