"""Train the digits network, convert it to an int8 TFLite model, and write the held-out test images.

Run from the top of the repository: python -m examples.digits.train
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from examples.digits.dataset import CLASSES, held_out, model_input, quantize

FOLDER = Path(__file__).parent
SEED = 1
EPOCHS = 60
BATCH = 64
PEAK_LEARNING_RATE = 4e-3
SHIFTS = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]  # rows, columns

layers = tf.keras.layers

Images = NDArray[np.float32]  # [N, 8, 8, 1]
Labels = NDArray[np.int64]  # [N]


def shifted(images: Images, rows: int, columns: int) -> Images:
    """The images moved by at most one pixel; what moves in is background."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return padded[:, 1 - rows : 9 - rows, 1 - columns : 9 - columns]


def augment(images: Images, labels: Labels) -> tuple[Images, Labels]:
    """Each image as it is and moved by one pixel in the four directions."""
    return np.concatenate([shifted(images, *by) for by in SHIFTS]), np.tile(labels, len(SHIFTS))


def convolution(layer: tf.keras.layers.Layer) -> list[tf.keras.layers.Layer]:
    """A convolution with batch normalization and ReLU; the converter folds all three into one operator."""
    return [layer, layers.BatchNormalization(name=f"{layer.name}_norm"), layers.ReLU()]


def build_network() -> tf.keras.Model:
    """A convolution, two depthwise-separable blocks, average pooling and a classifier."""
    same = {"padding": "same", "use_bias": False}  # the bias comes from batch normalization
    return tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 1)),
            *convolution(layers.Conv2D(16, 3, **same, name="stem")),
            *convolution(layers.DepthwiseConv2D(3, strides=2, **same, name="depthwise1")),
            *convolution(layers.Conv2D(32, 1, **same, name="pointwise1")),
            *convolution(layers.DepthwiseConv2D(3, **same, name="depthwise2")),
            *convolution(layers.Conv2D(64, 1, **same, name="pointwise2")),
            layers.AveragePooling2D(2, name="pool"),
            layers.Flatten(name="flatten"),
            layers.Dropout(0.3, name="dropout"),
            layers.Dense(CLASSES, activation="softmax", name="classifier"),
        ]
    )


def train(images: Images, labels: Labels) -> tf.keras.Model:
    """The network trained on the images and their shifted copies."""
    network = build_network()
    images, labels = augment(images, labels)
    steps = EPOCHS * -(-len(images) // BATCH)
    rate = tf.keras.optimizers.schedules.CosineDecay(PEAK_LEARNING_RATE, steps)
    network.compile(tf.keras.optimizers.Adam(rate), "sparse_categorical_crossentropy")
    network.fit(images, labels, batch_size=BATCH, epochs=EPOCHS, verbose=2)
    return network


def convert(network: tf.keras.Model, calibration: Images) -> bytes:
    """The network as an int8 TFLite model, input and output too; the calibration images give the ranges."""

    def samples() -> Iterator[list[Images]]:
        for sample in calibration:
            yield [sample[np.newaxis]]

    # A fixed batch of one: with an open batch the converter leaves shape arithmetic before the reshape.
    image = tf.keras.Input((8, 8, 1), batch_size=1, name="image")
    single = tf.keras.Sequential([image, *network.layers], name="digits")
    converter = tf.lite.TFLiteConverter.from_keras_model(single)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = samples
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.int8
    return bytes(converter.convert())


def reference_interpreter(model: bytes) -> Interpreter:
    """The model in LiteRT's reference kernels, ready to run."""
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    return interpreter


def predictions(interpreter: Interpreter, stored: NDArray[np.int8]) -> Labels:
    """The digit [N] that the int8 model gives for each image."""
    source = interpreter.get_input_details()[0]["index"]
    result = interpreter.get_output_details()[0]["index"]
    digits = []
    for image in stored:
        interpreter.set_tensor(source, image[np.newaxis])
        interpreter.invoke()
        digits.append(int(interpreter.get_tensor(result)[0].argmax()))
    return np.array(digits)


def report(name: str, predicted: Labels, labels: Labels) -> None:
    """Print how many of the held-out images are right."""
    correct = int((predicted == labels).sum())
    print(f"{name}: {correct} of {len(labels)} ({correct / len(labels):.2%})")


def main() -> None:
    """Train, convert, write the two files beside this script, and print what was reached."""
    tf.keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    digits = load_digits()
    test = held_out(digits.target)
    images = model_input(digits.images)
    network = train(images[~test], digits.target[~test])
    model = convert(network, calibration=images[~test])
    interpreter = reference_interpreter(model)
    stored = quantize(images[test], *interpreter.get_input_details()[0]["quantization"])
    labels = digits.target[test]

    (FOLDER / "digits_int8.tflite").write_bytes(model)
    np.savez_compressed(FOLDER / "digits_test.npz", in0=stored, labels=labels.astype(np.uint8))
    print(f"parameters {network.count_params()}, model {len(model)} bytes")
    report("float", network.predict(images[test], verbose=0).argmax(axis=1), labels)
    report("int8, reference kernels", predictions(interpreter, stored), labels)


if __name__ == "__main__":
    main()
