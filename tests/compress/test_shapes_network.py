"""The classifier of benchmarks/weights.py: its gradients are those of its loss, and its file computes what it does."""

from hashlib import sha256

import numpy as np
from onnx.reference import ReferenceEvaluator

from benchmarks.shapes import Classifier, Floats, Labels, shapes


def _loss(network: Classifier, images: Floats, labels: Labels) -> float:
    scores = network.scores(images).astype(np.float64)
    logarithms = np.log(np.exp(scores).sum(axis=1))
    return float((logarithms - scores[np.arange(len(labels)), labels]).mean())


def test_gradients_are_those_of_the_loss() -> None:
    network, (images, labels) = Classifier(), shapes(4, 0)
    for name, gradient in network.gradients(images, labels).items():
        values = network.parameters()[name]
        place = np.unravel_index(int(np.abs(gradient).argmax()), gradient.shape)
        own, step = values[place], 2e-3
        values[place] = own + step
        above = _loss(network, images, labels)
        values[place] = own - step
        slope = (above - _loss(network, images, labels)) / (2 * step)
        values[place] = own
        assert abs(slope - gradient[place]) < 0.05 * abs(slope), name


def test_its_file_computes_the_same_scores() -> None:
    network, (images, _) = Classifier(), shapes(1, 1)
    (found,) = ReferenceEvaluator(network.model()).run(None, {"image": images})
    np.testing.assert_allclose(np.asarray(found, np.float32), network.scores(images), rtol=1e-4, atol=1e-4)


def test_it_is_trained_to_the_same_bits_on_every_processor() -> None:
    """Its figures are published: BLAS of two processors gave 67 and 83 % of right answers for one of its palettes."""
    network, (images, labels) = Classifier(), shapes(96, 0)
    network.train(images, labels)
    values = sha256(b"".join(value.tobytes() for value in network.parameters().values())).hexdigest()
    assert (sha256(images.tobytes()).hexdigest()[:16], values[:16]) == ("d6c7ca1975ceda91", "aa94b9b9294b6be4")
