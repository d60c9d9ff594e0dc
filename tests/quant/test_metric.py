"""Accuracy takes labels that are classes of the network, nothing else."""

import numpy as np
import pytest

from tinygen.errors import UsageError
from tinygen.quant.metric import Metric, measure

SCORES = np.array([[1.0, 2.0, 0.0], [3.0, 2.0, 0.0]])


def test_accuracy() -> None:
    assert measure(Metric.ACCURACY, SCORES, SCORES, np.array([1, 2])) == 0.5


@pytest.mark.parametrize("label", [-1, 3])
def test_labels_that_are_no_classes(label: int) -> None:
    with pytest.raises(UsageError, match=rf"^labels: {label} is among them, classes of 0\.\.2 were expected"):
        measure(Metric.ACCURACY, SCORES, SCORES, np.array([0, label]))
