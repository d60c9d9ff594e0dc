"""The places in an operator where precision changes: what the simulator rounds, wraps or saturates, in order."""

from tinygen.ir.answers import Point
from tinygen.ir.graph import Op
from tinygen.ops.clamp import fused_clamp


def precision_points(op: Op) -> tuple[Point, ...]:
    """The points of a quantized operator, in the order in which a value passes them; empty where values only move."""
    if all(tensor.type.dtype.is_real for tensor in (*op.operands, *op.results)):
        return ()
    return (*op.precision_points(), *_clamp(op))


def _clamp(op: Op) -> tuple[Point, ...]:
    clamp = fused_clamp(op)
    if clamp is None or op.results[0].type.dtype.is_real:
        return ()
    return (Point("clamp", f"[{int(clamp.min)}, {int(clamp.max)}]"),)
