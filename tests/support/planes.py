"""The NCHW twin of a graph: images come and go plane by plane, and are transposed at the boundary."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose

TO_PIXELS, TO_PLANES = (0, 2, 3, 1), (0, 3, 1, 2)


def planar(graph: Graph) -> Graph:
    """The same network, whose inputs and outputs that are images have their channels first."""
    before, after = [], []
    inputs, outputs = [], []
    for index, port in enumerate(graph.inputs):
        inputs.append(port)
        if _is_image(port.tensor):
            planes = _planes(port.tensor, f"planes_{index}")
            before.append(_move(planes, port.tensor, TO_PIXELS))
            inputs[-1] = Port(port.name, planes, planes.type)
    for index, port in enumerate(graph.outputs):
        outputs.append(port)
        if _is_image(port.tensor) and port.tensor not in graph.input_tensors:
            planes = _planes(port.tensor, f"out_planes_{index}")
            after.append(_move(port.tensor, planes, TO_PLANES))
            outputs[-1] = Port(port.name, planes, planes.type)
    return replace(graph, inputs=tuple(inputs), outputs=tuple(outputs), ops=(*before, *graph.ops, *after))


def _is_image(tensor: Tensor) -> bool:
    return len(tensor.shape) == 4 and tensor.shape[0] == 1


def _planes(tensor: Tensor, name: str) -> Tensor:
    return Tensor(name, replace(tensor.type, shape=tuple(tensor.shape[axis] for axis in TO_PLANES)))


def _move(source: Tensor, target: Tensor, permutation: tuple[int, ...]) -> Op:
    """A transpose; of a single plane it is a reshape, as the passes make of it."""
    place = Source("random", 0, f"TRANSPOSE '{target.name}'")
    if source.shape[1 if permutation == TO_PIXELS else 3] == 1:
        return Reshape(name=target.name, source=place, input=source, output=target)
    return Transpose(name=target.name, source=place, input=source, output=target, permutation=permutation)
