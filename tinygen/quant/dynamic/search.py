"""Which scheme is nearest to the float network on given samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tinygen.ir.graph import Graph, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.quant.dataset import Dataset, open_dataset
from tinygen.quant.dynamic.gain import Pricing
from tinygen.quant.dynamic.layers import DynamicNetwork, quantize_layers
from tinygen.quant.dynamic.scheme import ALL, DynamicOptions, DynamicScheme
from tinygen.quant.metric import Metric, measure, scores_tensor
from tinygen.targets import Board

_SAMPLES = 64


@dataclass(frozen=True)
class SchemeTrial:
    """One scheme."""

    scheme: DynamicScheme
    sqnr_db: float  # of the scores
    accuracy: float | None  # share of right classes, where there are labels


@dataclass(frozen=True)
class SchemeSearch:
    """All schemes, the best one first."""

    trials: tuple[SchemeTrial, ...]
    samples: int
    best: DynamicNetwork


def search(graph: Graph, options: DynamicOptions, board: Board, price: Pricing, file: Path) -> SchemeSearch:
    """The four schemes on the first samples of a file, by accuracy where it has labels, then by SQNR; UsageError."""
    samples = open_dataset(file, graph.inputs, _SAMPLES)
    labels = samples.labels()
    real = _scores(graph, scores_tensor(graph), samples)
    found: list[tuple[SchemeTrial, DynamicNetwork]] = []
    for scheme in ALL:
        own = replace(scheme, granularity=options.granularity)
        quantized = quantize_layers(graph, options, board, price, own)
        scores = _scores(quantized.graph, scores_tensor(graph), samples)
        accuracy = None if labels is None else measure(Metric.ACCURACY, scores, real, labels)
        found.append((SchemeTrial(own, measure(Metric.SQNR, scores, real, None), accuracy), quantized))
    found.sort(key=lambda pair: (pair[0].accuracy or 0.0, pair[0].sqnr_db), reverse=True)
    return SchemeSearch(tuple(trial for trial, _ in found), samples.samples, found[0][1])


def _scores(graph: Graph, scores: Tensor, samples: Dataset) -> Array:
    """Of all samples, one after the other."""
    found = [_evaluated(graph, scores, sample) for sample in samples.batches(1)]
    return np.stack([array.reshape(-1) for array in found])


def _evaluated(graph: Graph, wanted: Tensor, sample: Sequence[Array]) -> Array:
    known: dict[Tensor, Array] = {
        port.tensor: array.reshape(port.tensor.shape) for port, array in zip(graph.inputs, sample, strict=True)
    }
    values = Values(known.__getitem__)
    for op in graph.ops:
        with np.errstate(all="ignore"):
            known.update(zip(op.results, op.evaluate(values), strict=True))
        if wanted in op.results:
            return known[wanted]
    return values[wanted]
