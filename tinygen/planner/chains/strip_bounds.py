"""What strips of a chain take and cost, found without running them.

Towards the end of the last strip nearly all of the result is there, after the start of the first one nearly all of the
operand is still needed; in between the rings hold what the next rows read again.
"""

from collections.abc import Sequence

from tinygen.ir.graph import Op
from tinygen.ir.rows import pixel_bytes, row_bytes
from tinygen.ir.tensor import Tensor
from tinygen.planner.chains.demand import Chain
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment, passing_bytes
from tinygen.planner.chains.strips import computed_columns

_FROM_THE_ENDS = 8  # of a strip's rows, one in so many: from there on rings are full


def strip_bytes(network: Network, segment: Segment, chains: Sequence[Chain]) -> int:
    """Bytes that the strips of a segment take at least; `network` has the kernels with the least scratch."""
    ops = network.calls[segment.first : segment.end]
    held = chains[0].rings | chains[0].fetched
    results = {op.results[0] for op in ops} - held
    operands = {tensor for op in ops for tensor in op.variable_operands} - held - results
    whole = max(sum(tensor.type.bytes for tensor in tensors) for tensors in (operands, results))
    most = whole - whole // (len(chains) * _FROM_THE_ENDS)
    rings = max(_ring_bytes(network, chain) for chain in chains)
    return max(whole, most + rings) + passing_bytes(network, segment)


def extra_macs(chains: Sequence[Chain]) -> int:
    """Multiplications that strips do again."""
    columns = computed_columns(chains[0].ops, [chain.strip for chain in chains if chain.strip])
    return sum(op.macs * count // op.results[0].shape[2] - op.macs for op, count in columns.items())


def _ring_bytes(network: Network, chain: Chain) -> int:
    """The most bytes of rings, halfway through: those that an operator reads now, and those that others read later."""
    later = dict.fromkeys(chain.held, 0)
    now: dict[Op, dict[Tensor, int]] = {}
    for op in chain.ops:
        now[op] = {}
        for operand in op.divided_operands:
            source = chain.strip.copied.get((op, operand), operand) if chain.strip else operand
            if source not in later:
                continue
            needed, kept = network.demand.halfway(op, operand)
            size = held_row_bytes(chain, source)
            now[op][source] = needed * size
            later[source] = max(later[source], kept * size)
    beyond = {op: sum([size - later[source] for source, size in sizes.items()]) for op, sizes in now.items()}
    return sum(later.values()) + max(more + _working_bytes(network, chain, op) for op, more in beyond.items())


def _working_bytes(network: Network, chain: Chain, op: Op) -> int:
    """What a call takes for itself: a row of its result, where that goes to a ring, and scratch."""
    kernel, result = network.kernels[op], op.results[0]
    written = 0 if kernel.in_place or result not in chain.rings else held_row_bytes(chain, result)
    return kernel.scratch_bytes + written


def held_row_bytes(chain: Chain, tensor: Tensor) -> int:
    """Bytes of a row of a ring."""
    return pixel_bytes(tensor) * chain.strip.held[tensor].count if chain.strip else row_bytes(tensor)
