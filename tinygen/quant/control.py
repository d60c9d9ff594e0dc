"""The constants of an operator's requantization, for the CTable."""

from tinygen.ir.graph import Op
from tinygen.ops.clamp import fused_clamp
from tinygen.quant.ctable import Control


def control_of(op: Op) -> Control | None:
    """What the kernel of a quantized operator is given; None where nothing of it can be chosen."""
    clamp, type = fused_clamp(op), op.results[0].type
    if type.dtype.is_real or clamp is None:
        return None
    found = op.scaling_constants
    limits = Control(act_min=int(clamp.min), act_max=int(clamp.max))
    if found is None:
        return limits
    return limits.model_copy(
        update={
            "input_offset": found.input_offset,
            "output_offset": type.zero_point,
            "left_shift": found.left_shift,
            "multiplier": found.multipliers,
            "shift": found.shifts,
            "rounding": found.rounding,
        }
    )
