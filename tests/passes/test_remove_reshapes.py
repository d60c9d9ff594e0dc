"""Passes that remove operators leave the outputs as they are, on random graphs and where it is told what must go."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.random_graphs import GraphBuilder, random_graph
from tests.support.reference import evaluate
from tinygen import passes
from tinygen.ir.graph import Graph
from tinygen.passes.copy_outputs import copy_outputs
from tinygen.passes.remove_reshapes import remove_reshapes
from tinygen.passes.remove_unused import remove_unused

Build = Callable[[GraphBuilder], Graph]
RNG = np.random.default_rng(7)


def _identities(builder: GraphBuilder) -> Graph:
    x = builder.input(2, 6)
    same = builder.concat(0, builder.slice(builder.transpose(builder.reshape(x, 2, 6), 0, 1), (0, 0), (2, 6)))
    return builder.finish(builder.add(builder.pad(same, (0, 0), (0, 0), 3), x))


def _chain(builder: GraphBuilder) -> Graph:
    x = builder.add(builder.input(2, 6), builder.input(2, 6))
    turned = builder.transpose(builder.reshape(builder.reshape(x, 3, 4), 1, 12, 1), 1, 2, 0)
    return builder.finish(builder.reshape(turned, 4, 3))


def _there_and_back(builder: GraphBuilder) -> Graph:
    x = builder.input(2, 6)
    return builder.finish(builder.add(builder.reshape(builder.reshape(x, 12), 2, 6), x))


def _before_fully_connected(builder: GraphBuilder) -> Graph:
    x = builder.reshape(builder.input(2, 3, 2, 1), 1, 12)
    return builder.finish(builder.fully_connected(x, builder.weights(RNG, 3, 12)))


def _needed(builder: GraphBuilder) -> Graph:
    x = builder.input(2, 6)
    return builder.finish(builder.reshape(builder.transpose(x, 1, 0), 3, 4), builder.slice(x, (1, 0), (1, 6)))


CASES: dict[str, tuple[Build, list[str]]] = {
    "identities": (_identities, ["Add"]),
    "chain": (_chain, ["Add", "Reshape"]),
    "there and back": (_there_and_back, ["Add"]),
    "before fully connected": (_before_fully_connected, ["FullyConnected"]),
    "needed": (_needed, ["Transpose", "Reshape", "Slice"]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_changes_nothing_is_removed(case: str) -> None:
    build, left = CASES[case]
    graph = build(GraphBuilder())
    assert [type(op).__name__ for op in _run(graph, remove_reshapes, remove_unused).ops] == left


def test_random_graphs_keep_their_outputs() -> None:
    shorter = 0
    for seed in range(300):
        graph = random_graph(seed, length=12)
        shorter += len(_run(graph, *passes.PASSES).ops) < len(graph.ops)
    assert shorter > 100


def test_outputs_that_nothing_writes_are_copied() -> None:
    builder = GraphBuilder()
    x, constant = builder.input(2, 6), builder.constant(RNG, 3)
    graph = builder.finish(x, constant, x, builder.reshape(x, 12))
    copied = _run(graph, copy_outputs)
    assert [port.name for port in copied.outputs] == [port.name for port in graph.outputs]
    assert [type(op).__name__ for op in copied.ops] == ["Reshape", "Copy", "Copy"]
    assert copy_outputs(copied) is copied


def _run(graph: Graph, *steps: passes.Pass) -> Graph:
    """The graph after the passes, each verified, with the same outputs for the same inputs."""
    result = passes.run(graph, steps)
    inputs = [RNG.integers(-128, 128, tensor.shape, np.int8) for tensor in graph.input_tensors]
    for output, want in zip(evaluate(result, inputs), evaluate(graph, inputs), strict=True):
        np.testing.assert_array_equal(output, want, err_msg=str(graph))
    return result
