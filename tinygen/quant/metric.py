"""How near a quantized network is to its float network, or to the truth."""

import math
from enum import StrEnum

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.softmax import Softmax
from tinygen.quant.histogram import Reals


class Metric(StrEnum):
    """Larger is better."""

    SQNR = "sqnr"  # signal to quantization noise ratio of the scores, in dB
    COSINE = "cosine"  # mean cosine between both networks' scores
    ACCURACY = "accuracy"  # share of samples whose largest score is their label's


_BEST_DB = 200.0


def scores_tensor(graph: Graph) -> Tensor:
    """The first output; what a softmax at the end is given, for its result saturates."""
    output = graph.outputs[0].tensor
    producer = graph.producers.get(output)
    return producer.input if isinstance(producer, Softmax) else output


def measure(metric: Metric, quantized: Array, real: Array, labels: Array | None) -> float:
    """The metric of real values, the first axis of each counts samples; UsageError for labels that are no classes."""
    found, wanted = (values.astype(np.float64).reshape(len(values), -1) for values in (quantized, real))
    if metric is Metric.ACCURACY and labels is not None:
        check_classes(labels, found.shape[1])
        return float((found.argmax(axis=1) == labels).mean())
    if metric is Metric.COSINE:
        return float(np.mean(_cosines(found, wanted)))
    noise = float(((found - wanted) ** 2).sum())
    return _BEST_DB if noise == 0 else 10 * math.log10(max(float((wanted**2).sum()), 1e-30) / noise)


def check_classes(labels: Array, classes: int) -> None:
    """Raise UsageError for labels that are no classes."""
    wrong = next((int(label) for label in labels if not 0 <= label < classes), None)
    if wrong is not None:
        raise UsageError(
            f"labels: {wrong} is among them, classes of 0..{classes - 1} were expected, as the network has "
            "scores. Choose the labels of these samples."
        )


def _cosines(first: Reals, second: Reals) -> Reals:
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products: Reals = (first * second).sum(axis=1)
    return np.where(norms > 0, products / np.maximum(norms, 1e-30), 1.0)
