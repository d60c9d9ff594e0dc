"""Rectifiers go into the operators before them, and nothing else changes."""

import numpy as np
import pytest

from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.ir.graph import Graph
from tinygen.ir.verify import verify
from tinygen.passes.fuse_clamps import fuse_clamps

SHAPE = (1, 4, 4, 3)
ACTIVATIONS = ("RELU", "RELU6", "RELU_N1_TO_1", "MAXIMUM", "MINIMUM")


class Network:
    """A producer, to be followed by clamps."""

    def __init__(self, producer: str) -> None:
        self.writer = ModelWriter()
        self.x = self.writer.tensor("x", SHAPE, scale=0.05, zero_point=-3)
        self.last = self.tensor("made")
        inputs = [self.x, *self._constants(producer)]
        window = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
        options = {
            "CONV_2D": {"stride_h": 1, "stride_w": 1},
            "DEPTHWISE_CONV_2D": {"stride_h": 1, "stride_w": 1, "depth_multiplier": 1},
            "AVERAGE_POOL_2D": window,
            "MAX_POOL_2D": window,
        }
        self.writer.operator(producer, inputs, [self.last], **options.get(producer, {}))  # type: ignore[arg-type]

    def tensor(self, name: str, scale: float = 0.05) -> int:
        """An activation."""
        return self.writer.tensor(name, SHAPE, scale=scale, zero_point=-3)

    def clamp(self, name: str, scale: float = 0.05) -> int:
        """A clamp of the last tensor, which becomes the last."""
        output = self.tensor(f"{name}{self.last}", scale)
        inputs = [self.last]
        if name in ("MAXIMUM", "MINIMUM"):
            bound = {"MAXIMUM": -40, "MINIMUM": 60}[name]
            inputs.append(self.writer.tensor(f"bound{output}", (), scale=0.05, zero_point=-3, data=np.array(bound)))
        self.writer.operator(name, inputs, [output])
        self.last = output
        return output

    def fused(self, *outputs: int) -> Graph:
        """The graph after the pass, which keeps its meaning."""
        graph = import_model(self.writer.finish([self.x], [self.last, *outputs]))
        result = fuse_clamps(graph)
        verify(result, "fuse_clamps")
        values = [np.random.default_rng(0).integers(-128, 128, SHAPE).astype(np.int8)]
        for before, after in zip(evaluate(graph, values), evaluate(result, values), strict=True):
            np.testing.assert_array_equal(after, before)
        return result

    def _constants(self, producer: str) -> list[int]:
        rng = np.random.default_rng(1)
        if producer in ("ADD", "SUB", "MUL"):
            return [self.writer.tensor("k", (3,), scale=0.8, zero_point=5, data=np.array([-128, 3, 127]))]
        shape = {"CONV_2D": (3, 1, 1, 3), "DEPTHWISE_CONV_2D": (1, 1, 1, 3), "FULLY_CONNECTED": (3, 3)}.get(producer)
        if shape is None:
            return []
        weights = self.writer.tensor("w", shape, scale=0.01, data=rng.integers(-127, 128, shape))
        return [weights, self.writer.tensor("b", (3,), "int32", scale=0.0005, data=np.array([100, -900, 4]))]


@pytest.mark.parametrize(
    "producer",
    [
        "ADD",
        "SUB",
        "MUL",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "AVERAGE_POOL_2D",
        "MAX_POOL_2D",
    ],
)
def test_each_producer_takes_each_clamp(producer: str) -> None:
    for activation in ACTIVATIONS:
        network = Network(producer)
        network.clamp(activation)
        assert len(network.fused().ops) == 1, activation


def test_all_clamps_of_a_chain_are_taken() -> None:
    network = Network("ADD")
    for activation in ACTIVATIONS:
        network.clamp(activation)
    (op,) = network.fused().ops
    assert op.results[0].name.startswith("MINIMUM")


def test_a_clamp_stays_where_it_rescales() -> None:
    network = Network("ADD")
    network.clamp("RELU", scale=0.04)
    assert len(network.fused().ops) == 2


def test_a_clamp_stays_where_its_operand_is_an_output_too() -> None:
    network = Network("ADD")
    made = network.last
    network.clamp("RELU")
    assert len(network.fused(made).ops) == 2


def test_a_clamp_stays_where_its_operand_has_two_readers() -> None:
    network = Network("ADD")
    made = network.last
    first = network.clamp("RELU")
    network.last = made
    network.clamp("RELU6")
    assert len(network.fused(first).ops) == 3


def test_a_clamp_of_the_model_s_input_stays() -> None:
    network = Network("ADD")
    network.last = network.x
    network.clamp("RELU")
    assert len(network.fused().ops) == 2
