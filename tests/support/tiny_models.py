"""Models that are small enough to read the C made of them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tflite

from tests.support.tflite_writer import ModelWriter

_SCALE = 0.0625


def classifier(names: Sequence[str] = ("image", "stem", "logits", "probabilities")) -> bytes:
    """Convolution, fully connected layer, softmax; its values are called `names`."""
    writer = ModelWriter()
    image = writer.tensor(names[0], (1, 4, 4, 1), scale=_SCALE, zero_point=-8)
    stem = writer.tensor(names[1], (1, 2, 2, 2), scale=_SCALE, zero_point=-128)
    logits = writer.tensor(names[2], (1, 3), scale=0.125, zero_point=3)
    probabilities = writer.tensor(names[3], (1, 3), scale=1 / 256, zero_point=-128)
    filters = _weights(writer, "stem_filters", (2, 3, 3, 1), [0.01, 0.02])
    writer.operator(
        "CONV_2D",
        [image, filters, _bias(writer, "stem_bias", [0.01 * _SCALE, 0.02 * _SCALE])],
        [stem],
        stride_h=2,
        stride_w=2,
        padding=tflite.Padding.SAME,
        fused_activation_function=tflite.ActivationFunctionType.RELU,
    )
    weights = _weights(writer, "weights", (3, 8), [0.03])
    writer.operator("FULLY_CONNECTED", [stem, weights, _bias(writer, "bias", [0.03 * _SCALE], 3)], [logits])
    writer.operator("SOFTMAX", [logits], [probabilities], beta=1.0)
    return writer.finish([image], [probabilities])


def tower() -> bytes:
    """Two convolutions on a high image and a mean over it: worth running row by row."""
    writer = ModelWriter()
    image = writer.tensor("image", (1, 16, 4, 1), scale=_SCALE, zero_point=-8)
    first = writer.tensor("first", (1, 16, 4, 4), scale=_SCALE, zero_point=-128)
    second = writer.tensor("second", (1, 16, 4, 4), scale=_SCALE, zero_point=-128)
    mean = writer.tensor("mean", (1, 1, 1, 4), scale=_SCALE, zero_point=-128)
    previous = image
    for name, output in (("first", first), ("second", second)):
        filters = _weights(writer, f"{name}_filters", (4, 3, 3, writer.shape(previous)[3]), [0.01])
        bias = _bias(writer, f"{name}_bias", [0.01 * _SCALE], 4)
        writer.operator(
            "CONV_2D", [previous, filters, bias], [output], stride_h=1, stride_w=1, padding=tflite.Padding.SAME
        )
        previous = output
    writer.operator(
        "AVERAGE_POOL_2D",
        [second],
        [mean],
        stride_h=1,
        stride_w=1,
        filter_height=16,
        filter_width=4,
        padding=tflite.Padding.VALID,
    )
    return writer.finish([image], [mean])


def hourglass() -> bytes:
    """A 1x1 convolution to many channels, their averages, and a layer on these: worth running in slices of channels."""
    writer = ModelWriter()
    image = writer.tensor("image", (1, 3, 3, 4), scale=_SCALE, zero_point=-8)
    wide = writer.tensor("wide", (1, 3, 3, 64), scale=_SCALE, zero_point=-128)
    mean = writer.tensor("mean", (1, 1, 1, 64), scale=_SCALE, zero_point=-128)
    logits = writer.tensor("logits", (1, 3), scale=0.125, zero_point=3)
    filters, scales = _weights(writer, "wide_filters", (64, 1, 1, 4), [0.01]), [0.01 * _SCALE]
    writer.operator(
        "CONV_2D",
        [image, filters, _bias(writer, "wide_bias", scales, 64)],
        [wide],
        stride_h=1,
        stride_w=1,
        padding=tflite.Padding.SAME,
    )
    writer.operator(
        "AVERAGE_POOL_2D",
        [wide],
        [mean],
        stride_h=1,
        stride_w=1,
        filter_height=3,
        filter_width=3,
        padding=tflite.Padding.VALID,
    )
    weights = _weights(writer, "weights", (3, 64), [0.03])
    writer.operator("FULLY_CONNECTED", [mean, weights, _bias(writer, "bias", [0.03 * _SCALE], 3)], [logits])
    return writer.finish([image], [logits])


def lookup_then_gather() -> bytes:
    """ABS, then GATHER with indices that are known only at run time."""
    writer = ModelWriter()
    values = writer.tensor("values", (4,), scale=_SCALE)
    indices = writer.tensor("indices", (2,), "int32")
    positive = writer.tensor("positive", (4,), scale=_SCALE)
    chosen = writer.tensor("chosen", (2,), scale=_SCALE)
    writer.operator("ABS", [values], [positive])
    writer.operator("GATHER", [positive, indices], [chosen], axis=0)
    return writer.finish([values, indices], [chosen])


def fused_then_gather() -> bytes:
    """RESHAPE, where nothing is to be done; ABS and TANH, which are one table; GATHER with indices of run time."""
    writer = ModelWriter()
    values = writer.tensor("values", (1, 4), scale=_SCALE)
    flat = writer.tensor("flat", (4,), scale=_SCALE)
    shape = writer.tensor("shape", (1,), "int32", data=np.asarray((4,)))
    indices = writer.tensor("indices", (2,), "int32")
    positive = writer.tensor("positive", (4,), scale=_SCALE)
    bent = writer.tensor("bent", (4,), scale=1 / 128)
    chosen = writer.tensor("chosen", (2,), scale=1 / 128)
    writer.operator("RESHAPE", [values, shape], [flat], new_shape=(4,))
    writer.operator("ABS", [flat], [positive])
    writer.operator("TANH", [positive], [bent])
    writer.operator("GATHER", [bent, indices], [chosen], axis=0)
    return writer.finish([values, indices], [chosen])


def view() -> bytes:
    """RESHAPE, twice: the output lies where the input is, and nothing is called."""
    writer = ModelWriter()
    image = writer.tensor("image", (1, 4, 4, 1), scale=_SCALE, zero_point=-8)
    flat = writer.tensor("flat", (1, 16), scale=_SCALE, zero_point=-8)
    rows = writer.tensor("rows", (2, 8), scale=_SCALE, zero_point=-8)
    for input, output, shape in ((image, flat, (1, 16)), (flat, rows, (2, 8))):
        named = writer.tensor(f"shape of {shape}", (2,), "int32", data=np.asarray(shape))
        writer.operator("RESHAPE", [input, named], [output], new_shape=shape)
    return writer.finish([image], [rows])


def _weights(writer: ModelWriter, name: str, shape: Sequence[int], scales: Sequence[float]) -> int:
    values: npt.NDArray[np.int64] = (np.arange(np.prod(shape)) * 37 % 255 - 127).reshape(shape)
    return writer.tensor(name, shape, scale=scales, data=values)


def _bias(writer: ModelWriter, name: str, scales: Sequence[float], channels: int = 2) -> int:
    return writer.tensor(name, (channels,), "int32", scale=scales, data=np.arange(channels) * 100 - 50)
