"""Tables measured on samples, by the simulator."""

from collections.abc import Iterable

import numpy as np

from tinygen.calib.calibrator import BATCH, Calibrator
from tinygen.errors import UsageError
from tinygen.ir.graph import Graph
from tinygen.ir.samples import LABELS
from tinygen.ir.types import Array
from tinygen.ops.quantize import dequantize
from tinygen.quant.accuracy import ScoredAccuracy, accuracy
from tinygen.quant.ctable import CTable
from tinygen.quant.dataset import Dataset
from tinygen.quant.forward import Forward, NumpyForward, forward_of
from tinygen.quant.histogram import Reals
from tinygen.quant.metric import Metric, measure, scores_tensor
from tinygen.quant.quantize import quantize_graph

MOST_SAMPLES = 256  # that a trial computes


class Trials:
    """What networks that follow a table compute on some samples, beside the float network."""

    def __init__(self, graph: Graph, batches: Iterable[list[Array]], labels: Array | None, metric: Metric) -> None:
        self.metric = metric
        self.labels = labels
        self._graph = graph
        self._name = scores_tensor(self._graph).name
        self._batches = [[array.copy() for array in batch] for batch in batches]
        self.real: Reals = self._run(forward_of(self._graph, [self._name]), self._name).astype(np.float64)

    def scores(self, table: CTable) -> Reals:
        """What the network of a table computes."""
        return self._computed(table, self._name)

    def accuracy(self, table: CTable) -> ScoredAccuracy | None:
        """Of what applications see, where `scores` are before a softmax; None without labels."""
        if self.labels is None:
            return None
        name = self._graph.outputs[0].tensor.name
        real = self._run(forward_of(self._graph, [name]), name)
        return accuracy(self._computed(table, name), self.labels, real)

    def _computed(self, table: CTable, name: str) -> Reals:
        """A tensor of the network of a table, as real numbers."""
        quantized = quantize_graph(self._graph, bare(table))
        tensor = next(t for t in quantized.tensors if t.name == name)
        stored = self._run(NumpyForward(quantized, [name]), name)
        return np.asarray(stored if tensor.type.quant is None else dequantize(stored, tensor.type), np.float64)

    def sqnr(self, scores: Reals) -> float:
        """Against the float network, in dB."""
        return measure(Metric.SQNR, scores, self.real, None)

    def drop(self, scores: Reals, start: Reals) -> float:
        """What the metric has lost: against the float network, of SQNR against `start`."""
        if self.metric is Metric.SQNR:
            return self.sqnr(start) - self.sqnr(scores)
        values = [measure(self.metric, found, self.real, self.labels) for found in (self.real, scores)]
        return 100 * (values[0] - values[1])

    def _run(self, forward: Forward, name: str) -> Reals:
        return np.concatenate([np.asarray(forward.run(batch)[name]) for batch in self._batches])


def trials_of(calibrator: Calibrator, data: Dataset, metric: Metric | None, most: int = MOST_SAMPLES) -> Trials:
    """On the first samples of a file, at most so many; by accuracy where it has labels, else by the cosine, unless
    `metric` is given.
    """
    count = min(data.samples, most)
    labels = data.labels()
    chosen = metric or (Metric.COSINE if labels is None else Metric.ACCURACY)
    check_has_labels(data, chosen)
    batches = data.batches(BATCH, 0, count)
    return Trials(calibrator.graph, batches, None if labels is None else labels[:count], chosen)


def check_has_labels(data: Dataset, metric: Metric) -> None:
    """Raise UsageError where accuracy is to be measured without labels."""
    if metric is Metric.ACCURACY and not data.has_labels:
        raise UsageError(
            f"--metric accuracy: {data.file.name} has no array named {' or '.join(LABELS)} with the samples' "
            "classes, one was expected. Add it, or choose cosine or sqnr."
        )


def trials_of_last(calibrator: Calibrator, data: Dataset, count: int, most: int | None) -> Trials:
    """On the last samples of a file: of `count` such the first, at most `most` where that is given."""
    first, used = data.samples - count, min(count, most or count)
    labels = data.labels()
    chosen = None if labels is None else labels[first : first + used]
    return Trials(calibrator.graph, data.batches(BATCH, first, used), chosen, Metric.SQNR)


def bare(table: CTable) -> CTable:
    """Without constants that follow from others."""
    ops = {name: entry.model_copy(update={"control": None}) for name, entry in table.ops.items()}
    return table.model_copy(update={"ops": ops})
