"""What the page of searches counts: gains that are no chance in every draw of samples (benchmarks/search.py)."""

from benchmarks.search import Gain, page


def _gain(search: str, draw: int, db: float, error: float = 0.1) -> Gain:
    return Gain("net", draw, "flash", "max", search, db, error, 64)


def test_s0_25_gains_count_where_each_draw_shows_them() -> None:
    found = [_gain("grid", 0, 0.5), _gain("grid", 1, 0.3)]  # both above two standard errors
    found += [_gain("greedy", 0, 0.5), _gain("greedy", 1, 0.15)]  # the second may be chance
    found += [_gain("anneal", 0, -0.5), _gain("anneal", 1, -0.3)]  # worse
    found += [_gain("tpe", 0, 0.9)]  # the other draw is not there
    text = page(found)
    assert (
        "beat the best single policy in 1 of 3 cases by two standard errors each time, and are worse by as much in 1"
        in text
    )
    assert "| net | flash | max | grid | **0.50** ± 0.10 | **0.30** ± 0.10 | 64 |" in text
    assert "| net | flash | max | greedy | 0.50 ± 0.10 | 0.15 ± 0.10 | 64 |" in text
    assert "| net | flash | max | tpe | 0.90 ± 0.10 | not measured | 64 |" in text
