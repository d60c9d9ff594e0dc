"""Which kernel runs an operator: the cheapest one, by the costs that were measured."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tinygen.ir.graph import Op
from tinygen.kernels import select as by_rank
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.planner.cost import Costs, costs


def variants(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels that can run `op`, all of the same result: the cheapest first, each further one with less scratch.

    Kernels of tinygen's own go before the library's unless the toolbox chooses by cost; so do those that nobody
    has measured. KeyError for operators that only move or rename memory.
    """
    ranked = by_rank.variants(op, toolbox)
    if not toolbox.chooses_by_cost or not toolbox.has_native_kernels:
        return ranked
    library = by_rank.variants(op, replace(toolbox, has_native_kernels=False))
    candidates = [*ranked, *(kernel for kernel in library if kernel.function not in {k.function for k in ranked})]
    found = costs(toolbox)
    if len(candidates) == len(library) or not all(found.is_measured(op, kernel) for kernel in ranked):
        return ranked
    return tuple(_with_less_and_less_scratch(_sorted(op, candidates, found)))


def select(op: Op, toolbox: Toolbox, scratch_bytes: int | None = None) -> Kernel:
    """The cheapest kernel that makes do with that much scratch; without a limit the cheapest."""
    found = variants(op, toolbox)
    if scratch_bytes is None:
        return found[0]
    return next((kernel for kernel in found if kernel.scratch_bytes <= scratch_bytes), found[-1])


def _sorted(op: Op, kernels: Sequence[Kernel], found: Costs) -> list[Kernel]:
    return sorted(kernels, key=lambda kernel: (found.call(op, kernel), kernel.scratch_bytes))


def _with_less_and_less_scratch(kernels: Sequence[Kernel]) -> Iterator[Kernel]:
    least: int | None = None
    for kernel in kernels:
        if least is None or kernel.scratch_bytes < least:
            least = kernel.scratch_bytes
            yield kernel
