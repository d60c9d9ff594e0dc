"""Random layers for the native kernels: all sizes, and values at the ends of what their proofs allow."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from tests.support.batches import stacked
from tests.support.edge_layers import (
    edge_convolution,
    edge_convolution_stride2,
    edge_depthwise,
    edge_fully_connected,
    edge_tiles,
)
from tests.support.fences import fenced_offsets, run, watched
from tests.support.operator_models import SAME, VALID, OperatorModel, Rng, random_zero_point
from tests.support.reference import evaluate
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.ir.graph import Op
from tinygen.ir.packing import pack
from tinygen.ir.types import Array, DType
from tinygen.kernels.base import IN_CALL, Kernel, Library, Objective, Toolbox
from tinygen.kernels.native import select, winograd
from tinygen.kernels.native.convolution import direct_convolution
from tinygen.kernels.native.winograd import Method
from tinygen.ops.conv2d import Conv2D
from tinygen.options import Kernels, Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import compile_model
from tinygen.planner.cost.code import beside_constants
from tinygen.planner.schedule.constants import const_bytes
from tinygen.targets import load

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 64, 100, 150, 299, 300)
_ACTIVATIONS = (0, 1, 1, 2, 3)  # NONE, RELU twice, RELU_N1_TO_1, RELU6
_MOST_MACS = 60_000
_FEWEST_SUM_ELEMENTS = 512


@dataclass(frozen=True)
class Outcome:
    """How many layers of a program ran natively, and which differ from their references."""

    layers: int
    native: int
    functions: frozenset[str]
    differing: tuple[str, ...]
    const_bytes: int
    other_bytes: int  # of flash, planned


def convolution(model: OperatorModel) -> None:
    """CONV_2D without dilation and groups."""
    rng = model.rng
    while True:
        kernel = ((1, 1), (1, 1), (3, 3), (int(rng.integers(1, 11)), int(rng.integers(1, 6))))[rng.integers(4)]
        height, width, stride_h, stride_w = (int(n) for n in (*rng.integers(1, 14, 2), *rng.integers(1, 4, 2)))
        if rng.random() < 0.5:
            stride_h = stride_w = 1
        depth, channels = (int(n) for n in rng.choice(_SIZES, 2))
        if _convolution(model, kernel, (height, width, depth, channels), (stride_h, stride_w)):
            break


def small_filters(model: OperatorModel) -> None:
    """CONV_2D with 3x3 filters at stride 1, most of which Winograd's method can do."""
    rng = model.rng
    while True:
        height, width = (int(n) for n in rng.integers(2, 16, 2))
        depth, channels = int(rng.choice(_SIZES[3:])), int(rng.choice(_SIZES[1:]))
        if _convolution(model, (3, 3), (height, width, depth, channels), (1, 1)):
            break


def small_filters_stride2(model: OperatorModel) -> None:
    """CONV_2D with 3x3 filters at stride 2, most of which tiles can do on cores with the DSP extension."""
    rng = model.rng
    while True:
        height, width = (int(n) for n in rng.integers(2, 22, 2))
        depth, channels = int(rng.choice(_SIZES[3:])), int(rng.choice(_SIZES[1:]))
        if _convolution(model, (3, 3), (height, width, depth, channels), (2, 2)):
            break


def row_filters(model: OperatorModel) -> None:
    """CONV_2D with 3x3 filters at stride 1 and one row of outputs, mostly."""
    rng = model.rng
    while True:
        height, width = int(rng.choice((1, 1, 3))), int(rng.integers(1, 16))
        depth, channels = int(rng.choice(_SIZES[3:])), int(rng.choice(_SIZES[1:]))
        if _convolution(model, (3, 3), (height, width, depth, channels), (1, 1)):
            break


def first_layers(model: OperatorModel) -> None:
    """CONV_2D of 1 to 4 channels, whose rows often end with a block of 16 bytes and whose outputs are often few."""
    rng = model.rng
    while True:
        kernel = ((3, 3), (3, 3), (int(rng.integers(1, 6)), int(rng.integers(1, 6))))[rng.integers(3)]
        height, width = int(rng.integers(1, 10)), int(rng.choice((int(rng.integers(1, 20)), 4, 8, 16)))
        sizes = height, width, int(rng.integers(1, 5)), int(rng.integers(1, 6))
        if _convolution(model, kernel, sizes, (int(rng.integers(1, 4)), int(rng.integers(1, 3)))):
            break


def wide_rows(model: OperatorModel) -> None:
    """CONV_2D of which 4 outputs side by side lie inside of the input, at its edge or a little over it."""
    rng = model.rng
    while True:
        kernel, stride = (int(rng.integers(1, 7)), int(rng.integers(1, 5))), int(rng.integers(1, 4))
        height, width, depth = (int(n) for n in rng.integers((1, 4, 1), (7, 24, 12)))
        if _convolution(model, kernel, (height, width, depth, int(rng.integers(2, 5))), (stride, stride)):
            break


def few_pixels(model: OperatorModel) -> None:
    """CONV_2D with 1x1 filters on images of 1 to 6 pixels: blocks of 4 are not full, or overlap."""
    rng = model.rng
    while True:
        batches, height, width = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
        depth, channels = (int(n) for n in rng.choice(_SIZES, 2))
        if _convolution(model, (1, 1), (height, width, depth, channels), (1, 1), batches):
            break


def vector_steps(model: OperatorModel) -> None:
    """CONV_2D with 1x1 filters that end a step of 16 elements, or a round of 4 behind the first, or one off."""
    rng = model.rng
    while True:
        depth = int(rng.choice((16, 32, 80, 96, 144, 160))) + int(rng.integers(-1, 2))
        sizes = 1, int(rng.integers(1, 6)), depth, int(rng.integers(1, 18))
        if _convolution(model, (1, 1), sizes, (1, 1)):
            break


def _convolution(
    model: OperatorModel,
    kernel: tuple[int, int],
    sizes: tuple[int, int, int, int],
    strides: tuple[int, int],
    batches: int = 0,
) -> bool:
    """Add a CONV_2D of that height, width, depth and channels, unless there is none or it is too large; without a
    number of batches some have two."""
    rng = model.rng
    height, width, depth, channels = sizes
    padding = SAME if rng.random() < 0.5 else VALID
    rows, columns = _output(height, kernel[0], strides[0], padding), _output(width, kernel[1], strides[1], padding)
    macs = rows * columns * channels * depth * kernel[0] * kernel[1]
    if rows <= 0 or columns <= 0 or macs > _MOST_MACS:
        return False
    batches = batches or (2 if rng.random() < 0.1 else 1)
    x_scale, scales, y_scale = _scales(rng, channels, depth * kernel[0] * kernel[1], model.has_int4)
    x = model.input(batches, height, width, depth, scale=x_scale)
    operands = [x, _weights(model, (channels, *kernel, depth), 0, scales), *_bias(model, channels, x_scale, scales)]
    y = model.output(batches, rows, columns, channels, scale=y_scale, zero_point=random_zero_point(rng))
    model.writer.operator(
        "CONV_2D",
        operands,
        [y],
        padding=padding,
        stride_h=strides[0],
        stride_w=strides[1],
        dilation_h_factor=1,
        dilation_w_factor=1,
        fused_activation_function=int(rng.choice(_ACTIVATIONS)),
    )
    return True


def depthwise(model: OperatorModel) -> None:
    """DEPTHWISE_CONV_2D with 3x3, one-dimensional and other filters."""
    rng = model.rng
    while True:
        taps = [int(n) for n in rng.integers(1, 16, 2)]
        shapes = ((3, 3), (3, 3), (5, 5), (taps[0], 1), (1, taps[1]), (1 + taps[0] % 6, 1 + taps[1] % 6))
        kernel = shapes[rng.integers(len(shapes))]
        height, width, stride_h, stride_w = (int(n) for n in (*rng.integers(1, 20, 2), *rng.integers(1, 3, 2)))
        if _depthwise(model, kernel, (height, width, int(rng.choice(_SIZES))), (stride_h, stride_w)):
            break


def single_channel(model: OperatorModel) -> None:
    """DEPTHWISE_CONV_2D that makes some channels of one."""
    rng = model.rng
    while True:
        kernel = int(rng.integers(1, 11)), int(rng.integers(1, 9))
        height, width, stride_h, stride_w = (int(n) for n in (*rng.integers(1, 20, 2), *rng.integers(1, 4, 2)))
        sizes = height, width, int(rng.choice(_SIZES[1:-4]))
        if _depthwise(model, kernel, sizes, (stride_h, stride_w), inputs=1):
            break


def line_filters(model: OperatorModel) -> None:
    """DEPTHWISE_CONV_2D with one-dimensional filters at stride 1 and many positions."""
    rng = model.rng
    while True:
        taps, height, width = (int(n) for n in rng.integers((1, 1, 1), (16, 50, 50)))
        kernel = (taps, 1) if rng.random() < 0.5 else (1, taps)
        if _depthwise(model, kernel, (height, width, int(rng.choice(_SIZES[:-5]))), (1, 1)):
            break


def plane_rounds(model: OperatorModel) -> None:
    """DEPTHWISE_CONV_2D with 3x3 filters or those of one line, with 1 to 7 rounds of 8 outputs of a line or of two."""
    rng = model.rng
    while True:
        kernel = ((3, 3), (3, 3), (1, int(rng.integers(2, 14))))[rng.integers(3)]
        height, width = (int(n) for n in rng.integers(2, (7, 27)))
        if _depthwise(model, kernel, (height, width, int(rng.integers(1, 20))), (1, 1)):
            break


def dilated_filters(model: OperatorModel) -> None:
    """DEPTHWISE_CONV_2D with gaps between the elements of a filter."""
    rng = model.rng
    while True:
        kernel, dilations = ([int(n) for n in rng.integers(1, end, 2)] for end in (6, 4))
        height, width = (int(n) for n in rng.integers(1, 20, 2))
        sizes = height, width, int(rng.choice(_SIZES))
        if _depthwise(model, (kernel[0], kernel[1]), sizes, (1, 1), (dilations[0], dilations[1])):
            break


def _depthwise(
    model: OperatorModel,
    kernel: tuple[int, int],
    sizes: tuple[int, int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int] = (1, 1),
    inputs: int | None = None,
) -> bool:
    """Add a DEPTHWISE_CONV_2D of that height, width and channels, unless there is none or it is too large.

    `inputs`: channels of the input, where they are not as many.
    """
    rng = model.rng
    height, width, channels = sizes
    inputs = channels if inputs is None else inputs
    padding = SAME if rng.random() < 0.6 else VALID
    extents = [(taps - 1) * dilation + 1 for taps, dilation in zip(kernel, dilations, strict=True)]
    rows, columns = _output(height, extents[0], strides[0], padding), _output(width, extents[1], strides[1], padding)
    if rows <= 0 or columns <= 0 or rows * columns * channels * kernel[0] * kernel[1] > _MOST_MACS:
        return False
    batches = 2 if rng.random() < 0.1 else 1
    x_scale, scales, y_scale = _scales(rng, channels, kernel[0] * kernel[1], model.has_int4)
    x = model.input(batches, height, width, inputs, scale=x_scale)
    operands = [x, _weights(model, (1, *kernel, channels), 3, scales), *_bias(model, channels, x_scale, scales)]
    y = model.output(batches, rows, columns, channels, scale=y_scale, zero_point=random_zero_point(rng))
    model.writer.operator(
        "DEPTHWISE_CONV_2D",
        operands,
        [y],
        padding=padding,
        stride_h=strides[0],
        stride_w=strides[1],
        dilation_h_factor=dilations[0],
        dilation_w_factor=dilations[1],
        depth_multiplier=channels // inputs,
        fused_activation_function=int(rng.choice(_ACTIVATIONS)),
    )
    return True


def most_taps(model: OperatorModel) -> None:
    """DEPTHWISE_CONV_2D with as many elements of a filter as kernels of vectors keep addresses of: 32."""
    rng = model.rng
    while True:
        lines = int(rng.choice((2, 4, 8, 16)))
        height, width = int(rng.integers(2, 20)), int(rng.integers(2, 20))
        if _depthwise(model, (lines, 32 // lines), (height, width, int(rng.choice(_SIZES))), (1, 1)):
            break


def fully_connected(model: OperatorModel) -> None:
    """FULLY_CONNECTED of one or several rows."""
    rng = model.rng
    features, units, rows = int(rng.choice(_SIZES)), int(rng.choice(_SIZES)), int(rng.choice((1, 1, 2)))
    x_scale, scales, y_scale = _scales(rng, units, features, model.has_int4)
    x = model.input(rows, features, scale=x_scale)
    operands = [x, _weights(model, (units, features), 0, scales), *_bias(model, units, x_scale, scales)]
    y = model.output(rows, units, scale=y_scale, zero_point=random_zero_point(rng))
    model.writer.operator(
        "FULLY_CONNECTED",
        operands,
        [y],
        version=12 if len(scales) > 1 else None,
        keep_num_dims=False,
        fused_activation_function=int(rng.choice(_ACTIVATIONS)),
    )


def addition(model: OperatorModel) -> None:
    """ADD of tensors of the same shape."""
    rng = model.rng
    size = int(rng.integers(_FEWEST_SUM_ELEMENTS, 2 * _FEWEST_SUM_ELEMENTS))
    scales = [float(np.float32(np.exp(rng.uniform(np.log(0.01), np.log(1.0))))) for _ in range(3)]
    if rng.random() < 0.3:
        scales = [1.0, float(rng.choice((1.0, 0.5, 2.0))), float(rng.choice((1.0, 2.0, 4.0)))]
    x, y = (model.input(1, size, scale=scale) for scale in scales[:2])
    out = model.output(1, size, scale=scales[2])
    model.writer.operator("ADD", [x, y], [out], fused_activation_function=int(rng.choice(_ACTIVATIONS)))


def multiplication(model: OperatorModel) -> None:
    """MUL of tensors of the same shape."""
    rng = model.rng
    size = int(rng.integers(1, 300))
    scales = [float(np.float32(np.exp(rng.uniform(np.log(0.01), np.log(1.0))))) for _ in range(2)]
    ratio = float(np.exp(rng.uniform(np.log(1e-5), np.log(2.0))))
    if rng.random() < 0.4:  # where halves abound; from no bits that are dropped to all
        scales, ratio = [1.0, 0.5], 2.0 ** -int(rng.integers(1, 20))
    x, y = (model.input(1, size, scale=scale, zero_point=random_zero_point(rng)) for scale in scales)
    scale = float(np.float32(scales[0] * scales[1] / ratio))
    out = model.output(1, size, scale=scale, zero_point=random_zero_point(rng))
    model.writer.operator("MUL", [x, y], [out], fused_activation_function=int(rng.choice(_ACTIVATIONS)))


def pooling(model: OperatorModel) -> None:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    rng = model.rng
    while True:
        height, width, kernel_h, kernel_w = (int(n) for n in rng.integers(1, 14, 4))
        stride_h, stride_w = (int(n) for n in rng.integers(1, 4, 2))
        channels = int(rng.choice(_SIZES))
        padding = SAME if rng.random() < 0.5 else VALID
        rows, columns = _output(height, kernel_h, stride_h, padding), _output(width, kernel_w, stride_w, padding)
        is_inside = kernel_h <= height and kernel_w <= width
        if is_inside and rows * columns * channels * kernel_h * kernel_w <= _MOST_MACS:
            break
    scale, zero_point = 0.05, random_zero_point(rng)
    x = model.input(1, height, width, channels, scale=scale, zero_point=zero_point)
    y = model.output(1, rows, columns, channels, scale=scale, zero_point=zero_point)
    model.writer.operator(
        str(rng.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D"))),
        [x],
        [y],
        padding=padding,
        stride_h=stride_h,
        stride_w=stride_w,
        filter_height=kernel_h,
        filter_width=kernel_w,
        fused_activation_function=int(rng.choice(_ACTIVATIONS)),
    )


FAMILIES: dict[str, Callable[[OperatorModel], None]] = {
    "addition": addition,
    "convolution": convolution,
    "depthwise": depthwise,
    "dilated_filters": dilated_filters,
    "edge_convolution": edge_convolution,
    "edge_convolution_stride2": edge_convolution_stride2,
    "edge_depthwise": edge_depthwise,
    "edge_fully_connected": edge_fully_connected,
    "edge_tiles": edge_tiles,
    "few_pixels": few_pixels,
    "first_layers": first_layers,
    "fully_connected": fully_connected,
    "line_filters": line_filters,
    "most_taps": most_taps,
    "multiplication": multiplication,
    "plane_rounds": plane_rounds,
    "pooling": pooling,
    "row_filters": row_filters,
    "single_channel": single_channel,
    "small_filters": small_filters,
    "small_filters_stride2": small_filters_stride2,
    "vector_steps": vector_steps,
    "wide_rows": wide_rows,
}


def check(
    family: str,
    count: int,
    seed: int,
    target: str,
    folder: Path,
    sanitizers: bool = False,
    flash_bytes: int | None = None,
    method: Method | None = None,
    has_int4: bool = False,
) -> Outcome:
    """Run `count` random layers side by side in one program, against their numpy references.

    With a method of Winograd's, all run it that can. With `has_int4` weights have four bits.
    """
    model = OperatorModel(np.random.default_rng([seed, *family.encode()]), has_int4=has_int4)
    for _ in range(count):
        FAMILIES[family](model)
    source = folder / "layers.tflite"
    source.write_bytes(model.finish())
    options = Options(
        target=target,
        objective=Objective.TIME,
        kernels=Kernels.NATIVE,
        may_split=False,
        flash_bytes=flash_bytes or load(target).flash_bytes,  # all larger weights, whatever they are worth
        cmsis_nn=WITHOUT_CMSIS_NN if has_int4 else None,  # of whose functions for these none is portable
    )
    with stacked(fenced_offsets), _only(method) if method else nullcontext():
        compiled = compile_model(source, options)
    checks = [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if sanitizers else []
    if sanitizers:  # CMSIS-NN itself shifts negative numbers to the left
        files = watched(compiled.files, compiled.name, compiled.schedule)
        compiled = replace(compiled, library=Library.PORTABLE, files=files)
    unlimited = replace(compiled, options=replace(options, flash_bytes=None))  # the harness has a port for each layer
    image = unlimited.build(folder, Measure.INSTRUCTIONS, checks)
    (outputs,) = run(image, compiled.schedule, [model.values])
    expected = evaluate(compiled.imported, model.values)
    ops = compiled.imported.ops
    differing = [
        f"{op.source}: {[tensor.shape for tensor in op.operands]} -> {op.results[0].shape}"
        for op, output, right in zip(ops, outputs, expected, strict=True)
        if not np.array_equal(output, right)
    ]
    functions = [call.kernel.function for call in compiled.schedule.calls]
    native = [function for function in functions if function.startswith("tg_native")]
    constants, others = const_bytes(compiled.schedule), beside_constants(compiled.schedule, compiled.toolbox)
    return Outcome(count, len(native), frozenset(native), tuple(differing), constants, others)


@contextmanager
def _only(method: Method) -> Iterator[None]:
    def choose(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
        assert isinstance(op, Conv2D)
        direct = direct_convolution(op, toolbox.isa)
        growth = IN_CALL if method.is_in_call else toolbox.tallest_tile
        return () if direct is None else winograd.tiled(op, direct, growth, toolbox.isa) or (direct,)

    with patch.object(winograd, "METHODS", (method,)), patch.dict(select.LOWERINGS, {Conv2D: choose}):
        yield


def _output(size: int, kernel: int, stride: int, padding: int) -> int:
    return -(-size // stride) if padding == SAME else (size - kernel) // stride + 1


def _weights(model: OperatorModel, shape: tuple[int, ...], axis: int, scales: list[float]) -> int:
    """Any weights, those of extreme values and of all zeros more often."""
    rng = model.rng
    low, high = (-8, 7) if model.has_int4 else (-127, 127)
    data: Array = rng.integers(low, high + 1, shape)
    kind = rng.integers(6)
    if kind == 0:
        data = np.full(shape, high)
    elif kind == 1:
        data = np.full(shape, low)
    elif kind == 2:
        data = rng.choice((low, high), shape)
    elif kind == 3:
        data = rng.integers(-3, 4, shape)
    dead = rng.random(shape[axis]) < 0.1
    where = [1] * len(shape)
    where[axis] = shape[axis]
    data = np.where(dead.reshape(where), 0, data)
    if model.has_int4:
        packed = pack(data, DType.INT4).tobytes()
        return model.constant(shape, "int4", packed, scale=scales, axis=axis)
    return model.constant(shape, "int8", data, scale=scales, axis=axis)


def _bias(model: OperatorModel, channels: int, x_scale: float, scales: list[float]) -> list[int]:
    rng = model.rng
    if rng.random() < 0.2:
        return []
    largest = int(rng.choice((10, 5000, 100_000, (1 << 29))))
    data = rng.integers(-largest, largest, channels)
    return [model.constant((channels,), "int32", data, scale=(np.array(scales) * x_scale).tolist())]


def _scales(rng: Rng, channels: int, taps: int, has_int4: bool = False) -> tuple[float, list[float], float]:
    """Scales of input, weights and output: powers of two, where every multiplier is 2**30 and halves abound, or any.

    The outputs mostly spread over int8; some factors are at or above 1, or so small that all outputs are equal.
    """
    weight = 4.6 if has_int4 else 74  # in the root of the mean square
    shift = int(np.log2(74 * weight * np.sqrt(taps) / 60)) + 1
    if rng.random() < 0.4:
        exponents = shift + rng.integers(-2, 3, channels)
        exponents = np.where(rng.random(channels) < 0.05, rng.integers(0, 32, channels), exponents)
        factors = 2.0**-exponents
    else:
        factors = 2.0**-shift * np.exp(rng.uniform(-1, 1, channels))
    nearest = float(np.float32(1) - np.finfo(np.float32).epsneg)
    factors = factors * float(rng.choice((1.0, 1.0, nearest)))  # multipliers just below 2**31
    y_scale = float(rng.choice((1.0, 0.5)))
    return 1.0, (factors * y_scale).astype(np.float32).tolist(), y_scale
