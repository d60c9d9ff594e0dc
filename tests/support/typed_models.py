"""Models of one builtin operator of TFLite Micro and one element type each, with random shapes and values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import tflite

from tests.support.number_models import COMPARISONS, TYPE_CODES, NumberModel
from tests.support.reference import import_model
from tests.support.tflm_types import TFLM_RESULTS, TFLM_TYPES
from tinygen.errors import UnsupportedModelError
from tinygen.ir.types import Array

Shape = tuple[int, ...]
TYPES = ("int8", "int16", "int32", "int64", "uint8", "float32", "bool")
_QUANTS: Mapping[str, dict[str, Any]] = {
    "int8": {"scale": 0.05, "zero_point": -3},
    "uint8": {"scale": 0.05, "zero_point": 125},
    "int16": {"scale": 0.001},
}
_BETWEEN_0_AND_1 = {
    "int8": {"scale": 1 / 256, "zero_point": -128},
    "uint8": {"scale": 1 / 256},
    "int16": {"scale": 1 / 32768},
}
_AROUND_0 = {"int8": {"scale": 1 / 128}, "uint8": {"scale": 1 / 128, "zero_point": 128}, "int16": {"scale": 1 / 32768}}
_BELOW_0 = {"int8": {"scale": 1 / 16, "zero_point": 127}, "uint8": {"scale": 1 / 16, "zero_point": 255}}
_OF_PRODUCTS = {"int8": {"scale": 0.5}, "int16": {"scale": 0.05}}


class TypedModel(NumberModel):
    """A model in the making, whose tensors have the usual quantization of their type."""

    def image(self) -> Shape:
        """The shape of an image."""
        return (int(self.rng.integers(1, 3)), *(int(size) for size in self.rng.integers(3, 7, 3)))

    def x(self, shape: Shape, type: str, values: Array | None = None) -> int:
        """An input with the usual quantization."""
        return self.input(shape, type, values, **quant_of(type))

    def numbers(self, shape: Sequence[int], type: str) -> Array:
        if type == "uint8":
            return self.rng.integers(0, 256, shape).astype(np.uint8)
        if type == "int16":
            return self.rng.integers(-32768, 32768, shape).astype(np.int16)
        return super().numbers(shape, type)

    def add(self, name: str, operands: Sequence[int], *results: tuple[Shape, str], **options: Any) -> None:
        """An operator whose results are outputs; their quantization is that of their type, or option `quant`."""
        quant = options.pop("quant", None)
        found = [self.output(shape, type, **(quant or quant_of(type))) for shape, type in results]
        self.writer.operator(name, operands, found, **options)

    def integers(self, *values: int) -> int:
        """A constant vector of int32."""
        return self.constant(np.array(values, np.int32))


def quant_of(type: str) -> dict[str, Any]:
    """The usual quantization of a type."""
    return _QUANTS.get(type, {})


Build = Callable[[TypedModel, str, str], None]


def _same(
    model: TypedModel, name: str, type: str, quants: Mapping[str, dict[str, Any]] = _QUANTS, **options: Any
) -> None:
    shape = model.image()
    model.add(name, [model.x(shape, type)], (shape, type), quant=quants.get(type), **options)


def _positive(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    most = 32767 if type == "int16" else 127
    values = (np.abs(model.numbers(shape, type).astype(np.float64)) + 1).clip(0, most).astype(type)
    model.add(name, [model.x(shape, type, values)], (shape, type))


def _two(model: TypedModel, name: str, type: str, result: str = "") -> None:
    shape = model.image()
    other = (shape, (shape[3],), (1, shape[1], 1, shape[3]))[model.rng.integers(3)]
    model.add(name, [model.x(shape, type), model.x(other, type)], (shape, result or type))


def _quotient(model: TypedModel, name: str, type: str) -> None:
    """Of numbers that neither are nor stand for 0: TFLite Micro shifts by more than 31 bits near it."""
    shape = model.image()
    operands = []
    for _ in range(2):
        values = model.numbers(shape, type)
        far = np.where(np.abs(values.astype(np.float64) + 2) < 5, 9, values).astype(type)
        operands.append(model.x(shape, type, far))
    model.add(name, operands, (shape, type), quant={"int8": {"scale": 0.05}, "int16": {"scale": 0.05}}.get(type))


def _prelu(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    slopes = model.constant(model.numbers((1, 1, shape[3]), type), **quant_of(type))
    model.add(name, [model.x(shape, type), slopes], (shape, type))


def _reduced(model: TypedModel, name: str, type: str) -> None:
    shape, axes = model.image(), ((1, 2), (3,), (1,), (1, 2, 3))[model.rng.integers(4)]
    keep = bool(model.rng.integers(2))
    kept = tuple(1 if n in axes else size for n, size in enumerate(shape) if keep or n not in axes)
    model.add(name, [model.x(shape, type), model.integers(*axes)], (kept, type), keep_dims=keep)


def _position(model: TypedModel, name: str, type: str) -> None:
    shape, axis = model.image(), int(model.rng.integers(4))
    kept = shape[:axis] + shape[axis + 1 :]
    operands = [model.x(shape, type), model.integers(axis)]
    model.add(name, operands, (kept, "int32"), output_type=TYPE_CODES["int32"])


def _pool(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    result = (*shape[:2], -(-shape[2] // 2), shape[3])
    options = {"stride_h": 1, "stride_w": 2, "filter_height": 2, "filter_width": 2, "padding": tflite.Padding.SAME}
    model.add(name, [model.x(shape, type)], (result, type), **options)


def _filters(model: TypedModel, shape: Shape, type: str, axis: int) -> list[int]:
    """Weights and biases of a layer."""
    count = shape[axis]
    if type == "float32":
        return [model.constant(model.numbers(shape, type)), model.constant(model.numbers((count,), type))]
    data, scale = model.rng.integers(-127, 128, shape), quant_of(type).get("scale", 1) * 0.01
    if type == "uint8":
        weights = model.constant((data + 127).astype(np.uint8), scale=0.01, zero_point=120)
        return [weights, model.constant(model.numbers((count,), "int32"), scale=scale)]
    weights = model.constant(data.astype(np.int8), scale=[0.01] * count, axis=axis)
    sums = "int64" if type == "int16" else "int32"
    return [weights, model.constant(model.numbers((count,), sums), scale=[scale] * count)]


def _convolution(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    options: dict[str, Any] = {"padding": tflite.Padding.SAME, "stride_h": 1, "stride_w": 1}
    filters = _filters(model, (4, 3, 3, shape[3]), type, 0)
    model.add(name, [model.x(shape, type), *filters], ((*shape[:3], 4), type), quant=_OF_PRODUCTS.get(type), **options)


def _depthwise(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    options: dict[str, Any] = {"padding": tflite.Padding.SAME, "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    filters = _filters(model, (1, 3, 3, shape[3]), type, 3)
    model.add(name, [model.x(shape, type), *filters], (shape, type), quant=_OF_PRODUCTS.get(type), **options)


def _transposed(model: TypedModel, name: str, type: str) -> None:
    """The output's shape is a constant, or an input."""
    shape = model.image()
    result = (shape[0], 2 * shape[1], 2 * shape[2], 4)
    weights, bias = _filters(model, (4, 3, 3, shape[3]), type, 0)
    asked = np.array(result, np.int32)
    asked_for = model.constant(asked) if model.rng.integers(2) else model.x((4,), "int32", asked)
    operands = [asked_for, weights, model.x(shape, type), bias]
    options = {"padding": tflite.Padding.SAME, "stride_h": 2, "stride_w": 2}
    model.add(name, operands, (result, type), quant=_OF_PRODUCTS.get(type), **options)


def _connected(model: TypedModel, name: str, type: str) -> None:
    rows, features, units = (int(size) for size in model.rng.integers(1, 20, 3))
    operands = [model.x((rows, features), type), *_filters(model, (units, features), type, 0)]
    model.add(name, operands, ((rows, units), type), quant=_OF_PRODUCTS.get(type), version=12)


def _matmul(model: TypedModel, name: str, type: str) -> None:
    batches, rows, depth, columns = (int(size) for size in model.rng.integers(1, 8, 4))
    operands = [model.x((batches, rows, depth), type), model.x((batches, depth, columns), type)]
    model.add(name, operands, ((batches, rows, columns), type), quant=_OF_PRODUCTS.get(type), version=3)


def _transpose(model: TypedModel, name: str, type: str) -> None:
    shape, order = model.image(), model.rng.permutation(4).tolist()
    model.add(name, [model.x(shape, type), model.integers(*order)], (tuple(shape[n] for n in order), type))


def _pad(model: TypedModel, name: str, type: str) -> None:
    shape, widths = model.image(), np.array([[0, 0], [1, 2], [0, 1], [2, 0]], np.int32)
    result = tuple(size + int(width.sum()) for size, width in zip(shape, widths, strict=True))
    operands = [model.x(shape, type), model.constant(widths)]
    if name == "PADV2":
        operands.append(model.constant(model.numbers((1,), type), **quant_of(type)))
    options = {"mode": tflite.MirrorPadMode.REFLECT} if name == "MIRROR_PAD" else {}
    model.add(name, operands, (result, type), **options)


def _concatenation(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    parts = [model.x((*shape[:3], size), type) for size in (2, 5)]
    model.add(name, parts, ((*shape[:3], 7), type), axis=3)


def _pack(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    model.add(name, [model.x(shape[1:], type) for _ in range(2)], ((2, *shape[1:]), type), values_count=2, axis=0)


def _unpack(model: TypedModel, name: str, type: str) -> None:
    shape = (2, *model.image()[1:])
    model.add(name, [model.x(shape, type)], (shape[1:], type), (shape[1:], type), num=2, axis=0)


def _split(model: TypedModel, name: str, type: str) -> None:
    shape = (*model.image()[:3], 6)
    half = (*shape[:3], 3)
    model.add(name, [model.integers(3), model.x(shape, type)], (half, type), (half, type), num_splits=2)


def _split_v(model: TypedModel, name: str, type: str) -> None:
    shape = (*model.image()[:3], 6)
    results = [((*shape[:3], size), type) for size in (2, 4)]
    model.add(name, [model.x(shape, type), model.integers(2, 4), model.integers(3)], *results, num_splits=2)


_BEGIN = (0, 1, 2, 0)


def _slice(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    sizes = tuple(size - at for size, at in zip(shape, _BEGIN, strict=True))
    model.add(name, [model.x(shape, type), model.integers(*_BEGIN), model.integers(*sizes)], (sizes, type))


def _strided_slice(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    result = (shape[0], shape[1] - 1, shape[2] - 2, -(-shape[3] // 2))
    limits = [model.integers(*numbers) for numbers in (_BEGIN, shape, (1, 1, 1, 2))]
    model.add(name, [model.x(shape, type), *limits], (result, type))


def _expand(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()[1:]
    model.add(name, [model.x(shape, type), model.integers(0)], ((1, *shape), type))


def _shape(model: TypedModel, name: str, type: str) -> None:
    model.add(name, [model.x(model.image(), type)], ((4,), "int32"), out_type=TYPE_CODES["int32"])


def _reshape(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    flat = (shape[0], int(np.prod(shape[1:])))
    model.add(name, [model.x(shape, type), model.integers(*flat)], (flat, type))


def _squeeze(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()[1:]
    model.add(name, [model.x((1, *shape), type)], (shape, type), squeeze_dims=[0])


def _resize(model: TypedModel, name: str, type: str) -> None:
    shape, size = model.image(), tuple(int(size) for size in model.rng.integers(1, 9, 2))
    model.add(name, [model.x(shape, type), model.integers(*size)], ((shape[0], *size, shape[3]), type))


def _fill(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    model.add(name, [model.integers(*shape), model.x((), type)], (shape, type))


def _update(model: TypedModel, name: str, type: str) -> None:
    shape, begin = model.image(), model.rng.integers(-1, 3, 4).astype(np.int32)
    operands = [model.x(shape, type), model.x((1, 2, 1, 3), type), model.x((4,), "int32", begin)]
    model.add(name, operands, (shape, type))


def _reverse(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    model.add(name, [model.x(shape, type), model.integers(int(model.rng.integers(4)))], (shape, type))


def _select(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    model.add(name, [model.x(shape, "bool"), model.x(shape, type), model.x(shape, type)], (shape, type))


def _blocks(model: TypedModel, name: str, type: str) -> None:
    n, height, width, channels = model.image()
    small, large = (n, height, width, 4 * channels), (n, 2 * height, 2 * width, channels)
    first, second = (small, large) if name == "DEPTH_TO_SPACE" else (large, small)
    model.add(name, [model.x(first, type)], (second, type), block_size=2)


def _batches(model: TypedModel, name: str, type: str) -> None:
    n, height, width, channels = model.image()
    images, pixels = (4 * n, height, width, channels), (n, 2 * height, 2 * width, channels)
    first, second = (images, pixels) if name == "BATCH_TO_SPACE_ND" else (pixels, images)
    operands = [model.x(first, type), model.integers(2, 2), model.constant(np.zeros((2, 2), np.int32))]
    model.add(name, operands, (second, type))


def _gather(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    indices = model.rng.integers(0, shape[1], (4,)).astype(np.int32)
    operands = [model.x(shape, type), model.x((4,), "int32", indices)]
    model.add(name, operands, ((shape[0], 4, *shape[2:]), type), axis=1)


def _gather_nd(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    indices = model.rng.integers(0, shape[:2], (4, 2)).astype(np.int32)
    model.add(name, [model.x(shape, type), model.x((4, 2), "int32", indices)], ((4, *shape[2:]), type))


def _embedding(model: TypedModel, name: str, type: str) -> None:
    table = model.constant(model.numbers((9, 5), type), **quant_of(type))
    model.add(name, [model.x((4,), "int32", model.rng.integers(0, 9, 4).astype(np.int32)), table], ((4, 5), type))


def _add_n(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    model.add(name, [model.x(shape, type) for _ in range(3)], (shape, type))


def _cumulative(model: TypedModel, name: str, type: str) -> None:
    shape, axis = model.image(), model.constant(np.array(int(model.rng.integers(4)), np.int32))
    model.add(name, [model.x(shape, type), axis], (shape, type), exclusive=False, reverse=False)


def _broadcast(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    model.add(name, [model.x((*shape[:2], 1, shape[3]), type), model.integers(*shape)], (shape, type))


def _broadcast_args(model: TypedModel, name: str, type: str) -> None:
    shapes = [np.array([2, 1, 3]).astype(type), np.array([4, 1]).astype(type)]
    model.add(name, [model.x(shape.shape, type, shape) for shape in shapes], ((3,), type))


def _quantize(model: TypedModel, name: str, type: str, target: str) -> None:
    shape, quant = model.image(), quant_of(type) or {"scale": 0.0005}
    x = model.input(shape, type, **{} if type == "float32" else quant)
    model.add(name, [x], (shape, target), quant={**quant_of(target), "scale": 0.07})


def _dequantize(model: TypedModel, name: str, type: str) -> None:
    shape = model.image()
    model.add(name, [model.x(shape, type)], (shape, "float32"))


def _cast(model: TypedModel, name: str, type: str, target: str) -> None:
    x, y = model.input(shape := model.image(), type), model.output(shape, target)
    model.writer.operator(name, [x], [y], in_data_type=TYPE_CODES[type], out_data_type=TYPE_CODES[target])


_COMPARED = partial(_two, result="bool")
_BUILDS: Mapping[str, Build] = {
    **dict.fromkeys(
        [
            "ABS",
            "CEIL",
            "COS",
            "ELU",
            "EXP",
            "FLOOR",
            "HARD_SWISH",
            "LOGICAL_NOT",
            "NEG",
            "RELU",
            "RELU6",
            "ROUND",
            "SIN",
            "SQUARE",
        ],
        _same,
    ),
    **dict.fromkeys(("LOG", "RSQRT", "SQRT"), _positive),
    "LEAKY_RELU": partial(_same, alpha=0.1),
    "LOGISTIC": partial(_same, quants=_BETWEEN_0_AND_1),
    "SOFTMAX": partial(_same, quants=_BETWEEN_0_AND_1, beta=1.0),
    "TANH": partial(_same, quants=_AROUND_0),
    "L2_NORMALIZATION": partial(_same, quants=_AROUND_0),
    "LOG_SOFTMAX": partial(_same, quants=_BELOW_0),
    **dict.fromkeys(
        ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "LOGICAL_AND", "LOGICAL_OR"], _two
    ),
    **dict.fromkeys(COMPARISONS, _COMPARED),
    **dict.fromkeys(("DIV", "FLOOR_DIV", "FLOOR_MOD"), _quotient),
    "PRELU": _prelu,
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"), _reduced),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _position),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), _pool),
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "TRANSPOSE_CONV": _transposed,
    "FULLY_CONNECTED": _connected,
    "BATCH_MATMUL": _matmul,
    "TRANSPOSE": _transpose,
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _pad),
    "CONCATENATION": _concatenation,
    "PACK": _pack,
    "UNPACK": _unpack,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "EXPAND_DIMS": _expand,
    "SHAPE": _shape,
    "ZEROS_LIKE": _same,
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resize),
    "FILL": _fill,
    "DYNAMIC_UPDATE_SLICE": _update,
    "REVERSE_V2": _reverse,
    "SELECT_V2": _select,
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"), _blocks),
    **dict.fromkeys(("BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND"), _batches),
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "EMBEDDING_LOOKUP": _embedding,
    "ADD_N": _add_n,
    "CUMSUM": _cumulative,
    "BROADCAST_TO": _broadcast,
    "BROADCAST_ARGS": _broadcast_args,
    "DEQUANTIZE": _dequantize,
}
_TO: Mapping[str, Callable[[TypedModel, str, str, str], None]] = {"CAST": _cast, "QUANTIZE": _quantize}
"""Operators whose result may be of any type."""


@dataclass(frozen=True)
class Case:
    """An operator on inputs of a type, and the type of its result where that may be any."""

    operator: str
    type: str
    result: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, (self.operator, self.type, self.result)))

    def add_to(self, model: TypedModel) -> None:
        """One more operator of a model."""
        if self.result:
            _TO[self.operator](model, self.operator, self.type, self.result)
        else:
            _BUILDS[self.operator](model, self.operator, self.type)

    @property
    def is_in_tflm(self) -> bool:
        """Whether TFLite Micro runs it."""
        if self.result:
            return self.result in TFLM_RESULTS[self.operator].get(self.type, ())
        return self.type in TFLM_TYPES[self.operator]


CASES = tuple(Case(operator, type) for operator in _BUILDS for type in TYPES) + tuple(
    Case(operator, type, result) for operator in _TO for type in TYPES for result in TYPES
)


@cache
def imported_cases() -> tuple[Case, ...]:
    """What tinygen has."""
    return tuple(case for case in CASES if _is_imported(case))


def _is_imported(case: Case) -> bool:
    try:
        import_model(typed_model([case], seed=1).finish())
    except UnsupportedModelError:
        return False
    return True


def typed_model(cases: Iterable[Case], seed: int) -> TypedModel:
    """Random models of the cases, side by side."""
    model = TypedModel(np.random.default_rng(seed))
    for case in cases:
        case.add_to(model)
    return model
