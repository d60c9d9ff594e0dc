"""What a pass saves."""

from dataclasses import dataclass

from tinygen.ir.graph import Graph


@dataclass(frozen=True)
class Saving:
    """What a graph no longer needs."""

    macs: int
    const_bytes: int  # of weights and biases, before kernels pack them


NOTHING_SAVED = Saving(0, 0)


def saving(before: Graph, after: Graph) -> Saving:
    """What `after` does without that `before` needs."""
    return Saving(before.macs - after.macs, _const_bytes(before) - _const_bytes(after))


def _const_bytes(graph: Graph) -> int:
    return sum(tensor.type.bytes for tensor in graph.tensors if tensor.is_constant)
