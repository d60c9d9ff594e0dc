"""What chains take at least, found without running them.

When the last operator of a chain asks for its next rows, the operators before it compute what it needs, one after the
other from the first. The rows that are held meanwhile are known: tensors before an operator were computed as far as the
new rows need them, tensors behind it as far as the rows before did, and all are kept from where their readers will go
on. So the demand for some rows, followed back through the network once, gives what is live at the calls of all chains
that end there. A few rows are looked at.

Operators may be ahead of this where several branches ask for the same rows: there the number can be too large by some
rows. It is where a search begins, not what a plan relies on.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinygen.ir.graph import Op
from tinygen.ir.rows import Rows, has_rows, row_bytes
from tinygen.ir.tensor import Tensor
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import crossing_bytes

_SAMPLES = 4  # rows of the last operator, beside its last ones


@dataclass
class _State:
    """How far operands were computed, and the first row that is still needed of each."""

    ends: dict[Tensor, int] = field(default_factory=dict)
    starts: dict[Tensor, int] = field(default_factory=dict)

    def take(self, tensor: Tensor) -> int:
        """Rows of a tensor that are held; it is not asked for again."""
        end = self.ends.pop(tensor, 0)
        return max(0, end - self.starts.pop(tensor, end))


class _Call(NamedTuple):
    """What is live while a call of a walk runs, without what its kernel takes."""

    rows: int  # that it computes; 0: none, or nobody knows
    beside: int  # bytes beside what is held before all calls, while it runs
    held: int  # bytes that are held before it and all calls behind it
    kept: int  # bytes of operands that these calls do not need any more, but later ones do


class _Walk(NamedTuple):
    """The calls that compute some rows of the last one, from this one back; arrays of one entry a call."""

    written: int  # bytes of the last one's result so far, where these are kept
    rows: NDArray[np.int64]
    beside: NDArray[np.int64]
    held: NDArray[np.int64]
    kept: NDArray[np.int64]


class RowWalks:
    """The rows that chains of a network hold, with so many rows a call, whatever kernels they run with.

    `longest`: the most operators of a chain, if that is bounded.
    """

    def __init__(self, network: Network, rows_per_call: int = 1, longest: int | None = None) -> None:
        self._network = network
        self.longest = longest or len(network.calls)
        self._rows_per_call = rows_per_call
        self._rings = {t: row_bytes(t) for t in network.private if has_rows(t)}
        self._held = {op: self._held_operands(op) for op in network.calls if op in network.row_wise}
        self._heights = {op: height_of(network, op) for op in network.calls}
        self._gapless: dict[tuple[Op, Tensor], bool] = {}
        self.of_last = [self._walks(last) for last in range(len(network.calls))]

    def _walks(self, last: int) -> list[_Walk]:
        """Of chains up to call `last`, at a few of its rows."""
        network, op = self._network, self._network.calls[last]
        if op not in network.row_wise:
            return []
        height, step = self._heights[op], self._rows_per_call
        result = op.results[0]
        is_given_away = result in network.stored and network.lifetimes[network.root(result)][1] == last
        keeps_rows = op not in network.sums and not is_given_away
        found: list[_Walk] = []
        for first_row in sorted({height * n // _SAMPLES // step * step for n in range(_SAMPLES)} | {height - 1}):
            rows = Rows(first_row, min(first_row + step, height))
            written = rows.first * row_bytes(result) if keeps_rows else 0
            calls = np.array(list(self._calls(last, rows)), np.int64).reshape(-1, len(_Call._fields))
            found.append(_Walk(written, *calls.T))
        return found

    def _calls(self, last: int, rows: Rows) -> Iterator[_Call]:
        """From call `last` back: each while it and those before it compute what `rows` take."""
        network = self._network
        now, before, read = _State(), _State(), dict[Tensor, int]()
        rings, later_rings = 0, 0
        for index in range(last, max(last - self.longest, -1), -1):
            op = network.calls[index]
            if op not in network.row_wise or network.sharing.is_shared(network.root(op.results[0])):
                return
            done: int | None = rows.end
            new = rows.count
            if index < last:
                done = now.ends.get(op.results[0])
                new = (done or 0) - before.ends.get(op.results[0], 0)
                size = self._rings.get(op.results[0], 0)
                rings += now.take(op.results[0]) * size
                later_rings += before.take(op.results[0]) * size
                read.pop(op.results[0], None)
            read.update(self._held[op])
            count, unreleased = 0, 0
            if done is not None:  # otherwise nobody asked: how far it is depends on later operators
                count = min(new, self._rows_per_call)
                unreleased = sum(self._ask(op, t, done, count, index == last, now) for t in op.divided_operands)
                for operand in op.divided_operands:
                    self._ask(op, operand, done - new, 0, index == last, before)
            needed, kept = self._operand_bytes(index, last, read, now)
            yield _Call(count, unreleased + later_rings - rings, needed + rings, kept)

    def _ask(self, op: Op, operand: Tensor, done: int, count: int, is_last: bool, state: _State) -> int:
        """Note up to which row of an operand `op` has come with `done` rows, and from where it goes on; bytes of rows
        that it will not read again but keeps while it computes the last `count` ones."""
        height = operand.shape[1]
        if op in self._network.sums:
            end = done if is_last or not done else height
            current, following = (end - count, end)
        else:
            end, current, following = self._network.demand.reach(op, operand, done, count)
        state.ends[operand] = max(state.ends.get(operand, 0), end)
        if not self._is_gapless(op, operand):
            return 0
        others = state.starts.get(operand, height)
        state.starts[operand] = min(others, following)
        return max(0, min(others, following) - min(others, current)) * row_bytes(operand) if has_rows(operand) else 0

    def _is_gapless(self, op: Op, operand: Tensor) -> bool:
        """Whether an operator reads every row of its operand; of others it is not known which rows they keep alive."""
        key = (op, operand)
        if key not in self._gapless:
            last = self._heights[op] - 1
            pair = (min(last // 2, last), min(last // 2 + 1, last))
            known = self._network.demand
            needed = [known.of(op, operand, Rows(row, row + 1)) for row in pair if op not in self._network.sums]
            self._gapless[key] = not needed or needed[0].end >= needed[1].first
        return self._gapless[key]

    def _held_operands(self, op: Op) -> dict[Tensor, int]:
        """Operands of which the rows that are still needed are held, with the bytes of a row."""
        network = self._network
        alone = (t for t in op.divided_operands if network.root(t) is t and not network.sharing.is_shared(t))
        return {tensor: row_bytes(tensor) for tensor in alone if has_rows(tensor)}

    def _operand_bytes(self, first: int, last: int, read: Mapping[Tensor, int], state: _State) -> tuple[int, int]:
        """Of what crosses into the chain, or is fetched: rows that are still needed, and rows just kept for others."""
        network, needed, kept = self._network, 0, 0
        for tensor, bytes in read.items():
            begin, until = network.lifetimes[tensor]
            is_whole = begin < first or (first == 0 and tensor in network.inputs)
            end = tensor.shape[1] if is_whole else state.ends.get(tensor, 0)
            rows = max(0, end - state.starts.get(tensor, end))
            needed += rows * bytes
            if until > last:
                kept += (end - rows) * bytes
        return needed, kept


class RowBounds:
    """The least bytes of the chains of a network with the kernels that it has."""

    def __init__(self, network: Network, walks: RowWalks) -> None:
        """`walks` over this network, with any kernels."""
        self._least: dict[tuple[int, int], int] = {}
        touches = _touches(network)
        crossing = crossing_bytes(network)
        taken = np.array([_taken_bytes(network, op) for op in network.calls], np.int64).reshape(-1, 2)
        held = [_most_held(found, taken[last::-1]) for last, found in enumerate(walks.of_last)]
        for first in range(len(held)):
            inside, ends = 0, min(first + walks.longest, len(held))
            for last, passing in zip(range(first, ends), _passing(network, touches, first), strict=False):
                without, own = held[last][last - first] if last - first < len(held[last]) else (0, 0)
                touched = max(inside, own) + passing
                self._least[first, last + 1] = max(touched, crossing[first], crossing[last + 1])
                inside = max(inside, without)

    def of(self, first: int, end: int) -> int:
        """Of the chain of calls [first, end)."""
        return self._least[first, end]


def _taken_bytes(network: Network, op: Op) -> tuple[int, int]:
    """What a call with rows takes for itself, scratch or sums, and what for each row of its result."""
    if op not in network.row_wise:
        return 0, 0
    if op in network.sums:
        return network.sums[op].sums.type.bytes, 0
    kernel = network.kernels[op]
    return kernel.scratch_bytes, 0 if kernel.gives_way else row_bytes(op.results[0])


def _most_held(walks: Sequence[_Walk], taken: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Of chains that begin with the last call, that before it, ...: most live bytes without rows of the last one's
    result, and with those. `taken`: see `_taken_bytes`, in the same order."""
    if not walks:
        return []
    without, own = [], []
    for written, rows, beside, held, kept in walks:
        once, each = taken[: len(rows)].T
        peak = np.maximum.accumulate(np.where(rows != 0, once + rows * each + beside, 0).clip(0))
        without.append(held + peak)
        own.append(held + peak + kept + written)
    return list(zip(*(np.max(each, axis=0).tolist() for each in (without, own)), strict=True))


def _touches(network: Network) -> dict[Tensor, list[int]]:
    """The calls that read or write each root, ascending."""
    found: dict[Tensor, list[int]] = {}
    for index, op in enumerate(network.calls):
        for tensor in (*op.variable_operands, *op.results):
            found.setdefault(network.root(tensor), []).append(index)
    return found


def _passing(network: Network, touches: dict[Tensor, list[int]], first: int) -> Iterator[int]:
    """For each chain that begins at `first`, the shortest first: bytes of what crosses into it and is not touched."""
    touched: dict[int, int] = {}  # bytes, by the call that is the first to touch them
    passing = 0
    for root, (_, last) in network.lifetimes.items():
        if last < first or not _crosses(network, root, first):
            continue
        passing += root.type.bytes
        users = touches.get(root, [])
        if (position := bisect_left(users, first)) < len(users):
            touched[users[position]] = touched.get(users[position], 0) + root.type.bytes
    for index in range(first, len(network.calls)):
        passing -= touched.get(index, 0)
        yield passing


def _crosses(network: Network, root: Tensor, first: int) -> bool:
    """Whether a root holds something before call `first`."""
    return network.lifetimes[root][0] < first or (first == 0 and root in network.inputs)


def height_of(network: Network, op: Op) -> int:
    """Rows that a chain computes one after the other: those of the result, or of a sum's input."""
    if op in network.sums:
        return network.sums[op].rows
    return op.results[0].shape[1] if has_rows(op.results[0]) else 1
