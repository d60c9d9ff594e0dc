"""Visits and clicks of a made-up shop: which are clicks is decided by a rule that no network has been told.

Needs numpy only. A visit has real numbers, and a row of each of four tables; some rows are more frequent than others.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Float32Array

DENSE = 8
ROWS = (40, 300, 1000, 7)  # of the tables
_HIDDEN = 6  # properties of a row that clicks depend on
_RULE_SEED = 11

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Visits:
    """So many visits: real numbers [N, DENSE], rows [N] of each table, and whether they clicked [N]."""

    dense: Float32Array
    rows: tuple[Integers, ...]
    clicks: npt.NDArray[np.bool_]

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """By the names of the network's inputs."""
        return {"dense": self.dense, **{f"index{number}": rows for number, rows in enumerate(self.rows)}}


def visits(count: int, seed: int) -> Visits:
    """Random visits; a tenth to a third of them click."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(0, 1, (count, DENSE)).astype(np.float32)
    rows = tuple((size * rng.random(count) ** 2).astype(np.int64) for size in ROWS)
    return Visits(dense, rows, rng.random(count) < _chance(dense, rows))


def _chance(dense: Float32Array, rows: tuple[Integers, ...]) -> npt.NDArray[np.float64]:
    """By products of what the visitor is like and of what rows are like, in pairs."""
    rule = np.random.default_rng(_RULE_SEED)
    likes = np.tanh(dense.astype(np.float64) @ rule.normal(0, 0.6, (DENSE, _HIDDEN)))
    parts = [likes, *(rule.normal(0, 0.8, (size, _HIDDEN))[chosen] for size, chosen in zip(ROWS, rows, strict=True))]
    pairs = [(one * other).sum(axis=1) for place, one in enumerate(parts) for other in parts[:place]]
    total: npt.NDArray[np.float64] = 1 / (1 + np.exp(1.5 - 0.6 * np.sum(pairs, axis=0)))
    return total
