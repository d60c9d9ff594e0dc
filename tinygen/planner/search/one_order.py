"""Weights that several parts of an operator read stand in flash in one order, where that is worth it.

Parts of few rows and of many, or with more and less scratch, are fastest with weights in other orders, or transformed
for other tiles of Winograd's method: each of them a table of its own. An order is taken from flash where the others run
hardly longer without it: at the price of a byte that the toolbox tells, or at a higher one where constants are limited.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import inf
from operator import itemgetter

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.planner.cost.cost import costs
from tinygen.planner.schedule.constants import bytes_of
from tinygen.planner.search.findings import Findings

_MOST_ORDERS = 6  # of one operator, whose subsets are looked at, first those that its parts have: more are other values
_HIGHEST_PRICE = 64  # times the price of a byte, where constants take too much


@dataclass
class OrderedPart:
    """Calls that have one kernel."""

    op: Op  # of the first of them
    kernel: Kernel
    scratch_bytes: int  # that there is room for
    calls: int = 0


_Parts = Mapping[Hashable, OrderedPart]  # of one operator, by what tells them apart
_Order = tuple[int, ...]  # which tables: all that have one have the same
_Ways = Mapping[_Order, tuple[float, Kernel]]  # what calls of a part cost, and the kernel for that


def in_one_order(parts: Sequence[_Parts], found: Findings) -> dict[Hashable, Kernel]:
    """For some parts other kernels, which cost less with the flash that tables take; none where flash has no price."""
    price, most_bytes = found.toolbox.flash_price, found.toolbox.most_constants
    several = [each for each in parts if 1 < len({_order(part.kernel) for part in each.values()}) <= _MOST_ORDERS]
    if not price or not several:
        return {}
    ways = [_ways(each, found) for each in several]
    for times in (2**n for n in range(_HIGHEST_PRICE.bit_length())):
        chosen = dict(chain.from_iterable(_cheapest(each, times * price).items() for each in ways))
        kernels = (chosen.get(key, part.kernel) for each in parts for key, part in each.items())
        if most_bytes is None or _table_bytes(kernels) <= most_bytes:
            break
    own = {key: part.kernel for each in several for key, part in each.items()}
    return {key: kernel for key, kernel in chosen.items() if kernel is not own[key]}


def _order(kernel: Kernel) -> _Order:
    return tuple(id(table.stored.data) for table in kernel.tables)


def _ways(parts: _Parts, found: Findings) -> Mapping[Hashable, _Ways]:
    """Of each part, by all orders: kernels may stand in for others that take the same memory, or more."""
    cost_of = costs(found.toolbox)
    ways: dict[Hashable, dict[_Order, tuple[float, Kernel]]] = {}
    for key, part in parts.items():
        others = found.kernels_in_orders(part.op)
        own = part.kernel.in_place, part.kernel.diagonal
        small = (k for k in others if k.scratch_bytes <= part.scratch_bytes and (k.in_place, k.diagonal) == own)
        ways[key] = {}
        for kernel in (part.kernel, *small):
            cost = part.calls * cost_of.call(part.op, kernel)
            order = _order(kernel)
            if order not in ways[key] or cost < ways[key][order][0]:
                ways[key][order] = cost, kernel
    return ways


def _cheapest(ways: Mapping[Hashable, _Ways], price: float) -> dict[Hashable, Kernel]:
    """The kernels of all parts of one operator that cost least where a byte of tables has a price."""
    own = (next(iter(part)) for part in ways.values())
    orders = list(dict.fromkeys(chain(own, chain.from_iterable(ways.values()))))[:_MOST_ORDERS]
    best: tuple[float, list[Kernel]] = inf, []
    for kept in chain.from_iterable(combinations(orders, count) for count in range(1, len(orders) + 1)):
        taken = [_cheapest_of(part, kept) for part in ways.values()]
        found = [way for way in taken if way is not None]
        if len(found) == len(taken):
            kernels = [kernel for _, kernel in found]
            cost = sum(cost for cost, _ in found) + price * _table_bytes(kernels)
            best = min(best, (cost, kernels), key=itemgetter(0))
    return dict(zip(ways, best[1], strict=True))


def _cheapest_of(part: _Ways, kept: Sequence[_Order]) -> tuple[float, Kernel] | None:
    return min((part[order] for order in kept if order in part), key=lambda way: way[0], default=None)


def _table_bytes(kernels: Iterable[Kernel]) -> int:
    return bytes_of(table for kernel in kernels for table in kernel.tables)
