"""Random float32 layers whose weights are narrow codes, side by side in one graph."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.graph import Graph, Op, Port, Source, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.clamp import UNLIMITED, Clamp, with_clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.weighted import Weighted
from tinygen.ops.window import HW, Padding
from tinygen.quant.coded_weights import coded_weights

WEIGHTS = tuple(form for form in Format if form not in (Format.FP8_E8M0FNU, Format.FP16, Format.FP32))
_MOST_MACS = 100_000  # of a large layer: without a float unit each takes some 100 instructions
_LARGE_WINDOWS = ((1, 1), (1, 1), (3, 3), (10, 4))
_Make = Callable[[np.random.Generator, Format, int, int], Op]
SCALES = (Format.FP32, Format.FP16, Format.FP8_E8M0FNU)


def random_coding(rng: np.random.Generator, form: Format, shape: tuple[int, ...], blocks: tuple[int, ...]) -> Coding:
    """Codes that use all bits, with scales of any format and for integers perhaps zero points."""
    bits = rng.integers(0, 256, shape, np.uint8) & np.uint8((1 << form.bits) - 1)
    if form.is_integer:
        low = int(form.min)
        codes: Array = (bits.astype(np.int16) + low).astype(form.numpy)
    else:
        codes = bits.view(form.numpy)
        codes = np.where(np.isfinite(codes.astype(np.float32)), codes, np.zeros((), form.numpy))
    scale_format = SCALES[int(rng.integers(3))]
    numbers = (
        rng.uniform(0.01, 0.2, blocks)
        if scale_format is not Format.FP8_E8M0FNU
        else np.exp2(rng.integers(-9, -2, blocks))
    )
    zero_points = None
    if form.is_integer and rng.random() < 0.5:
        zero_points = rng.integers(int(form.min), int(form.max) + 1, blocks).astype(form.numpy)
    coding = Coding(codes, numbers.astype(scale_format.numpy), zero_points)
    coding.verify()
    return coding


def coded_graph(seed: int, each: int = 4) -> Graph:
    """For each format of weights so many layers of every kind."""
    return _side_by_side(seed, each, (_convolution, _depthwise, _fully_connected))


def large_graph(seed: int, each: int) -> Graph:
    """For each format of weights so many convolutions as large as those of networks."""
    return _side_by_side(seed, each, (_large_convolution,))


def _side_by_side(seed: int, each: int, kinds: Sequence[_Make]) -> Graph:
    rng = np.random.default_rng(seed)
    ops: list[Op] = []
    for form in WEIGHTS:
        for number in range(each):
            for make in kinds:
                op = make(rng, form, len(ops), number)
                op.verify()
                ops.append(op)
    return _graph(ops)


def _graph(ops: Sequence[Op]) -> Graph:
    inputs = [Port(op.operands[0].name, op.operands[0], op.operands[0].type) for op in ops]
    return Graph("coded", tuple(inputs), tuple(Port(r.name, r, r.type) for op in ops for r in op.results), tuple(ops))


def samples(graph: Graph, seed: int) -> list[Array]:
    """Inputs of a graph."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=port.tensor.shape).astype(np.float32) for port in graph.inputs]


def _constants(
    rng: np.random.Generator, form: Format, index: int, shape: tuple[int, ...], blocks: tuple[int, ...], channels: int
) -> dict[str, Tensor | None]:
    coding = random_coding(rng, form, shape, blocks)
    weights = Tensor(f"w{index}", TensorType(DType.FLOAT32, shape), coding.decoded, coding=coding)
    data = rng.normal(size=channels).astype(np.float32)
    bias = Tensor(f"b{index}", TensorType(DType.FLOAT32, (channels,)), data) if rng.random() < 0.7 else None
    return {"weights": weights, "bias": bias}


def _place(index: int) -> dict[str, Any]:
    return {"name": f"op{index}", "source": Source("net", index, f"OP 'op{index}'")}


def _real(name: str, *shape: int) -> Tensor:
    return Tensor(name, TensorType(DType.FLOAT32, shape))


def _clamp(rng: np.random.Generator) -> Clamp:
    return Clamp(0.0, 6.0) if rng.random() < 0.3 else UNLIMITED


def _convolution(rng: np.random.Generator, form: Format, index: int, number: int) -> Op:
    height, width, groups = (int(rng.integers(low, high)) for low, high in ((1, 4), (1, 4), (1, 3)))
    block, count, filters = (int(rng.integers(low, high)) for low, high in ((1, 8), (1, 4), (1, 4)))
    depth, channels = block * count, filters * groups
    blocks = ((1, channels)[number % 2], 1, 1, count)
    return Conv2D(
        **_place(index),
        **_constants(rng, form, index, (channels, height, width, depth), blocks, channels),  # type: ignore[arg-type]
        input=_real(f"x{index}", 1, 5, 6, depth * groups),
        output=_real(f"y{index}", 1, (5 + 1 - height) // 2 + 1, 6 + 1 - width + 1, channels),
        stride=HW(2, 1),
        dilation=HW(1, 1),
        padding=Padding(1, 0, 0, 1),
        clamp=_clamp(rng),
    )


def _large_convolution(rng: np.random.Generator, form: Format, index: int, number: int) -> Op:
    """Of single pixels, or of windows where it is small: also the first layers of networks, of few channels."""
    while True:
        height, width = (int(rng.integers(2, 13)) for _ in range(2))
        block, channels = int(rng.choice((1, 8, 16, 32))), int(rng.choice((8, 12, 16, 24, 32, 64)))
        rows, columns = _LARGE_WINDOWS[int(rng.integers(len(_LARGE_WINDOWS)))]
        count = int(rng.integers(1, 5))
        if height * width * channels * rows * columns * block * count <= _MOST_MACS:
            break
    depth = block * count
    blocks = (channels, 1, 1, (count, 1)[number % 2])
    top, left = (rows - 1) // 2, (columns - 1) // 2
    return Conv2D(
        **_place(index),
        **_constants(rng, form, index, (channels, rows, columns, depth), blocks, channels),  # type: ignore[arg-type]
        input=_real(f"x{index}", 1, height, width, depth),
        output=_real(f"y{index}", 1, height, width, channels),
        stride=HW(1, 1),
        dilation=HW(1, 1),
        padding=Padding(top, rows - 1 - top, left, columns - 1 - left),
        clamp=_clamp(rng),
    )


def _depthwise(rng: np.random.Generator, form: Format, index: int, number: int) -> Op:
    channels, multiplier = int(rng.integers(2, 9)), 1 + number % 2
    results = channels * multiplier
    return DepthwiseConv2D(
        **_place(index),
        **_constants(rng, form, index, (1, 3, 3, results), (1, 1, 1, (results, 1)[number // 2 % 2]), results),  # type: ignore[arg-type]
        input=_real(f"x{index}", 1, 4, 5, channels),
        output=_real(f"y{index}", 1, 4, 5, results),
        stride=HW(1, 1),
        dilation=HW(1, 1),
        padding=Padding(1, 1, 1, 1),
        clamp=_clamp(rng),
    )


def _fully_connected(rng: np.random.Generator, form: Format, index: int, number: int) -> Op:
    block, count, units = (int(rng.integers(low, high)) for low, high in ((1, 12), (1, 5), (1, 9)))
    rows = 1 + number % 2
    return FullyConnected(
        **_place(index),
        **_constants(rng, form, index, (units, block * count), ((units, 1)[number // 2 % 2], count), units),  # type: ignore[arg-type]
        input=_real(f"x{index}", rows, block * count),
        output=_real(f"y{index}", rows, units),
        clamp=_clamp(rng),
    )


def integer_graph(seed: int, each: int = 4) -> Graph:
    """The layers of `coded_graph` that have a form in integers, with int8 activations."""
    return in_integers(coded_graph(seed, each), seed)


def in_integers(real: Graph, seed: int) -> Graph:
    """The layers of a graph that have a form in integers, with int8 activations."""
    rng = np.random.default_rng(seed)
    values = dict(zip(real.input_tensors, samples(real, seed), strict=True))
    ops = []
    for op in real.ops:
        coded = coded_weights(op)
        if coded is None:
            continue
        largest = float(np.abs(op.evaluate(Values(values.__getitem__))[0].astype(np.float64)).max())
        input = _int8(op.operands[0], 0.03, int(rng.integers(-128, 128)))
        output = _int8(op.results[0], max(largest, 0.1) / 100, int(rng.integers(-40, 40)))
        tensors = {op.operands[0]: input, op.results[0]: output, op.operands[1]: coded.tensor(op.operands[1].name)}
        assert op.filters is not None
        if (bias := op.filters.bias) is not None and bias.data is not None:
            dtype = DType.INT64 if coded.dtype is DType.INT32 else DType.INT32
            stored = np.rint(bias.data.astype(np.float64) / (0.03 * coded.scales)).astype(dtype.numpy)
            tensors[bias] = Tensor(bias.name, TensorType(dtype, bias.shape), stored)
        quantized = with_clamp(op.replace_tensors(tensors), Clamp(-128, 127) if rng.random() < 0.7 else Clamp(-20, 90))
        quantized.verify()
        ops.append(quantized)
    return _graph(ops)


def narrowed(op: Op, dtype: DType) -> Op:
    """The operator itself; a layer on int8 with the highest bits of its weights."""
    if not isinstance(op, Weighted) or op.weights.data is None:
        return op
    data = np.right_shift(op.weights.data, DType.INT8.bits - dtype.bits)
    return replace(op, weights=replace(op.weights, type=replace(op.weights.type, dtype=dtype), data=data))


def stored_samples(graph: Graph, seed: int) -> list[Array]:
    """Inputs of a graph on int8, of which one has the smallest value everywhere."""
    rng = np.random.default_rng(seed)
    values: list[Array] = [rng.integers(-128, 128, port.tensor.shape, np.int8) for port in graph.inputs]
    values[0] = np.full_like(values[0], -128)
    return values


def _int8(tensor: Tensor, scale: float, zero_point: int) -> Tensor:
    return Tensor(tensor.name, TensorType(DType.INT8, tensor.shape, Quant((scale,), (zero_point,))))
