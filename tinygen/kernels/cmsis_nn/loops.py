"""How CMSIS-NN's functions go through multiplications, and the portable ones with their names."""

from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.work import Loops
from tinygen.targets.isa import Isa

_AT_ONCE = {Isa.MVE: 4}  # else 2


def loops(toolbox: Toolbox, gathers: bool = False, by_rows: bool = False) -> Loops:
    """CMSIS-NN computes several pixels at once, or several outputs of a single one."""
    is_portable = toolbox.library is Library.PORTABLE
    return Loops(
        gathers=gathers and not is_portable,
        at_once=1 if is_portable else _AT_ONCE.get(toolbox.isa, 2),
        by_rows=by_rows,
        fills_vectors=toolbox.isa is Isa.MVE,
    )
