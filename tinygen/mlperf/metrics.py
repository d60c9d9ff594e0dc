"""Top-1 accuracy, area under the ROC curve and median, as the benchmark's runner defines them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tinygen.quant.accuracy import placements

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def correct(scores: Floats, labels: Labels) -> int:
    """How many rows of `scores` [sample, class] have their largest value, the first of equals, at the label."""
    return int(np.sum(np.argmax(scores, axis=1) == labels))


def auc(scores: Floats, labels: Labels) -> float | None:
    """Area under the ROC curve of `scores` [sample, class]; None where a class is missing.

    One column: a score of class 1. Two: the second counts. More: each class against the rest, averaged, of
    probabilities that are made to add up to 1.
    """
    if scores.shape[1] == 1:
        return binary_auc(scores[:, 0], labels == 1)
    normalized = scores / np.sum(scores, axis=1, keepdims=True)
    if scores.shape[1] == 2:
        return binary_auc(normalized[:, 1], labels == 1)
    areas = [binary_auc(normalized[:, index], labels == index) for index in range(scores.shape[1])]
    found = [area for area in areas if area is not None]
    return float(np.mean(found)) if len(found) == len(areas) else None


def binary_auc(scores: Floats, is_positive: npt.NDArray[np.bool_]) -> float | None:
    """Share of pairs (positive, negative) whose positive has the higher score, ties by half (Mann and Whitney)."""
    if is_positive.all() or not is_positive.any():
        return None
    return float(np.mean(placements(scores, is_positive)[is_positive]))


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle."""
    return float(np.median(np.asarray(values)))
