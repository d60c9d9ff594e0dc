"""Which kernel runs an operator: the cheapest one, by the costs that were measured."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tinygen.ir.graph import Op
from tinygen.kernels import select as by_rank
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.native.select import is_native
from tinygen.planner.cost.cost import costs

CLEARLY_LESS = 0.75  # estimates of single calls are off by up to a quarter


def variants(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels that can run `op`, all of the same result: the cheapest first, each further one with less scratch.

    Kernels of tinygen's own go before the library's, and these before portable ones, unless the toolbox chooses by cost
    and a later one is clearly cheaper, or saves more than estimates of the network may be off. KeyError for operators
    that only move or rename memory.
    """
    ranked = by_rank.variants(op, toolbox)
    found = costs(toolbox)
    if not (toolbox.chooses_by_cost and toolbox.has_native_kernels and found.is_measured(op, ranked[0])):
        return ranked
    first = found.call(op, ranked[0])
    if is_native(ranked[0]):
        library = by_rank.variants(op, replace(toolbox, has_native_kernels=False))
        with_library = found.call(op, library[0])
        if with_library < CLEARLY_LESS * first or first - with_library > toolbox.uncertain:
            return tuple(_with_less_and_less_scratch((*library, *ranked)))
    cheapest = min(ranked, key=lambda kernel: found.call(op, kernel))
    return ranked[ranked.index(cheapest) :] if first - found.call(op, cheapest) > toolbox.uncertain else ranked


def select(op: Op, toolbox: Toolbox, scratch_bytes: int | None = None) -> Kernel:
    """The cheapest kernel that makes do with that much scratch; without a limit the cheapest."""
    return by_rank.first_within(variants(op, toolbox), scratch_bytes)


def instructions(ops: Iterable[Op], toolbox: Toolbox) -> float:
    """Of all of them, one after the other on whole tensors."""
    found = costs(toolbox)
    return sum(found.call(op, select(op, toolbox)) for op in ops if by_rank.has_kernel(op))


def uncertain(ops: Iterable[Op], toolbox: Toolbox, share: float) -> float:
    """What a call with the first of its kernels may take more than with the cheapest: so much that all calls that do
    take no more, together, than a share of the network's instructions."""
    found = [_choice(op, toolbox) for op in ops if by_rank.has_kernel(op)]
    most = left = share * sum(taken for taken, _ in found)
    losses = sorted(max(0.0, taken - least) for taken, least in found)
    for at, loss in enumerate(losses):
        if left < loss <= most:
            return max((less for less in losses[:at] if less < loss), default=0.0)
        left -= loss
    return most


def _choice(op: Op, toolbox: Toolbox) -> tuple[float, float]:
    """Instructions with the kernel that is taken however little others cost less, and with the cheapest."""
    found, without = costs(toolbox), replace(toolbox, has_native_kernels=False)
    least = min(found.call(op, kernel) for tools in (toolbox, without) for kernel in by_rank.variants(op, tools))
    return found.call(op, select(op, toolbox)), least


def _with_less_and_less_scratch(kernels: Sequence[Kernel]) -> Iterator[Kernel]:
    least: int | None = None
    for kernel in kernels:
        if least is None or kernel.scratch_bytes < least:
            least = kernel.scratch_bytes
            yield kernel
