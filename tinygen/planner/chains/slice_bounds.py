"""What chains that run in slices of channels take at least, found without running them."""

from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.ir.rows import Channels, all_channels
from tinygen.ir.tensor import Tensor
from tinygen.kernels.diagonal import whole_lead_bytes
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment, passing_bytes
from tinygen.planner.chains.slices import SlicedChain


@dataclass(frozen=True)
class SliceBounds:
    """Bytes of a chain that do not depend on the number of slices; `network` has the kernels with the least scratch."""

    chain: SlicedChain
    passing: int  # live throughout without being touched
    crossing: int  # the larger of what crosses its two ends
    operands: int  # that every slice needs all of
    held: int  # the most of what is held between operators, of one channel

    @classmethod
    def of(cls, network: Network, segment: Segment, chain: SlicedChain, crossing: int) -> "SliceBounds":
        """The bounds of a segment that is that chain."""
        operands = {network.root(t) for op in chain.ops for t in op.variable_operands if _is_taken_whole(op, t)}
        whole = sum(root.type.bytes for root in operands)
        held = _most_held(network, chain) // chain.channels
        return cls(chain, passing_bytes(network, segment), crossing, whole, held)

    def bytes(self, count: int) -> int:
        """Bytes that the chain takes at least in about `count` slices.

        While a slice that is not the last one runs, all of the operands are there for the next one; behind the first
        one, and so while the last one runs, the sums are, too.
        """
        widths = [channels.count for channels in self.chain.slices(count)]
        there = self.passing + self.operands
        least = max(self.crossing, there + self.held * widths[0])
        if self.chain.sum is None:
            return least
        behind = self.passing + self.held * widths[-1]
        if len(widths) > 2:
            behind = max(behind, there + self.held * widths[1])
        return max(least, behind + self.chain.sum.sums.type.bytes)


def _is_taken_whole(op: Op, operand: Tensor) -> bool:
    """Whether all slices of the result need all of an operand."""
    return op.channels_needed(operand, Channels(0, 1)) == all_channels(operand)


def _most_held(network: Network, chain: SlicedChain) -> int:
    """The most bytes of held tensors that are live at once, all of their channels counted."""
    last_use: dict[Tensor, int] = {}
    for index, op in enumerate(chain.ops):
        last_use.update({t: index for t in op.variable_operands if t in chain.held})
    if chain.sum is not None:
        last_use[chain.sum.input] = len(chain.ops)
    live: set[Tensor] = set()
    most = 0
    for index, op in enumerate(chain.ops):
        spent = {tensor for tensor in live if last_use[tensor] == index}
        written = set(op.results) & chain.held
        beside = _beside_operands(network, op) if spent & {*network.kernels[op].gives_way} else _bytes(written)
        most = max(most, _bytes(live) + beside)
        live = (live - spent) | written
    return most


def _beside_operands(network: Network, op: Op) -> int:
    """What of a result cannot lie over what is read for the last time."""
    diagonal = network.kernels[op].diagonal
    if diagonal is None:
        return 0
    operand, result = op.variable_operands[0].type.bytes, op.results[0].type.bytes
    lead = whole_lead_bytes(diagonal, op)
    return result if lead is None else max(min(lead, result), result - operand)


def _bytes(tensors: set[Tensor]) -> int:
    return sum(tensor.type.bytes for tensor in tensors)
