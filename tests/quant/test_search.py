"""Searches on objectives whose best combination is known."""

import pytest

from tinygen.quant.policy import Policy
from tinygen.quant.search import Assignment, Search, search

POLICIES = tuple(map(Policy.parse, ("max", "l2", "kld")))
WANTED = ("l2", "kld", "max", "l2")


def _matches(assignment: Assignment) -> float:
    """How many groups have the wanted policy; the first two only count together."""
    right = [str(policy) == wanted for policy, wanted in zip(assignment, WANTED, strict=True)]
    return sum(right) + 2.0 * (right[0] and right[1])


@pytest.mark.parametrize("kind", list(Search))
def test_s0_25_no_search_is_worse_than_the_best_single_policy(kind: Search) -> None:
    found = search(kind, 4, POLICIES, _matches, 40)
    singles = [_matches((policy,) * 4) for policy in POLICIES]
    assert _matches(found.best) >= max(singles)
    assert [trial.policies for trial in found.trials[:3]] == [(str(policy),) * 4 for policy in POLICIES]
    assert len(found.trials) <= 40
    assert max(trial.score for trial in found.trials) == _matches(found.best)
    assert search(kind, 4, POLICIES, _matches, 40) == found


def test_a_grid_within_the_budget_is_exhaustive() -> None:
    found = search(Search.GRID, 4, POLICIES, _matches, 81)
    assert tuple(map(str, found.best)) == WANTED
    assert len({trial.policies for trial in found.trials}) == len(found.trials) == 81


def test_group_by_group_finds_what_is_separable() -> None:
    def separable(assignment: Assignment) -> float:
        return float(sum(str(p) == wanted for p, wanted in zip(assignment, WANTED, strict=True)))

    for kind in (Search.GRID, Search.GREEDY):
        found = search(kind, 4, POLICIES, separable, 30)
        assert tuple(map(str, found.best)) == WANTED
