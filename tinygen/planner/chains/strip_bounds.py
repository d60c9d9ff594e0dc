"""What strips of a chain take and cost, found without running them.

Towards the end of the last strip nearly all of the result is there, after the start of the first one nearly all of the
operand is still needed; in between the rings hold what the next rows read again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinygen.ir.graph import Op
from tinygen.ir.rows import pixel_bytes, row_bytes
from tinygen.ir.tensor import Tensor
from tinygen.planner.chains.demand import Chain
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment, chain_of, passing_bytes, strip_chains
from tinygen.planner.chains.strips import computed_columns

_FROM_THE_ENDS = 8  # of a strip's rows, one in so many: from there on rings are full


@dataclass(frozen=True, eq=False)
class CutChain:
    """A chain in strips: what it holds and does again, whatever kernels it runs with."""

    ops: tuple[Op, ...]
    macs: int  # of the chain as a whole
    extra_macs: int  # multiplications that the strips do again
    _fixed: int  # bytes that pass through untouched
    _whole: int  # bytes of the operands or of the results of all of it, whichever are more
    _most: int  # of these, how many are there while the rings are full
    _later: NDArray[np.int64]  # [strips]: bytes of rows that are read later, halfway through
    _beyond: NDArray[np.int64]  # [strips, operators]: bytes beside these that an operator reads now
    _written: NDArray[np.int64]  # [strips, operators]: bytes of a row of a ring that it writes

    @classmethod
    def of(cls, network: Network, segment: Segment, strips: int) -> "CutChain | None":
        """The chain of a segment; None where it cannot be cut into so many strips."""
        assert segment.rows_per_call is not None, "only chains have strips"
        whole_chain = chain_of(network, segment, segment.rows_per_call)
        chains = strip_chains(network, whole_chain, strips)
        if not chains:
            return None
        ops = whole_chain.ops
        held = whole_chain.rings | whole_chain.fetched
        results = {op.results[0] for op in ops} - held
        operands = {tensor for op in ops for tensor in op.variable_operands} - held - results
        whole = max(sum(tensor.type.bytes for tensor in tensors) for tensors in (operands, results))
        rings = [_ring_bytes(network, chain) for chain in chains]
        return cls(
            ops,
            sum(op.macs for op in ops),
            _extra_macs(chains),
            passing_bytes(network, segment),
            whole,
            whole - whole // (strips * _FROM_THE_ENDS),
            np.array([later for later, _ in rings], np.int64),
            np.array([beyond for _, beyond in rings], np.int64),
            np.array([_written_bytes(chain) for chain in chains], np.int64),
        )

    def bytes(self, network: Network) -> int:
        """What the strips take at least with the kernels of a network."""
        kernels = [network.kernels[op] for op in self.ops]
        scratch = np.array([kernel.scratch_bytes for kernel in kernels])
        writes = np.array([not kernel.gives_way for kernel in kernels])
        rings = int((self._later + (self._beyond + scratch + self._written * writes).max(axis=1)).max())
        return max(self._whole, self._most + rings) + self._fixed


def _extra_macs(chains: Sequence[Chain]) -> int:
    """Multiplications that strips do again."""
    columns = computed_columns(chains[0].ops, [chain.strip for chain in chains if chain.strip])
    return sum(op.macs * count // op.results[0].shape[2] - op.macs for op, count in columns.items())


def _ring_bytes(network: Network, chain: Chain) -> tuple[int, list[int]]:
    """Bytes of rings halfway through: all of those that others read later, and what each operator reads now beyond."""
    later = dict.fromkeys(chain.held, 0)
    now: list[dict[Tensor, int]] = []
    for op in chain.ops:
        reads: dict[Tensor, int] = {}
        for operand in op.divided_operands:
            source = chain.strip.copied.get((op, operand), operand) if chain.strip else operand
            if source not in later:
                continue
            needed, kept = network.demand.halfway(op, operand)
            size = held_row_bytes(chain, source)
            reads[source] = needed * size
            later[source] = max(later[source], kept * size)
        now.append(reads)
    return sum(later.values()), [sum([size - later[source] for source, size in reads.items()]) for reads in now]


def _written_bytes(chain: Chain) -> list[int]:
    """A row of each operator's result, where that goes to a ring."""
    results = (op.results[0] for op in chain.ops)
    return [held_row_bytes(chain, result) if result in chain.rings else 0 for result in results]


def held_row_bytes(chain: Chain, tensor: Tensor) -> int:
    """Bytes of a row of a ring."""
    return pixel_bytes(tensor) * chain.strip.held[tensor].count if chain.strip else row_bytes(tensor)
