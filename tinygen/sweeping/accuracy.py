"""Accuracy of a candidate on samples with labels, by the arithmetic that its C has."""

from pathlib import Path

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.graph import Graph
from tinygen.quant.dataset import open_dataset
from tinygen.quant.metric import Metric, measure
from tinygen.verify import reference


def accuracy(graph: Graph, data: Path) -> float | None:
    """The share of samples whose largest output is that of their label, 0 to 1; None where the file has no labels.

    `data`: an .npz file as for `tinygen validate`, its labels integers (`ir.samples.LABELS`). States begin anew with
    each sample. UsageError where samples or labels are not for this network.
    """
    dataset = open_dataset(data, graph.inputs)
    labels = dataset.labels()
    if labels is None:
        return None
    if len(graph.outputs) != 1:
        raise UsageError(f"{data.name}: has labels, a network with 1 output was expected: it has {len(graph.outputs)}.")
    runs = (reference.evaluate(graph, inputs) for inputs in dataset.batches(1))
    scores = np.stack([reference.outputs(graph, arrays)[0] for arrays in runs])
    return measure(Metric.ACCURACY, scores, scores, labels)
