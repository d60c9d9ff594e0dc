"""How far results of calls on some rows may lie over what these read."""

from tinygen.ir.graph import Op
from tinygen.ir.rows import Columns, Rows
from tinygen.kernels.diagonal import Diagonal, Windows
from tinygen.planner.chains.demand import Compute


class LeadCache:
    """The leads of calls, each found once."""

    def __init__(self) -> None:
        self._windows: dict[tuple[Op, Rows, Columns | None, bool], Windows | None] = {}
        self._leads: dict[tuple[Windows, Diagonal, int, int], int] = {}

    def of(self, step: Compute, diagonal: Diagonal) -> int | None:
        """How many bytes before its first operand a result must begin to lie over it; None where it may not."""
        has_whole = step.channels is not None or step.reads[0].bytes == step.op.variable_operands[0].type.bytes
        asked = step.op, step.rows, step.columns, has_whole
        if asked not in self._windows:
            self._windows[asked] = Windows.of(*asked[:3], has_whole=has_whole)
        windows = self._windows[asked]
        if windows is None:
            return None
        key = windows, diagonal, step.reads[0].bytes, step.writes[0].bytes
        if key not in self._leads:
            self._leads[key] = windows.lead_bytes(*key[1:])
        return self._leads[key]
