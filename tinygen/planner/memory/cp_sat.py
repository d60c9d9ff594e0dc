"""Placement as a constraint problem for OR-Tools' CP-SAT. Only `exact` imports this module."""

from collections.abc import Mapping, Sequence

from ortools.sat.python import cp_model

from tinygen.planner.memory.block import Gap
from tinygen.planner.memory.first_fit import Problem


def solve(problem: Problem, offsets: Mapping[int, int], effort: float, limit: int | None = None) -> Mapping[int, int]:
    """Offsets of a smaller arena than the known `offsets` give; `offsets` where none is found.

    The smallest one, or any within a limit: that takes a fraction of the time.
    The distance of any two blocks lies beside what is forbidden. `effort` is CP-SAT's deterministic time, some seconds
    for each: the same result on every machine.
    """
    model = _Model(problem, offsets, limit)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = effort
    if solver.solve(model.model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return offsets
    return {
        index: solver.value(start)
        for index, start in enumerate(model.starts)
        if solver.boolean_value(model.is_taken[index])
    }


class _Model:
    """Variables: the arena, an offset for each item, and which of its blocks each item takes."""

    def __init__(self, problem: Problem, known: Mapping[int, int], limit: int | None) -> None:
        self.model = cp_model.CpModel()
        self._problem = problem
        most = max(offset + problem.blocks[index].bytes for index, offset in known.items()) - 1
        self._limit = most if limit is None else min(most, limit)
        self._arena = self.model.new_int_var(problem.bound, self._limit, "arena")
        self.starts: list[cp_model.LinearExpr] = []
        self.is_taken: list[cp_model.IntVar] = []
        for item in problem.alternatives:
            self._add_item(item, known)
        for first, found in enumerate(problem.gaps):
            for second, gaps in found.items():
                if second < first:
                    self._keep_apart(first, second, gaps)
        if limit is None:
            self.model.minimize(self._arena)

    def _add_item(self, item: tuple[int, ...], known: Mapping[int, int]) -> None:
        blocks = [self._problem.blocks[index] for index in item]
        align = blocks[0].align
        room = self._limit - min(block.bytes for block in blocks)
        multiple = self.model.new_int_var(0, max(room, 0) // align, f"block{item[0]}")
        for index, block in zip(item, blocks, strict=True):
            taken = self.model.new_bool_var(f"taken{index}") if len(item) > 1 else self.model.new_constant(1)
            self.starts.append(multiple * align)
            self.is_taken.append(taken)
            self.model.add(multiple * align + block.bytes <= self._arena).only_enforce_if(taken)
            if len(item) > 1:
                self.model.add_hint(taken, index in known)
            if index in known:
                self.model.add_hint(multiple, known[index] // align)
        self.model.add_exactly_one(self.is_taken[-len(item) :])

    def _keep_apart(self, first: int, second: int, gaps: Sequence[Gap]) -> None:
        lows = [-self._limit, *(high for _, high in gaps)]
        highs = [*(low for low, _ in gaps), self._limit]
        allowed = [[low, high] for low, high in zip(lows, highs, strict=True) if low <= high]
        distance = self.starts[first] - self.starts[second]
        taken = [self.is_taken[first], self.is_taken[second]]
        self.model.add_linear_expression_in_domain(distance, cp_model.Domain.from_intervals(allowed)).only_enforce_if(
            taken
        )
