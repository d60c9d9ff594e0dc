"""From a network on a window of a signal to one that takes the signal column by column."""

from tinygen.ir.graph import Graph
from tinygen.ir.verify import verify
from tinygen.passes.streaming.axis import streaming_axis
from tinygen.passes.streaming.orient import oriented
from tinygen.passes.streaming.step import stream


def to_stream(graph: Graph, axis: str) -> Graph:
    """The graph of one call of a stream along an axis, which is an index or a name: see `streaming_axis`."""
    index = streaming_axis(graph, axis)
    turned = oriented(graph, index)
    verify(turned, "oriented")
    step = stream(turned, index)
    verify(step, "stream")
    return step
