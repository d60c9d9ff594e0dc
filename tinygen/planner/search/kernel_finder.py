"""Which kernels the calls of segments may run with, and what these cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.planner.chains.demand import Compute, RowStep
from tinygen.planner.chains.segment import Segment, steps_of
from tinygen.planner.cost.choice import variants
from tinygen.planner.cost.cost import costs
from tinygen.planner.search.findings import Findings


@dataclass(frozen=True)
class Upgrade:
    """Another kernel for one call of a segment."""

    position: int  # of the call
    scratch_bytes: int
    saved_instructions: float


class KernelFinder:
    """Finds the kernels of one network's calls, on whole tensors, some rows, or slices of channels."""

    def __init__(self, found: Findings) -> None:
        network, toolbox = found.network, found.toolbox
        self._network = network
        self._toolbox = toolbox
        self.costs = costs(toolbox)
        self.variants = {op: found.variants(op) for op in network.calls}
        self.frugal = network.with_kernels({op: found[-1] for op, found in self.variants.items()})
        self._whole = {op: self.costs.call(op, found[0]) for op, found in self.variants.items()}
        self._of_rows_cache: dict[tuple[Op, int], tuple[Kernel, ...]] = {}
        self._of_slices_cache: dict[tuple[Op, int], tuple[Kernel, ...]] = {}

    @property
    def all_instructions(self) -> float:
        """Of one call of each operator's fastest kernel on whole tensors."""
        return sum(self._whole.values())

    def whole_instructions(self, segment: Segment) -> float:
        """The same, of the operators of a segment."""
        return sum([self._whole[op] for op in self.ops(segment)])

    def ops(self, segment: Segment) -> tuple[Op, ...]:
        """The calls of a segment."""
        return self._network.calls[segment.first : segment.end]

    def choices(self, segment: Segment, steps: Sequence[RowStep]) -> dict[Op, tuple[Kernel, ...]]:
        """For the operators with a choice: their kernels, the fastest first, with the scratch of the largest call.

        Where channels are cut into slices these are all that compute some.
        """
        if segment.slices > 1:
            return self._of_slices(steps)
        largest: dict[Op, Compute] = {}
        for step in steps:
            if isinstance(step, Compute) and len(self.variants[step.op]) > 1:
                known = largest.get(step.op)
                largest[step.op] = step if known is None or step.rows.count > known.rows.count else known
        if segment.rows_per_call is None or segment.strips > 1 or not self._toolbox.has_native_kernels:
            return {op: self.variants[op] for op in largest}
        return {op: self._of_rows(step) for op, step in largest.items()}

    def upgrades(self, segment: Segment) -> list[Upgrade]:
        """Faster kernels that single calls of a segment may take instead of those it has, if there is the room."""
        steps = steps_of(self._network, segment)
        found: list[Upgrade] = []
        for op, kernels in self.choices(segment, steps).items():
            position = self._network.calls.index(op, segment.first) - segment.first
            has_bytes = segment.scratch[position] if segment.scratch else None
            if has_bytes is None:
                continue
            own = [step for step in steps if isinstance(step, Compute) and step.op is op]
            costs = [self.costs.steps(own, {op: kernel}) for kernel in kernels]
            now = next(cost for kernel, cost in zip(kernels, costs, strict=True) if kernel.scratch_bytes <= has_bytes)
            found += [
                Upgrade(position, kernel.scratch_bytes, now - cost)
                for kernel, cost in zip(kernels, costs, strict=True)
                if kernel.scratch_bytes > has_bytes and cost < now
            ]
        return found

    def _of_slices(self, steps: Sequence[RowStep]) -> dict[Op, tuple[Kernel, ...]]:
        """The kernels for slices of each operator, the last one with the scratch that the least of any slice takes."""
        widths = {(step.op, step.channels.count): step for step in steps if isinstance(step, Compute) and step.channels}
        found: dict[Op, tuple[Kernel, ...]] = {}
        for (op, width), step in widths.items():
            if (op, width) not in self._of_slices_cache:
                assert step.channels is not None
                self._of_slices_cache[op, width] = variants(self._network.tiles.of(op, step.channels).op, self._toolbox)
            kernels = self._of_slices_cache[op, width]
            smallest = max((kernels[-1], *(found[op][-1:] if op in found else ())), key=lambda k: k.scratch_bytes)
            found[op] = (*(k for k in kernels if k.scratch_bytes > smallest.scratch_bytes), smallest)
        return found

    def _of_rows(self, step: Compute) -> tuple[Kernel, ...]:
        """The kernels for that many rows; the last one is that of the whole, which has room in any call."""
        key = step.op, step.rows.count
        if key not in self._of_rows_cache:
            tile = step.op.tile(step.rows) if step.rows.count < step.op.results[0].shape[1] else None
            smallest = self.variants[step.op][-1]
            found = variants(tile.op, self._toolbox) if tile else self.variants[step.op]
            self._of_rows_cache[key] = (*(k for k in found if k.scratch_bytes > smallest.scratch_bytes), smallest)
        return self._of_rows_cache[key]
