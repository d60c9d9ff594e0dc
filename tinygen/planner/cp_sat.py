"""Packing as a constraint problem for OR-Tools' CP-SAT. Only `solver` imports this module."""

from collections.abc import Sequence

from ortools.sat.python import cp_model

from tinygen.planner.schedule import Buffer

_EFFORT = 0.25  # CP-SAT's deterministic time, some seconds at most: the same result on every machine


def solve(buffers: Sequence[Buffer], bound: int, offsets: tuple[int, ...]) -> tuple[int, ...]:
    """Offsets of a smaller arena than the known `offsets` give; `offsets` where none is found.

    Every buffer is a rectangle of steps and bytes; no two overlap. No arena is smaller than `bound`.
    """
    known = max(offset + buffer.bytes for offset, buffer in zip(offsets, buffers, strict=True))
    model = cp_model.CpModel()
    arena = model.new_int_var(bound, known - 1, "arena")
    blocks = []
    lifetimes, ranges = [], []
    for index, buffer in enumerate(buffers):
        block = model.new_int_var(0, max(known - 1 - buffer.bytes, 0) // buffer.align, f"block{index}")
        start = block * buffer.align
        model.add(start + buffer.bytes <= arena)
        model.add_hint(block, offsets[index] // buffer.align)
        lifetimes.append(model.new_fixed_size_interval_var(buffer.first_step, _steps(buffer), f"lifetime{index}"))
        ranges.append(model.new_fixed_size_interval_var(start, buffer.bytes, f"range{index}"))
        blocks.append(block)
    model.add_no_overlap_2d(lifetimes, ranges)
    model.minimize(arena)
    solver = _solver()
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return offsets
    return tuple(solver.value(block) * buffer.align for block, buffer in zip(blocks, buffers, strict=True))


def _solver() -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = _EFFORT
    return solver


def _steps(buffer: Buffer) -> int:
    return buffer.last_step - buffer.first_step + 1
