"""Channels of networks on 8-bit integers."""

from tinygen.ir.channels import Link
from tinygen.ir.graph import Op


def links(op: Op) -> tuple[Link, ...] | None:
    """All operands with channels of an operator on 8-bit integers that never mixes them; None for others."""
    if any(tensor.type.dtype.bytes > 1 for tensor in (*op.variable_operands, *op.results)):
        return None
    return op.channel_links()
