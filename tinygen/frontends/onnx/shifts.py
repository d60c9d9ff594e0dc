"""Scales that follow from ONNC's list of shifts for Cortex-M, which counts the nodes of an ONNX file.

The file's weights are integers, which ONNC takes as they are. It shifts the sums of each Conv and MatMul to the right
by a number of the list, in the order of nodes; of an Add with a constant it shifts the sum by one and the constant by
another. So the real values are those of the file's own float network, and a shift is a power of two of the scale.
"""

from collections.abc import Sequence
from pathlib import Path

from onnx import ModelProto, NodeProto

_SHIFTS = {"Conv": 1, "MatMul": 1, "Add": 2}  # of each node; the second of an Add follows from the scale
_MOST = 31  # bits of a sum


def scales_of_shifts(path: Path, shifts: Sequence[int]) -> dict[str, float]:
    """Scales of inputs and results by name, of int8 with zero point 0; ValueError where the list does not fit."""
    graph = ModelProto.FromString(path.read_bytes()).graph
    constants = {tensor.name for tensor in graph.initializer}
    scales = {port.name: 1.0 for port in graph.input if port.name not in constants}
    expected = sum(_count(node, constants) for node in graph.node)
    if len(shifts) != expected:
        raise ValueError(f"{len(shifts)} shifts, {expected} were expected for the nodes of {path.name}")
    wrong = [shift for shift in shifts if not 0 <= shift <= _MOST]
    if wrong:
        raise ValueError(f"a shift of {wrong[0]}, 0 to {_MOST} was expected")
    left = list(shifts)
    for node in graph.node:
        before = next((scales[name] for name in node.input if name in scales), None)
        own, left = left[: (count := _count(node, constants))], left[count:]
        if before is not None:
            scales |= dict.fromkeys(node.output, before * 2.0 ** (own[0] if own else 0))
    return scales


def _count(node: NodeProto, constants: set[str]) -> int:
    """Shifts of a node; a sum of two tensors has none."""
    is_sum_of_tensors = node.op_type == "Add" and not any(name in constants for name in node.input)
    return 0 if is_sum_of_tensors else _SHIFTS.get(node.op_type, 0)
