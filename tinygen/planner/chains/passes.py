"""Chains that run through their rows more than once.

Where an operator of a chain needs all of what another one computes, the scale of a tensor say, that must be there
first: all rows run up to it, and what is held of them in rings is gone. Then the chain begins anew, and what lies in
rings is computed again.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor


@dataclass(frozen=True)
class Passes:
    """What each pass over a chain runs; the last one ends with the chain's results."""

    first: tuple[Op, ...]  # whose results others need all of, in order: each is where a pass ends
    runs: tuple[frozenset[Op], ...]  # the operators of each pass, one more than there are in `first`
    ops: tuple[Op, ...]  # all of the chain, in order

    @cached_property
    def extra_macs(self) -> int:
        """Multiplications that are done again."""
        if not self.first:
            return 0
        return sum(op.macs * (times - 1) for op, times in self.times.items() if times)

    @cached_property
    def times(self) -> Mapping[Op, int]:
        """How often each operator computes all its rows, in their order: what is added up over them is rounded."""
        found = {op: sum(op in run for run in self.runs) for op in self.ops}
        return {op: times for op, times in found.items() if times}


def passes_of(ops: Sequence[Op], rings: AbstractSet[Tensor]) -> Passes:
    """The passes over operators in order, of which results in `rings` are there for a few rows only."""
    producers = {result: op for op in ops for result in op.results}
    needed = {producers[t] for op in ops for t in op.whole_operands if t in producers}
    first = tuple(op for op in ops if op in needed)
    if not first:
        return Passes((), (frozenset(ops),), tuple(ops))
    kept: set[Op] = set()  # whose results stay
    runs: list[frozenset[Op]] = []
    for op in first:
        runs.append(_sources([op], producers, kept))
        kept |= {done for done in runs[-1] if not rings >= set(done.results)}
    ran = frozenset().union(*runs)
    ends = [op for op in ops if op not in kept and (op not in ran or not rings >= set(op.results))]
    runs.append(_sources(ends, producers, kept))
    return Passes(first, tuple(runs), tuple(ops))


def _sources(ends: Sequence[Op], producers: dict[Tensor, Op], kept: AbstractSet[Op]) -> frozenset[Op]:
    """The operators that results of `ends` are computed with, but those `kept` from before."""
    found: set[Op] = set()
    left = [op for op in ends if op not in kept]
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            sources = (producers[t] for t in op.variable_operands if t in producers)
            left += [source for source in sources if source not in kept]
    return frozenset(found)
