"""Accuracy of what a target computes, beside that of the float network that its file holds."""

from collections.abc import Sequence

import numpy as np

from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.quant.accuracy import ScoredAccuracy, accuracy
from tinygen.quant.forward import forward_of, joined
from tinygen.verify.program import Program
from tinygen.verify.samples import Samples

_BATCH = 32  # samples that the float network computes at once


def accuracy_of(compiled: Program, samples: Samples, outputs: Sequence[Array], labels: Array) -> ScoredAccuracy:
    """Of the first output for each of the samples; labels may be more. UsageError for labels that are no classes.

    The float network stands beside it where the file holds one that calibration has changed; with front ends and states
    it takes other inputs, and does not.
    """
    is_alike = not compiled.has_front_end and not compiled.schedule.graph.states
    real = _float_outputs(compiled, samples) if compiled.is_calibrated and is_alike else None
    return accuracy(np.stack(outputs), labels[: len(outputs)], real)


def _float_outputs(compiled: Program, samples: Samples) -> Array:
    """The first output of the network as it is in the file."""
    graph = import_model(compiled.source, compiled.spelling)
    name = graph.outputs[0].tensor.name
    forward = forward_of(graph, [name])
    batches = (samples[first : first + _BATCH] for first in range(0, len(samples), _BATCH))
    return np.concatenate(
        [forward.run([joined(column) for column in zip(*batch, strict=True)])[name] for batch in batches]
    )
