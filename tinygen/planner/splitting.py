"""Which segmentation serves an objective, and in which direction each chain runs."""

from collections.abc import Iterator
from dataclasses import replace

from tinygen.kernels.base import Objective, Toolbox
from tinygen.planner.cost import whole_instructions
from tinygen.planner.network import Network
from tinygen.planner.schedule import Schedule
from tinygen.planner.segment import Segment, memory, steps_of
from tinygen.planner.segmentation import Segmentation, SegmentationSearch
from tinygen.planner.split import split
from tinygen.targets.board import Board

_BALANCED_EXTRA = 0.05  # of the instructions on whole tensors, that -O balanced may spend
_QUICK_MOVES = 300
_FEWER_BYTES = 0.97  # of a limit that a segmentation kept alone, but not together


def split_plan(network: Network, board: Board, toolbox: Toolbox, limit_bytes: int | None, may_split: bool) -> Schedule:
    """The schedule with segments that serves the objective; over the limit where nothing smaller is found."""
    if not may_split:
        segments = tuple(Segment(index, index + 1) for index in range(len(network.calls)))
        return split(network, segments, board, toolbox)
    search = SegmentationSearch(network)
    found = [
        split(network, _directed(network, path.segments), board, toolbox)
        for path in _candidates(network, search, toolbox.objective, limit_bytes)
    ]
    fitting = [s for s in found if limit_bytes is None or s.arena_bytes <= limit_bytes]
    return fitting[0] if fitting else min(found, key=lambda schedule: schedule.arena_bytes)


def every_plan(network: Network, board: Board, toolbox: Toolbox) -> Iterator[tuple[Segmentation, Schedule]]:
    """Schedules with less and less memory, each the cheapest found in fewer bytes than the one before."""
    search = SegmentationSearch(network)
    path = search.within(max(search.sizes))
    while path is not None:
        yield path, split(network, _directed(network, path.segments), board, toolbox)
        path = search.within(path.bytes - 1)


def _candidates(
    network: Network, search: SegmentationSearch, objective: Objective, limit_bytes: int | None
) -> Iterator[Segmentation]:
    """Segmentations, the preferred one first; the smallest last."""
    smallest = search.smallest()
    if objective is Objective.BALANCED:
        budget = _BALANCED_EXTRA * sum(whole_instructions(op) for op in network.calls)
        yield _within_budget(search, smallest, budget)
    elif objective in (Objective.TIME, Objective.SIZE) and limit_bytes is not None:
        limit = limit_bytes
        while limit > smallest.bytes:
            path = search.within(limit)
            if path is None:
                break
            yield path
            limit = min(int(limit * _FEWER_BYTES), path.bytes - 1)
    yield smallest


def _within_budget(search: SegmentationSearch, smallest: Segmentation, budget: float) -> Segmentation:
    """The smallest segmentation that costs at most `budget` extra instructions."""
    if smallest.extra_instructions <= budget:
        return smallest
    sizes = [size for size in search.sizes if size > smallest.bytes]
    low, high = 0, len(sizes) - 1
    best = search.within(sizes[high])
    while low < high:
        middle = (low + high) // 2
        path = search.within(sizes[middle])
        if path is not None and path.extra_instructions <= budget:
            best, high = path, middle
        else:
            low = middle + 1
    return best or smallest


def _directed(network: Network, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """The segments, some of them descending where that makes the arena smaller.

    A chain that runs up leaves its result below its input, one that runs down above it: taking turns, results need not
    wander off. Found by turning one chain after the other.
    """
    best, bound = _size(network, segments)
    for index, segment in enumerate(segments):
        if best <= bound:
            break
        if segment.rows_per_call is None or _reads_fetched(network, segment):
            continue
        turned = (*segments[:index], replace(segment, descending=True), *segments[index + 1 :])
        size, _ = _size(network, turned)
        if size < best:
            segments, best = turned, size
    return segments


def _size(network: Network, segments: tuple[Segment, ...]) -> tuple[int, int]:
    """Arena bytes of a quick placement, and the bound of any."""
    steps = [step for segment in segments for step in steps_of(network, segment)]
    needed = memory(network, steps, network.inputs, network.outputs)
    return needed.arena_bytes(needed.placed(_QUICK_MOVES)), needed.bound_bytes


def _reads_fetched(network: Network, segment: Segment) -> bool:
    ops = network.calls[segment.first : segment.end]
    return any(tensor in network.fetched for op in ops for tensor in op.variable_operands)
