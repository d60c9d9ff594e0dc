"""What splitting costs, in instructions: estimates, made to compare plans with each other.

The figures are measured under QEMU with `-icount` on Cortex-M4 (CMSIS-NN, -O2) and rounded; plans are only ranked by them.
"""

from collections.abc import Sequence

from tinygen.ir.graph import Op
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.planner.stream import AddRows, Compute, FetchRows, RowStep, ShiftRows

_PER_MAC = {Conv2D: 2.2, DepthwiseConv2D: 8.0}
_PER_MAC_OTHERWISE = 2.2
_PER_OUTPUT = 25.0
_PER_CALL = 160.0
_PER_SHIFT = 40.0
_PER_SHIFTED_BYTE = 0.5


def whole_instructions(op: Op) -> float:
    """Of one call on whole tensors."""
    outputs = sum(result.type.elements for result in op.results)
    return op.macs * _PER_MAC.get(type(op), _PER_MAC_OTHERWISE) + outputs * _PER_OUTPUT + _PER_CALL


def extra_instructions(ops: Sequence[Op], steps: Sequence[RowStep]) -> float:
    """Of running `ops` by these steps, beyond one call each on whole tensors."""
    calls = sum(isinstance(step, (Compute, AddRows, FetchRows)) for step in steps)
    shifted = sum(step.reads[0].bytes * _PER_SHIFTED_BYTE + _PER_SHIFT for step in steps if isinstance(step, ShiftRows))
    return max(0, calls - len(ops)) * _PER_CALL + shifted
