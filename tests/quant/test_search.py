"""Searches on objectives whose best combination is known."""

import importlib.util

import pytest

from tinygen.errors import ToolError
from tinygen.quant import search as module
from tinygen.quant.search import Assignment, Search, Space, search

POLICIES = ("max", "l2", "kld")
WANTED = ("l2", "kld", "max", "l2")
SPACE = Space((POLICIES,) * 4, tuple((policy,) * 4 for policy in POLICIES))
HERE = [
    kind for kind in Search if kind is not Search.TPE or importlib.util.find_spec("optuna") is not None
]  # optuna is an extra


def _matches(assignment: Assignment) -> float:
    """How many places have the wanted policy; the first two only count together."""
    right = [one == wanted for one, wanted in zip(assignment, WANTED, strict=True)]
    return sum(right) + 2.0 * (right[0] and right[1])


@pytest.mark.parametrize("kind", list(Search))
def test_s0_25_no_search_is_worse_than_the_best_single_policy(kind: Search) -> None:
    if kind not in HERE:
        pytest.skip("optuna missing: --search tpe is not tested, only its message")
    found = search(kind, SPACE, _matches, 40)
    assert _matches(found.best) >= max(map(_matches, SPACE.starts))
    assert tuple(trial.assignment for trial in found.measured[:3]) == SPACE.starts
    assert len({trial.assignment for trial in found.measured}) == len(found.measured) <= 40
    assert max(trial.score for trial in found.measured) == _matches(found.best)
    assert search(kind, SPACE, _matches, 40) == found


def test_a_grid_within_the_budget_is_exhaustive() -> None:
    found = search(Search.GRID, SPACE, _matches, 81)
    assert found.best == WANTED
    assert len({trial.assignment for trial in found.measured}) == len(found.measured) == 81


def test_place_by_place_finds_what_is_separable() -> None:
    def separable(assignment: Assignment) -> float:
        return float(sum(one == wanted for one, wanted in zip(assignment, WANTED, strict=True)))

    for kind in (Search.GRID, Search.GREEDY):
        assert search(kind, SPACE, separable, 30).best == WANTED


def test_s0_25_a_grid_takes_the_product_of_the_places_that_matter() -> None:
    """Twenty places, of which two help only together: place by place nobody finds them."""

    def hidden(assignment: Assignment) -> float:
        both = assignment[3] == assignment[11] == "b"
        alone = 0.1 * ((assignment[3] == "b") + (assignment[11] == "b"))
        return 5.0 * both - alone - sum(1.0 for one in assignment[4:11] if one == "b")

    space = Space((("a", "b"),) * 20, (("a",) * 20, ("b",) * 20))
    grid = search(Search.GRID, space, hidden, 48)
    assert hidden(grid.best) == pytest.approx(4.8) == max(trial.score for trial in grid.measured)
    assert hidden(search(Search.GREEDY, space, hidden, 48).best) == 0.0
    assert len(grid.measured) <= 48


@pytest.mark.parametrize("kind", HERE)
def test_what_is_not_allowed_is_never_measured(kind: Search) -> None:
    space = Space((("8", "4"),) * 6, (("4",) * 6,), lambda assignment: assignment.count("8") <= 2)
    asked: list[Assignment] = []

    def objective(assignment: Assignment) -> float:
        asked.append(assignment)
        return sum(float(place) for place, width in enumerate(assignment) if width == "8")

    found = search(kind, space, objective, 64)
    assert all(assignment.count("8") <= 2 for assignment in asked)
    assert len(asked) == len(set(asked))
    if kind is Search.GRID:
        assert found.best == ("4", "4", "4", "4", "8", "8")


def test_without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(ToolError, match=r"^optuna: not installed, needed for --search tpe\. Run `pip install"):
        search(Search.TPE, SPACE, _matches, 40)
