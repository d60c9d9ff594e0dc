"""Pareto fronts: points that no other one equals or beats in all figures and beats in one."""

import numpy as np
import numpy.typing as npt


def front(points: npt.NDArray[np.float64]) -> tuple[int, ...]:
    """Indices of the rows of `points` (points, figures; less is better) on the front, by rising first figure.

    Points that are equal are on it together. A point is beaten only by ones before it in lexicographic order, and where
    it is beaten, by one on the front, so each is compared with the front so far.
    """
    kept = np.empty_like(points)
    found: list[int] = []
    for index in np.lexsort(points.T[::-1]):
        point, before = points[index], kept[: len(found)]
        if not ((before <= point).all(axis=1) & (before < point).any(axis=1)).any():
            kept[len(found)] = point
            found.append(int(index))
    return tuple(found)
