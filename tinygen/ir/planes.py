"""Images that an application has plane by plane, one plane per channel (NCHW), where the network has pixels (NHWC).

Seen as rows, such an image has those of its first plane, then those of the next one: row y of plane p is row
p * height + y. A row of pixels takes one row of each plane.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Planes:
    """An input or output of a model, and the operator between it and the network's pixels."""

    op: Op
    planes: Tensor  # [1, count, height, width]
    pixels: Tensor  # [1, height, width, count]

    @property
    def count(self) -> int:
        """Planes, or channels."""
        return self.planes.shape[1]

    @property
    def height(self) -> int:
        """Rows of a plane."""
        return self.planes.shape[2]

    @property
    def width(self) -> int:
        """Elements of a row of a plane."""
        return self.planes.shape[3]

    @property
    def keeps_order(self) -> bool:
        """Whether rows of pixels are rows of the only plane."""
        return self.count == 1


def input_planes(graph: Graph) -> Iterator[Planes]:
    """The inputs of which nobody reads anything but pixels."""
    readers, outputs = graph.consumers, frozenset(graph.output_tensors)
    for tensor in dict.fromkeys(graph.input_tensors):
        ops = readers.get(tensor, ())
        if len(ops) == 1 and ops[0].makes_pixels and not outputs & {tensor, *ops[0].results}:
            yield Planes(ops[0], tensor, ops[0].results[0])


def output_planes(graph: Graph) -> Iterator[Planes]:
    """The outputs that are nothing but planes of pixels which the network computes."""
    producers, readers = graph.producers, graph.consumers
    ports = [*graph.input_tensors, *graph.output_tensors]
    for tensor in dict.fromkeys(graph.output_tensors):
        op = producers.get(tensor)
        if op is None or not op.makes_planes or tensor in readers or ports.count(tensor) > 1:
            continue
        (pixels,) = op.variable_operands
        if pixels in producers and pixels not in ports:
            yield Planes(op, tensor, pixels)
