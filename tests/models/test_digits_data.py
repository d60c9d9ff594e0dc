"""The example's data: model and images belong together, are what they claim, and give the stated accuracy."""

from pathlib import Path

import numpy as np
import pytest
import tflite
from numpy.typing import NDArray

from examples.digits.dataset import CLASSES, held_out, model_input, quantize

FOLDER = Path(__file__).parents[2] / "examples" / "digits"
MODEL = (FOLDER / "digits_int8.tflite").read_bytes()
IMAGES = 364
CORRECT = 361  # by LiteRT's reference kernels; README.md states it too
OPERATORS = [
    tflite.BuiltinOperator.CONV_2D,
    tflite.BuiltinOperator.DEPTHWISE_CONV_2D,
    tflite.BuiltinOperator.CONV_2D,
    tflite.BuiltinOperator.DEPTHWISE_CONV_2D,
    tflite.BuiltinOperator.CONV_2D,
    tflite.BuiltinOperator.AVERAGE_POOL_2D,
    tflite.BuiltinOperator.RESHAPE,
    tflite.BuiltinOperator.FULLY_CONNECTED,
    tflite.BuiltinOperator.SOFTMAX,
]


@pytest.fixture(scope="module")
def model() -> tflite.Model:
    return tflite.Model.GetRootAs(MODEL)


@pytest.fixture(scope="module")
def stored() -> NDArray[np.int8]:
    with np.load(FOLDER / "digits_test.npz") as data:
        assert sorted(data.files) == ["in0", "labels"]
        images: NDArray[np.int8] = data["in0"]
    return images


@pytest.fixture(scope="module")
def labels() -> NDArray[np.uint8]:
    with np.load(FOLDER / "digits_test.npz") as data:
        digits: NDArray[np.uint8] = data["labels"]
    return digits


@pytest.fixture(scope="module")
def digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """scikit-learn's images [1797, 8, 8] and labels [1797]."""
    reason = "the test images were not compared with scikit-learn's: scikit-learn is not installed"
    data = pytest.importorskip("sklearn.datasets", reason=reason).load_digits()
    return data.images, data.target


def test_images_and_labels_have_the_stated_form(stored: NDArray[np.int8], labels: NDArray[np.uint8]) -> None:
    assert (str(stored.dtype), stored.shape) == ("int8", (IMAGES, 8, 8, 1))
    assert (str(labels.dtype), labels.shape) == ("uint8", (IMAGES,))
    assert np.bincount(labels).min() >= 35
    assert len(np.bincount(labels)) == CLASSES


def test_model_takes_one_such_image_and_gives_ten_classes(model: tflite.Model) -> None:
    graph = model.Subgraphs(0)
    image, scores = graph.Tensors(graph.Inputs(0)), graph.Tensors(graph.Outputs(0))
    assert (graph.InputsLength(), graph.OutputsLength(), model.SubgraphsLength()) == (1, 1, 1)
    assert (image.Type(), image.ShapeAsNumpy().tolist()) == (tflite.TensorType.INT8, [1, 8, 8, 1])
    assert (scores.Type(), scores.ShapeAsNumpy().tolist()) == (tflite.TensorType.INT8, [1, CLASSES])
    assert len(MODEL) < 40_000


def test_model_uses_only_plain_operators(model: tflite.Model) -> None:
    graph = model.Subgraphs(0)
    codes = [model.OperatorCodes(graph.Operators(i).OpcodeIndex()) for i in range(graph.OperatorsLength())]
    assert [code.BuiltinCode() for code in codes] == OPERATORS


def test_images_are_the_held_out_ones_of_scikit_learn(
    model: tflite.Model,
    stored: NDArray[np.int8],
    labels: NDArray[np.uint8],
    digits: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> None:
    images, classes = digits
    graph = model.Subgraphs(0)
    quantization = graph.Tensors(graph.Inputs(0)).Quantization()
    scale, zero_point = float(quantization.Scale(0)), int(quantization.ZeroPoint(0))
    test = held_out(classes)
    np.testing.assert_array_equal(stored, quantize(model_input(images[test]), scale, zero_point))
    np.testing.assert_array_equal(labels, classes[test])
    # Back to pixels by the definition alone: int8 lost nothing.
    pixels = (stored[..., 0].astype(np.float64) - zero_point) * scale * 16
    np.testing.assert_allclose(pixels, images[test], atol=0.05)


def test_no_test_image_is_among_the_training_images(
    stored: NDArray[np.int8], digits: tuple[NDArray[np.float64], NDArray[np.int64]]
) -> None:
    images, classes = digits
    pixels = np.rint((stored[..., 0].astype(np.float64) + 128) / 255 * 16)
    training = {image.tobytes() for image in images[~held_out(classes)]}
    assert len(training) == len(images) - IMAGES
    assert not training & {image.tobytes() for image in pixels}


def test_accuracy_of_the_reference_kernels_is_the_stated_one(
    stored: NDArray[np.int8], labels: NDArray[np.uint8]
) -> None:
    reason = "the accuracy of the digits model was not measured: ai-edge-litert is not installed"
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason=reason)
    interpreter = litert.Interpreter(
        model_content=MODEL, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    correct = 0
    for image, label in zip(stored, labels, strict=True):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image[np.newaxis])
        interpreter.invoke()
        scores = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
        correct += int(scores.argmax() == label)
    assert correct == CORRECT


def test_readme_states_the_tested_accuracy() -> None:
    line = f"| int8 model, LiteRT reference kernels | {CORRECT} of {IMAGES} ({CORRECT / IMAGES * 100:.2f} %) |"
    assert line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
