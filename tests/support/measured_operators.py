"""Operators to measure kernels on that are no layers of images: TFLite's spelling of each, in random sizes.

All of a family stand side by side in one model, which is read as any other; so an operator that readers know needs a
line here, whichever kernel it has. Beside them stand what TFLite has no operator for, and operators that keep states.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from random import Random
from typing import Any

import numpy as np
import tflite

from tests.support import coded_layers, dynamic_layers, listed_layers
from tests.support.recurrent_models import Layer, lstm_model, real_model, svdf_model
from tests.support.recurrent_onnx import sequence_model
from tests.support.signal_models import SignalModel, add_features
from tests.support.tflite_writer import ModelWriter
from tinygen.audio.front_end import Site
from tinygen.audio.log_mel import LogMelFrontEnd
from tinygen.audio.micro import MicroFrontEnd
from tinygen.calib.calibrator import Calibrator
from tinygen.calib.model import load_float
from tinygen.frontends import import_model
from tinygen.ir.graph import Op, Source
from tinygen.ir.signs import words_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.kernels.cmsis_nn.softmax import LONG_ROW
from tinygen.ops.clamp import Clamp
from tinygen.ops.comparison import Compare
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.interpolate import InterpolateStored, Neighbours
from tinygen.ops.interpolated import ENTRIES, Interpolated
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.real_function import RealFunction, RealKind
from tinygen.ops.recurrent import Recurrent
from tinygen.ops.requantize import Multiplier
from tinygen.ops.rescale import Rescale
from tinygen.ops.running_sum import DivideSums, ScaleSums, SumRows
from tinygen.ops.standardize import Standardize
from tinygen.ops.window import NO_PADDING, UNIT
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.widths import Widths
from tinygen.system.work import work_folder

Shape = tuple[int, ...]
_EACH = 8  # of an operator and a type
_OF_PAIRS = 12  # of two operands, which have a kernel for equal shapes and one for others
_PAIRS = "two operands"
_QUANTS: Mapping[str, dict[str, Any]] = {
    "int8": {"scale": 0.05, "zero_point": -3},
    "uint8": {"scale": 0.05, "zero_point": 125},
    "int16": {"scale": 0.001},
}
_CODES = {
    name: getattr(tflite.TensorType, name.upper()) for name in ("int8", "int16", "int32", "int64", "float32", "bool")
}
_NOWHERE = Source("calibration", 0, "")
_LSTMS = ((5, 9), (8, 8), (13, 30), (16, 16), (20, 28), (32, 40), (48, 17), (64, 64), (96, 40), (128, 64))
_CHANNELS = (1, 3, 4, 8, 16, 24, 32)


@dataclass
class Family:
    """A model of operators side by side, in the making."""

    random: Random
    writer: ModelWriter = field(default_factory=ModelWriter)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    count: int = 0

    def input(self, shape: Shape, type: str, **quantization: Any) -> int:
        """An input; with the usual quantization of its type where none is given."""
        self.inputs.append(self._tensor("x", shape, type, **(quantization or _QUANTS.get(type, {}))))
        return self.inputs[-1]

    def constant(self, values: Array, **quantization: Any) -> int:
        """A constant."""
        return self._tensor("c", values.shape, str(values.dtype), data=values, **quantization)

    def integers(self, *values: int) -> int:
        """A constant vector of int32."""
        return self.constant(np.array(values, np.int32))

    def add(self, name: str, operands: Sequence[int], *results: tuple[Shape, str], **options: Any) -> None:
        """An operator, whose results are outputs; their quantization is that of their type or of option `quant`."""
        quant = options.pop("quant", None)
        found = [self._tensor("y", shape, type, **(quant or _QUANTS.get(type, {}))) for shape, type in results]
        self.writer.operator(name, operands, found, **options)
        self.outputs += found

    def image(self, most: int = 12) -> Shape:
        """The shape of an image."""
        height, width = (self.random.randrange(1, most) for _ in range(2))
        return (1, height, width, self.random.choice(_CHANNELS))

    @property
    def ops(self) -> tuple[Op, ...]:
        """As the reader has them."""
        return imported(self.writer.finish(self.inputs, self.outputs))

    def _tensor(self, letter: str, shape: Shape, type: str, **more: Any) -> int:
        self.count += 1
        return self.writer.tensor(f"{letter}{self.count}", shape, type, **more)


Draw = Callable[[Family], None]


def imported(model: bytes) -> tuple[Op, ...]:
    """The operators of a TFLite file."""
    with work_folder() as folder:
        file = folder / "calibration.tflite"
        file.write_bytes(model)
        return import_model(file).ops


def _unary(name: str, type: str, model: Family, **options: Any) -> None:
    shape = model.image()
    quant = {"scale": 1 / 32768} if name in ("LOGISTIC", "TANH") and type == "int16" else None
    model.add(name, [model.input(shape, type)], (shape, type), quant=quant, **options)


def _second(model: Family, shape: Shape) -> Shape:
    """What a shape meets: in turn the same and one value for each channel, or a single one."""
    return (shape, (1, 1, 1, shape[3]), shape, (1, 1, 1, 1))[len(model.outputs) % 4]


def _binary(name: str, type: str, result: str, model: Family) -> None:
    shape = model.image()
    second = (1, 1, shape[3]) if name == "PRELU" else _second(model, shape)
    values = np.full(second, 3, type) if name == "PRELU" else None
    other = model.input(second, type) if values is None else model.constant(values, **_QUANTS.get(type, {}))
    model.add(name, [model.input(shape, type), other], (shape, result))


def _reduction(name: str, type: str, model: Family) -> None:
    shape, axes = model.image(), model.random.choice(((1, 2), (3,), (1,), (1, 2, 3)))
    kept = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    model.add(name, [model.input(shape, type), model.integers(*axes)], (kept, type), keep_dims=False)


def _arg_max(type: str, result: str, model: Family) -> None:
    shape, axis = model.image(), model.random.choice((1, 3))
    kept = shape[:axis] + shape[axis + 1 :]
    code = _CODES[result]
    model.add("ARG_MAX", [model.input(shape, type), model.integers(axis)], (kept, result), output_type=code)


def _top_k(type: str, model: Family) -> None:
    shape = (*model.image()[:3], model.random.randrange(4, 100))
    count = model.random.randrange(1, 1 + min(16, shape[3]))
    result = (*shape[:3], count)
    operands = [model.input(shape, type), model.constant(np.array(count, np.int32))]
    model.add("TOPK_V2", operands, (result, type), (result, "int32"))


def _transpose(type: str, model: Family) -> None:
    shape, order = model.image(), model.random.choice(((0, 2, 1, 3), (0, 3, 1, 2), (0, 2, 3, 1), (0, 3, 2, 1)))
    model.add("TRANSPOSE", [model.input(shape, type), model.integers(*order)], (tuple(shape[n] for n in order), type))


def _pad(name: str, type: str, model: Family) -> None:
    shape = tuple(size + 2 for size in model.image())
    widths = [(0, 0), *((model.random.randrange(3), model.random.randrange(3)) for _ in range(2)), (0, 0)]
    result = tuple(size + before + after for size, (before, after) in zip(shape, widths, strict=True))
    options = {"mode": tflite.MirrorPadMode.REFLECT} if name == "MIRROR_PAD" else {}
    operands = [model.input(shape, type), model.constant(np.array(widths, np.int32))]
    model.add(name, operands, (result, type), **options)


def _concatenation(type: str, model: Family) -> None:
    shape, axis = list(model.image()), model.random.choice((1, 2, 3))
    sizes = [model.random.randrange(1, 9) for _ in range(2)]
    parts = [model.input((*shape[:axis], size, *shape[axis + 1 :]), type) for size in sizes]
    model.add("CONCATENATION", parts, ((*shape[:axis], sum(sizes), *shape[axis + 1 :]), type), axis=axis)


def _slice(type: str, model: Family) -> None:
    shape = tuple(size + 1 for size in model.image())
    begin = (0, *(model.random.randrange(size) for size in shape[1:]))
    sizes = tuple(size - at for size, at in zip(shape, begin, strict=True))
    model.add("SLICE", [model.input(shape, type), model.integers(*begin), model.integers(*sizes)], (sizes, type))


def _gather(type: str, model: Family) -> None:
    shape, axis, count = model.image(), model.random.choice((1, 3)), model.random.randrange(1, 12)
    indices = model.integers(*(model.random.randrange(shape[axis]) for _ in range(count)))
    result = (*shape[:axis], count, *shape[axis + 1 :])
    model.add("GATHER", [model.input(shape, type), indices], (result, type), axis=axis)


def _blocks(name: str, type: str, model: Family) -> None:
    _, height, width, channels = model.image(8)
    small, large = (1, height, width, 4 * channels), (1, 2 * height, 2 * width, channels)
    first, second = (small, large) if name == "DEPTH_TO_SPACE" else (large, small)
    model.add(name, [model.input(first, type)], (second, type), block_size=2)


def _broadcast_to(type: str, model: Family) -> None:
    shape = model.image()
    first = (*shape[:2], 1, shape[3])
    model.add("BROADCAST_TO", [model.input(first, type), model.integers(*shape)], (shape, type))


def _select(type: str, model: Family) -> None:
    shape = model.image()
    operands = [model.input(_second(model, shape), "bool"), model.input(shape, type), model.input(shape, type)]
    model.add("SELECT_V2", operands, (shape, type))


def _update_slice(type: str, model: Family) -> None:
    shape = model.image()
    part = (1, *(model.random.randrange(1, size + 1) for size in shape[1:]))
    operands = [model.input(shape, type), model.input(part, type), model.input((4,), "int32")]
    model.add("DYNAMIC_UPDATE_SLICE", operands, (shape, type))


def _resize(name: str, type: str, model: Family) -> None:
    shape = model.image(8)
    size = tuple(model.random.randrange(1, 12) for _ in range(2))
    model.add(name, [model.input(shape, type), model.integers(*size)], ((1, *size, shape[3]), type))


def _matmul(type: str, has_rows: bool, model: Family) -> None:
    """The second matrix has the columns of the product as rows, or as columns."""
    batches, rows, depth, columns = (model.random.choice((1, 2, 4, 7, 12, 20)) for _ in range(4))
    sides = (columns, depth) if has_rows else (depth, columns)
    first, second = model.input((batches, rows, depth), type), model.input((batches, *sides), type)
    quant = {"int8": {"scale": 0.5}, "int16": {"scale": 0.05}}.get(type)
    options: dict[str, Any] = {"version": 3} if type == "int16" else {}
    model.add("BATCH_MATMUL", [first, second], ((batches, rows, columns), type), quant=quant, adj_y=has_rows, **options)


def _pool(name: str, type: str, model: Family) -> None:
    height, width = (2 * model.random.randrange(1, 6) for _ in range(2))
    channels, size = model.random.choice(_CHANNELS), model.random.choice(((2, 2), (height, width)))
    result = (1, height // size[0], width // size[1], channels)
    options = {"stride_h": size[0], "stride_w": size[1], "filter_height": size[0], "filter_width": size[1]}
    x = model.input((1, height, width, channels), type)
    model.add(name, [x], (result, type), padding=tflite.Padding.VALID, **options)


def _filters(model: Family, shape: Shape, type: str, axis: int) -> list[int]:
    """Filters and biases of a layer."""
    channels = shape[axis]
    data = np.random.default_rng(model.count).integers(-7, 8, shape)
    if type == "float32":
        return [model.constant(data.astype(np.float32)), model.constant(np.zeros(channels, np.float32))]
    if type == "uint8":
        weights = model.constant((16 * data + 128).astype(np.uint8), scale=0.01, zero_point=5)  # more than int8 holds
        return [weights, model.constant(np.zeros(channels, np.int32), scale=0.05 * 0.01)]
    count = model.random.choice((1, channels))
    weights = model.constant(data.astype(np.int8), scale=[0.01] * count, axis=axis)
    sums = np.int64 if type == "int16" else np.int32
    scale = _QUANTS[type]["scale"] * 0.01
    return [weights, model.constant(np.zeros(channels, sums), scale=[scale] * count)]


def _layer(name: str, type: str, model: Family) -> None:
    shape, channels, kernel = model.image(8), model.random.choice(_CHANNELS), model.random.choice((1, 1, 2, 3))
    options: dict[str, Any] = {"padding": tflite.Padding.SAME, "stride_h": 1, "stride_w": 1}
    result: Shape
    match name:
        case "FULLY_CONNECTED":
            x, result = model.input((1, 8 * shape[3]), type), (1, channels)
            operands, options = [x, *_filters(model, (channels, 8 * shape[3]), type, 0)], {}
        case "DEPTHWISE_CONV_2D":
            filters = _filters(model, (1, kernel, kernel, shape[3]), type, 3)
            operands, result = [model.input(shape, type), *filters], shape
            options["depth_multiplier"] = 1
        case "TRANSPOSE_CONV":
            result = (1, 2 * shape[1], 2 * shape[2], channels)
            weights, bias = _filters(model, (channels, kernel, kernel, shape[3]), type, 0)
            operands = [model.integers(*result), weights, model.input(shape, type), bias]
            options |= {"stride_h": 2, "stride_w": 2}
        case _:
            filters, stride = (
                _filters(model, (channels, kernel, kernel, shape[3]), type, 0),
                model.random.choice((1, 2)),
            )
            operands, result = (
                [model.input(shape, type), *filters],
                (1, *(-(-n // stride) for n in shape[1:3]), channels),
            )
            options |= {"stride_h": stride, "stride_w": stride}
    model.add(name, operands, (result, type), **options)


def _cast(source: str, target: str, model: Family) -> None:
    shape = model.image()
    options = {"in_data_type": _CODES[source], "out_data_type": _CODES[target]}
    x = model.input(shape, source, scale=None)
    model.writer.operator("CAST", [x], [y := model._tensor("y", shape, target)], **options)
    model.outputs.append(y)


def _cumulative_sum(type: str, model: Family) -> None:
    shape = model.image()
    axis = model.constant(np.array(model.random.choice((1, 3)), np.int32))
    model.add("CUMSUM", [model.input(shape, type), axis], (shape, type), exclusive=False, reverse=False)


def _logical_reduction(name: str, model: Family) -> None:
    _reduction(name, "bool", model)


def _rescale(source: str, target: str, model: Family) -> None:
    shape = model.image()
    quant = {"scale": 0.07, "zero_point": 3} if target == "int8" else {"scale": 0.003}
    x = model.input(shape, source, **({"scale": 0.0005} if source == "int32" else {}))
    model.add("QUANTIZE", [x], (shape, target), quant=quant)


def _real(name: str, source: str, target: str, model: Family) -> None:
    shape = model.image()
    model.add(name, [model.input(shape, source)], (shape, target))


def _softmax(type: str, most: int, model: Family) -> None:
    shape = (model.random.randrange(1, 4), model.random.randrange(most // 2, most))
    quant = {"int8": {"scale": 1 / 256, "zero_point": -128}, "int16": {"scale": 1 / 32768}}.get(type)
    model.add("SOFTMAX", [model.input(shape, type)], (shape, type), quant=quant, beta=1.0)


def _softmax_wide(model: Family) -> None:
    shape = (model.random.randrange(1, 4), model.random.randrange(2, 64))
    model.add(
        "SOFTMAX",
        [model.input(shape, "int8")],
        (shape, "int16"),
        quant={"scale": 1 / 65536, "zero_point": -32768},
        beta=1.0,
    )


def _rows(name: str, quant: dict[str, Any], model: Family) -> None:
    shape = (model.random.randrange(1, 6), model.random.randrange(2, 64))
    model.add(name, [model.input(shape, "int8")], (shape, "int8"), quant=quant)


_ARITHMETIC = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU")
_LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
_NUMBERS = ("int8", "int16", "float32")
_STORED = ("int8", "int16")
_RESCALED = (("int8", "int16"), ("int16", "int8"), ("int16", "int16"))
FAMILIES: Mapping[str, tuple[Draw, ...]] = {
    "one operand": (
        *(partial(_unary, name, "int16") for name in ("ABS", "RSQRT", "LOGISTIC", "TANH", "RELU")),
        partial(_unary, "LEAKY_RELU", "int16", alpha=0.1),
        partial(_unary, "LEAKY_RELU", "float32", alpha=0.1),
        *(partial(_unary, name, "float32") for name in ("RELU6", "RSQRT", "SQUARE", "TANH", "LOGISTIC")),
        *(partial(_rescale, *types) for types in _RESCALED),
        *(partial(_real, "QUANTIZE", "float32", type) for type in _STORED),
        *(partial(_real, "DEQUANTIZE", type, "float32") for type in _STORED),
        *(partial(_softmax, type, 64) for type in _NUMBERS),
        partial(_softmax, "int8", 2 * LONG_ROW),
        _softmax_wide,
        partial(_rows, "LOG_SOFTMAX", {"scale": 16 / 256, "zero_point": 127}),
        partial(_rows, "L2_NORMALIZATION", {"scale": 1 / 128, "zero_point": 0}),
    ),
    _PAIRS: (
        *(partial(_binary, name, type, type) for name in _ARITHMETIC for type in _NUMBERS),
        partial(_binary, "DIV", "int8", "int8"),
        *(partial(_binary, name, "float32", "float32") for name in ("DIV", "POW")),
        *(partial(_binary, name, type, type) for name in ("ADD", "MUL") for type in ("int32", "int64")),
        *(partial(_binary, "LESS", type, "bool") for type in ("int8", "int16", "int32", "int64", "float32")),
        partial(_binary, "EQUAL", "bool", "bool"),
        partial(_binary, "LOGICAL_AND", "bool", "bool"),
        partial(_binary, "ATAN2", "float32", "float32"),
    ),
    "along axes": (
        *(partial(_reduction, name, type) for name in ("SUM", "MEAN", "REDUCE_MAX") for type in _NUMBERS),
        *(partial(_logical_reduction, name) for name in ("REDUCE_ALL", "REDUCE_ANY")),
        *(partial(_arg_max, type, result) for type in ("int8", "float32") for result in ("int32", "int64")),
        *(partial(_top_k, type) for type in ("int8", "int16", "float32")),
        *(partial(_cumulative_sum, type) for type in ("int8", "int32", "int64", "float32")),
    ),
    "movement": (
        *(partial(_transpose, type) for type in ("int8", "float32")),
        *(partial(_pad, name, type) for name in ("PAD", "MIRROR_PAD") for type in ("int8", "float32")),
        *(partial(_concatenation, type) for type in ("int8", "float32")),
        *(partial(_slice, type) for type in ("int8", "float32")),
        *(partial(_gather, type) for type in ("int8", "float32")),
        *(partial(_blocks, name, "int8") for name in ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")),
        *(partial(_broadcast_to, type) for type in ("int8", "float32")),
        *(partial(_select, type) for type in ("int8", "float32")),
        *(partial(_update_slice, type) for type in ("int8", "float32")),
        *(partial(_resize, name, "int8") for name in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")),
        partial(_resize, "RESIZE_BILINEAR", "float32"),
        *(partial(_resize, name, "int16") for name in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR")),
        *(
            partial(_cast, *types)
            for types in (("int8", "int32"), ("int32", "int8"), ("int32", "float32"), ("float32", "int32"))
        ),
    ),
    "layers": (
        *(partial(_matmul, type, has_rows) for type in _NUMBERS for has_rows in (False, True)),
        *(partial(_pool, name, type) for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D") for type in ("int16", "float32")),
        partial(_pool, "AVERAGE_POOL_2D", "uint8"),
        *(partial(_layer, "TRANSPOSE_CONV", type) for type in _NUMBERS),
        *(partial(_layer, name, type) for name in ("CONV_2D", *_LAYERS, *_LAYERS) for type in _STORED),
        *(partial(_layer, name, "uint8") for name in ("CONV_2D", "FULLY_CONNECTED")),
    ),
}


def operators_of_models() -> tuple[Op, ...]:
    """All of them; the same each time."""
    families = tuple(_of_families())
    found = chain(
        families,
        _with_other_weights(families),
        _comparisons(families),
        _rescaled_sums(),
        _real_functions(),
        _standardized(),
        _interpolated(),
        _lines(),
        _coded(),
        _dynamic(),
        _signs(),
        _means_of_rows(),
        _recurrent(),
        _calibrated(),
        _signals(),
        _front_ends(),
    )
    return tuple(replace(op, name=f"op{n}", source=Source("calibration", n, "")) for n, op in enumerate(found))


def _of_families() -> Iterator[Op]:
    for name, draws in FAMILIES.items():
        model = Family(Random(0))
        for draw in draws:
            for _ in range(_OF_PAIRS if name == _PAIRS else _EACH):
                draw(model)
        yield from model.ops


def _real_functions() -> Iterator[Op]:
    """Each function of a real number."""
    random, parameters = Random(0), {RealKind.ELU: 1, RealKind.HARD_SIGMOID: 2, RealKind.POWER: 1, RealKind.SELU: 2}
    for kind in RealKind:
        for _ in range(_EACH):
            shape = (random.randrange(1, 8), random.randrange(1, 60))
            input, output = (Tensor(name, TensorType(DType.FLOAT32, shape)) for name in ("x", "y"))
            values = (0.5,) * parameters.get(kind, 0)
            yield RealFunction(name="", source=_NOWHERE, input=input, output=output, kind=kind, parameters=values)


def _with_other_weights(ops: Iterable[Op]) -> Iterator[Op]:
    """Layers of int8 with weights of 4 bits, those of int16 with weights of 16."""
    for op in ops:
        if isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected) and op.weights.type.dtype is DType.INT8:
            is_wide = op.input.type.dtype is DType.INT16
            assert op.weights.data is not None
            data = op.weights.data.astype(np.int16) if is_wide else op.weights.data
            if is_wide or np.abs(data).max() <= DType.INT4.max:
                dtype = DType.INT16 if is_wide else DType.INT4
                yield replace(op, weights=replace(op.weights, type=replace(op.weights.type, dtype=dtype), data=data))


def _comparisons(ops: Iterable[Op]) -> Iterator[Op]:
    """Those of stored numbers without a scale."""
    for op in ops:
        if isinstance(op, Compare) and op.is_scaled:
            first, second = (replace(of, type=replace(of.type, quant=None)) for of in (op.first, op.second))
            yield replace(op, first=first, second=second)


def _rescaled_sums() -> Iterator[Op]:
    """To sums of 32 bits and back."""
    random, quants = Random(0), {DType.INT8: 0.05, DType.INT16: 0.001, DType.INT32: 0.0001}
    for source, target in product(quants, quants):
        if (source is DType.INT32) != (target is DType.INT32):
            for _ in range(_EACH):
                shape = (random.randrange(1, 8), random.randrange(1, 60))
                input, output = (
                    Tensor(name, TensorType(dtype, shape, Quant((quants[dtype],), (0,))))
                    for name, dtype in (("x", source), ("y", target))
                )
                yield Rescale(name="", source=_NOWHERE, input=input, output=output)


def _standardized() -> Iterator[Op]:
    """Means taken off, over the last axis and over others."""
    random = Random(0)
    for dtype, scale in ((DType.INT8, 0.05), (DType.INT16, 0.001)):
        for inner in (1, 1, 1, 4, 16):
            shape = (random.randrange(1, 6), random.randrange(2, 64), inner)
            channels = shape[1] if inner == 1 else inner
            input, output = (Tensor(name, TensorType(dtype, shape, Quant((scale,), (0,)))) for name in ("x", "y"))
            factors, summands = (
                Tensor(name, TensorType(DType.INT32, (channels,)), np.full(channels, number, np.int32))
                for name, number in (("factors", 1 << 24), ("summands", 1 << 10))
            )
            yield Standardize(
                name="",
                source=_NOWHERE,
                input=input,
                factors=factors,
                summands=summands,
                output=output,
                axes=(1,),
                channel_step=1,
                factor_bits=20,
                epsilon=1e-5,
            )


def _interpolated() -> Iterator[Op]:
    """Functions of int16 by tables."""
    random = Random(0)
    for _ in range(_EACH):
        shape = (random.randrange(1, 8), random.randrange(1, 60))
        input, output = (Tensor(name, TensorType(DType.INT16, shape, Quant((0.001,), (0,)))) for name in ("x", "y"))
        entries = np.arange(ENTRIES, dtype=np.int16)
        table = Tensor("table", TensorType(DType.INT16, entries.shape), entries)
        yield Interpolated(name="", source=_NOWHERE, input=input, table=table, output=output)


def _lines() -> Iterator[Op]:
    """Between rows and columns that tables give."""
    random = Random(0)
    for dtype in (DType.INT8, DType.INT16):
        for _ in range(_EACH):
            sizes = [random.randrange(1, 12) for _ in range(4)]
            channels = random.choice(_CHANNELS)
            input, output = (
                Tensor(name, TensorType(dtype, (1, *size, channels), Quant((0.1,), (0,))))
                for name, size in (("x", sizes[:2]), ("y", sizes[2:]))
            )
            rows, columns = (
                Neighbours.resizing(size, output_size, align_corners=False, half_pixel_centers=True)
                for size, output_size in zip(sizes[:2], sizes[2:], strict=True)
            )
            yield InterpolateStored(name="", source=_NOWHERE, input=input, output=output, rows=rows, columns=columns)


def _coded() -> Iterator[Op]:
    """Layers whose weights are codes, behind masks or of tables too."""
    for made in (coded_layers.coded_graph, coded_layers.integer_graph):
        yield from made(0, each=2).ops
    for listed in (listed_layers.listed_graph, listed_layers.integer_graph):
        yield from listed(0).ops[::2]
    large = coded_layers.large_graph(0, each=4)
    yield from large.ops
    yield from coded_layers.in_integers(large, 0).ops
    yield from listed_layers.listed(large, 0).ops
    yield from listed_layers.listed_integers(large, 0).ops


def _dynamic() -> Iterator[Op]:
    """What stands around layers that are quantized at run time."""
    for seed in range(6):
        yield from dynamic_layers.side_by_side(seed).ops
    yield from dynamic_layers.products_side_by_side().ops


def _signs() -> Iterator[Op]:
    """Single bits of stored numbers, and layers on them."""
    random = Random(0)
    for _ in range(_EACH):
        height, width, depth, channels = (random.choice((1, 2, 5, 8, 40)) for _ in range(4))
        signs = np.where(np.random.default_rng(0).integers(0, 2, (channels, 1, 1, depth)), 1, -1).astype(np.int8)
        input = Tensor("x", TensorType(DType.SIGNS, (1, height, width, words_of(depth)), Quant((1.0,), (0,))))
        output = Tensor("y", TensorType(DType.INT8, (1, height, width, channels), Quant((0.5,), (0,))))
        weights = Tensor("w", TensorType(DType.INT1, signs.shape, Quant((0.1,), (0,))), signs)
        layer = Conv2D(
            name="",
            source=_NOWHERE,
            input=input,
            weights=weights,
            bias=None,
            output=output,
            stride=UNIT,
            dilation=UNIT,
            padding=NO_PADDING,
            clamp=Clamp.none(output.type),
        )
        yield layer.on_signs(depth)
    for dtype in (DType.INT8, DType.INT16):
        for _ in range(_EACH):
            rows, channels = random.randrange(1, 20), random.randrange(1, 130)
            input = Tensor("x", TensorType(dtype, (1, rows, 1, channels), Quant((0.05,), (0,))))
            packed = Tensor("y", TensorType(DType.SIGNS, (1, rows, 1, words_of(channels)), Quant((1.0,), (0,))))
            yield PackSigns(name="", source=_NOWHERE, input=input, output=packed)


def _means_of_rows() -> Iterator[Op]:
    """Averages of real images, and means, row by row."""
    random = Random(0)
    for _ in range(2 * _EACH):
        _, height, width, channels = 1, random.randrange(1, 5), random.randrange(1, 20), random.choice(_CHANNELS)
        image = Tensor("x", TensorType(DType.FLOAT32, (1, height, width, channels)))
        sums, result = (Tensor(name, TensorType(DType.FLOAT32, (1, 1, 1, channels))) for name in ("sums", "y"))
        yield SumRows(name="", source=_NOWHERE, input=image, before=None, output=sums)
        clamp = Clamp.none(result.type)
        yield DivideSums(name="", source=_NOWHERE, input=sums, output=result, count=64, clamp=clamp)
        stored = Tensor("sums", TensorType(DType.INT32, (1, 1, 1, channels)))
        mean = Tensor("y", TensorType(DType.INT8, (1, 1, 1, channels), Quant((0.05,), (-3,))))
        scaling = Multiplier(1 << 30, -6)
        yield ScaleSums(name="", source=_NOWHERE, input=stored, output=mean, offset=0, scaling=scaling)


def _calibrated() -> Iterator[Op]:
    """Recurrent operators of ONNX on real numbers, and as calibration makes them."""
    for operator, seed in product(("GRU", "RNN"), range(10)):
        model = sequence_model(seed, operator, is_plain=True)
        (x, *states) = model.samples[0]
        if states:
            continue
        with work_folder() as folder:
            file = folder / "calibration.onnx"
            file.write_bytes(model.content)
            real = load_float(file)
        yield from (op for op in real.graph.ops if isinstance(op, Recurrent))
        for storage in (Storage.INT8, Storage.INT16):
            settings = Settings(widths=Widths(activations=storage))
            yield from Calibrator(real, settings=settings).run([x[None]]).graph.ops


def _front_ends() -> Iterator[Op]:
    """Front ends before a network."""
    place, samples = Site("calibration", ()), partial(TensorType, DType.INT16)
    for channels, window in product((8, 20, 40), (10, 20, 30)):
        front_end = MicroFrontEnd(channels=channels, window_ms=window, step_ms=window // 2)
        shape = (front_end.kept + front_end.step,)
        features = TensorType(DType.INT8, (1, channels), Quant((0.1,), (-128,)))
        yield from front_end.operators(Tensor("x", samples(shape)), Tensor("y", features), place).ops
    for dtype, channels, window in product((DType.INT8, DType.INT16, DType.FLOAT32), (16, 40), (16, 32, 64)):
        mel = LogMelFrontEnd(channels=channels, window_ms=window, step_ms=window // 2)
        quant = None if dtype is DType.FLOAT32 else Quant((0.01,), (0,))
        wanted = Tensor("y", TensorType(dtype, (1, channels), quant))
        yield from mel.operators(Tensor("x", samples((mel.kept + mel.step,))), wanted, place).ops


def _recurrent() -> Iterator[Op]:
    """Operators that keep states."""
    for seed in range(24):
        for is_real in (False, True):
            yield from imported(svdf_model(seed, is_real)[0])
            yield from imported(lstm_model(seed, is_real)[0])
        yield from imported(real_model("UNIDIRECTIONAL_SEQUENCE_RNN", seed)[0])
    for seed in range(20):  # of such states CMSIS-NN's functions run too
        yield from imported(svdf_model(seed, state_zero_point=0, ends=(120, 24, 24))[0])
    for (units, inputs), is_wide in product(_LSTMS, (False, True)):
        layer = Layer(units=units, inputs=inputs, steps=2, is_wide=is_wide, weight_scale=0.02 / units)
        yield from imported(lstm_model(0, layer=layer)[0])


def _signals() -> Iterator[Op]:
    """Spectra, back, and what is made of them."""
    model = SignalModel()
    codes = {"int16": 7, "int32": 2, "float32": 0}
    for length in (16, 32, 64, 128, 256, 512, 48, 100, 120, 360, 480):
        for rows in (1, 3):
            x = model.input((rows, length), "int16")
            model.add("Window", [x, model.constant(np.full(length, 4000))], ((rows, length), "int16"), shift=12)
            for type, code in codes.items():
                x = model.input((rows, length), type)
                (bins,) = model.add("Rfft", [x], ((rows, length + 2), type), T=code, fft_length=length)
                model.add("Irfft", [bins], ((rows, length), type), T=code, fft_length=length)
        x = model.input((length,), "int16")
        model.add("FftAutoScale", [x], ((length,), "int16"), ((), "int32"))
        x, count = model.input((length + 2,), "int16"), length // 2 + 1
        model.add("Energy", [x], ((count,), "uint32"), start_index=1, end_index=count - 1)
        for type in ("int16", "float32"):
            x = model.input((1, 3, length), type)
            model.add("OverlapAdd", [x], ((1, 3 * (length // 2)), type), T=codes[type], frame_step=length // 2)
    for channels, samples in product((4, 8, 16), (60, 120, 250)):
        add_features(model, channels, samples)
    yield from imported(model.finish())
