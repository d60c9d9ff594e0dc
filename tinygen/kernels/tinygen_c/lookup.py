"""Table lookup."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.ops.lookup import Lookup


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupS8(Kernel):
    """tg_lookup_s8; the table's bytes are seen as int8, whatever the output is."""

    template: ClassVar[str] = "lookup_s8"
    header: ClassVar[str] = "tg_elementwise.h"

    size: int


def lower_lookup(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The lookup kernel for `op`."""
    assert isinstance(op, Lookup) and op.table.data is not None
    return LookupS8(
        function="tg_lookup_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("table", op.table.data.view("int8")),),
        in_place=(op.input,),
        size=op.output.type.elements,
    )


LOWERINGS: Lowerings = {Lookup: lower_lookup}
