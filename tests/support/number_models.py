"""Models of one operator on numbers or truth values: comparisons, logic, selection, casts, integers, sums."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import tflite

from tests.support.operator_models import random_int8, random_scale, random_zero_point
from tests.support.tflite_writer import ModelWriter
from tinygen.ir.types import Array

SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), (4,)),
    ((1, 5, 1, 3), (2, 1, 4, 1)),
    ((), (7,)),
)
COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
TYPE_CODES = {
    name: getattr(tflite.TensorType, name.upper())
    for name in ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
}


@dataclass
class NumberModel:
    """A model in the making, with values for its inputs; several operators stand side by side."""

    rng: np.random.Generator
    writer: ModelWriter = field(default_factory=ModelWriter)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    count: int = 0

    def input(self, shape: Sequence[int], type: str, values: Array | None = None, **quantization: Any) -> int:
        """An input, with random values where none are given."""
        index = self.writer.tensor(f"x{len(self.inputs)}", shape, type, **quantization)
        self.inputs.append(index)
        self.values.append(self.numbers(shape, type) if values is None else values)
        return index

    def output(self, shape: Sequence[int], type: str, **quantization: Any) -> int:
        """An output."""
        index = self.writer.tensor(f"y{len(self.outputs)}", shape, type, **quantization)
        self.outputs.append(index)
        return index

    def constant(self, values: Array, **quantization: Any) -> int:
        """A constant."""
        self.count += 1
        return self.writer.tensor(f"c{self.count}", values.shape, str(values.dtype), data=values, **quantization)

    def numbers(self, shape: Sequence[int], type: str) -> Array:
        """Random values, of which many are equal to others."""
        if type == "bool":
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        if type == "float32":
            return (self.rng.integers(-20, 20, shape) / 4).astype(np.float32)
        low, high = [(-100, 100), (-3, 4)][self.rng.integers(2)]
        return np.asarray(self.rng.integers(low, high, shape), type)

    def scales(self, type: str) -> dict[str, Any]:
        """A random quantization of a type that has one."""
        if type != "int8":
            return {}
        scale = random_scale(self.rng)
        return {"scale": scale / 8 if self.rng.random() < 0.5 else scale, "zero_point": random_zero_point(self.rng)}

    def finish(self) -> bytes:
        """The model file."""
        return self.writer.finish(self.inputs, self.outputs)


Build = Callable[[NumberModel], None]


def _compare(name: str, type: str, model: NumberModel) -> None:
    first, second = SHAPES[model.rng.integers(len(SHAPES))]
    scales = [model.scales(type), model.scales(type)]
    if model.rng.random() < 0.7:
        scales[1] = scales[0]
    x = model.input(first, type, **scales[0])
    y = model.constant(model.numbers(second, type), **scales[1]) if model.rng.random() < 0.3 else None
    y = model.input(second, type, **scales[1]) if y is None else y
    model.writer.operator(name, [x, y], [model.output(np.broadcast_shapes(first, second), "bool")])


def _logic(name: str, model: NumberModel) -> None:
    first, second = SHAPES[model.rng.integers(len(SHAPES))]
    operands = [model.input(first, "bool"), model.input(second, "bool")]
    model.writer.operator(name, operands, [model.output(np.broadcast_shapes(first, second), "bool")])


def _not(model: NumberModel) -> None:
    model.writer.operator("LOGICAL_NOT", [model.input((2, 5), "bool")], [model.output((2, 5), "bool")])


def _reduce(name: str, model: NumberModel) -> None:
    axis = int(model.rng.integers(3))
    shape = (3, 2, 4)
    kept = shape[:axis] + shape[axis + 1 :]
    axes = model.constant(np.array([axis], np.int32))
    x = model.input(shape, "bool", model.rng.random(shape) < (0.8 if name == "REDUCE_ALL" else 0.2))
    model.writer.operator(name, [x, axes], [model.output(kept, "bool")], keep_dims=False)


def _select(type: str, model: NumberModel) -> None:
    shapes = [((2, 3, 4), (2, 3, 4), (2, 3, 4)), ((2, 3, 1), (4,), (1, 3, 4)), ((5,), (), (5,))][model.rng.integers(3)]
    quantization = model.scales("int8") if type == "int8" else {"scale": 0.5} if type == "int16" else {}
    condition = model.input(shapes[0], "bool")
    operands = [model.input(shape, type, **quantization) for shape in shapes[1:]]
    output = model.output(np.broadcast_shapes(*shapes), type, **quantization)
    model.writer.operator("SELECT_V2", [condition, *operands], [output])


def _rank_one_select(model: NumberModel) -> None:
    condition = model.input((3,), "bool")
    operands = [model.input((3, 4), "float32") for _ in range(2)]
    model.writer.operator("SELECT", [condition, *operands], [model.output((3, 4), "float32")])


def _cast(source: str, target: str, model: NumberModel) -> None:
    x, y = model.input((3, 7), source), model.output((3, 7), target)
    model.writer.operator("CAST", [x], [y], in_data_type=TYPE_CODES[source], out_data_type=TYPE_CODES[target])


def _integers(name: str, type: str, activation: int | None, model: NumberModel) -> None:
    first, second = SHAPES[model.rng.integers(len(SHAPES))]
    divisor = model.numbers(second, type)
    divisor = np.where(divisor == 0, 3, divisor).astype(type)
    operands = [model.input(first, type), model.input(second, type, divisor)]
    options: dict[str, Any] = {} if activation is None else {"fused_activation_function": activation}
    model.writer.operator(name, operands, [model.output(np.broadcast_shapes(first, second), type)], **options)


def _cumulative_sum(type: str, model: NumberModel) -> None:
    shape, axis = (3, 4, 5), int(model.rng.integers(-3, 3))
    scales = [model.scales(type), model.scales(type)]
    x, y = model.input(shape, type, **scales[0]), model.output(shape, type, **scales[1])
    exclusive, reverse = bool(model.rng.random() < 0.5), bool(model.rng.random() < 0.5)
    model.writer.operator(
        "CUMSUM", [x, model.constant(np.array(axis, np.int32))], [y], exclusive=exclusive, reverse=reverse
    )


def _add_n(model: NumberModel) -> None:
    scales, count = model.scales("int8"), int(model.rng.integers(2, 6))
    operands = [model.input((2, 3, 5), "int8", **scales) for _ in range(count)]
    y = model.output((2, 3, 5), "int8", scale=scales["scale"] * float(model.rng.uniform(0.5, 4)), zero_point=-7)
    model.writer.operator("ADD_N", operands, [y])


def _zeros(type: str, model: NumberModel) -> None:
    scales = model.scales(type)
    x, y = model.input((2, 3), type, **scales), model.output((2, 3), type, **scales)
    model.writer.operator("ZEROS_LIKE", [x], [y])


def _fill(type: str, model: NumberModel) -> None:
    scales = model.scales(type)
    value, y = model.input((), type, **scales), model.output((2, 3, 2), type, **scales)
    model.writer.operator("FILL", [model.constant(np.array([2, 3, 2], np.int32)), value], [y])


def _broadcast(type: str, model: NumberModel) -> None:
    x, y = model.input((3, 1), type), model.output((2, 3, 4), type)
    model.writer.operator("BROADCAST_TO", [x, model.constant(np.array([2, 3, 4], np.int32))], [y])


def _broadcast_args(type: str, model: NumberModel) -> None:
    shapes = [np.array([2, 1, 3], type), np.array([4, 1], type)]
    operands = [model.input(shape.shape, type, shape) for shape in shapes]
    model.writer.operator("BROADCAST_ARGS", operands, [model.output((3,), type)])


def _update_slice(type: str, start: str, model: NumberModel) -> None:
    scales = model.scales(type)
    shape, part = (4, 3, 5), tuple(int(n) for n in model.rng.integers(1, 4, 3))
    operands = [model.input(shape, type, **scales), model.input(part, type, **scales)]
    operands.append(model.input((3,), start, model.rng.integers(-2, 6, 3).astype(start)))
    model.writer.operator("DYNAMIC_UPDATE_SLICE", operands, [model.output(shape, type, **scales)])


def _top_k(type: str, model: NumberModel) -> None:
    shape = (3, 2, int(model.rng.integers(1, 12)))
    count = int(model.rng.integers(1, shape[-1] + 1))
    scales = {"scale": 0.5} if type == "int16" else model.scales(type)
    x, k = model.input(shape, type, **scales), model.constant(np.array(count, np.int32))
    values = model.output((3, 2, count), type, **scales)
    model.writer.operator("TOPK_V2", [x, k], [values, model.output((3, 2, count), "int32")])


def _position(name: str, model: NumberModel) -> None:
    shape, axis = (3, 4, 5), int(model.rng.integers(-3, 3))
    kept = tuple(size for n, size in enumerate(shape) if n != axis % 3)
    index = ("int32", "int64")[model.rng.integers(2)]
    operands = [model.input(shape, "int32"), model.constant(np.array(axis, np.int32))]
    model.writer.operator(name, operands, [model.output(kept, index)], output_type=TYPE_CODES[index])


def _l2_pool(model: NumberModel) -> None:
    same = int(model.rng.integers(2))
    size = (3, 3) if same else (2, 2)
    x, y = model.input((2, 6, 5, 3), "float32"), model.output((2, *size, 3), "float32")
    model.writer.operator(
        "L2_POOL_2D",
        [x],
        [y],
        padding=tflite.Padding.SAME if same else tflite.Padding.VALID,
        stride_h=2,
        stride_w=2,
        filter_height=3,
        filter_width=3,
        fused_activation_function=int(model.rng.choice([0, 1, 3])),
    )


def _divide(model: NumberModel) -> None:
    """Quotients of numbers that are not 0, and large enough that TFLite shifts by 31 bits at most."""
    shapes, scales = SHAPES[model.rng.integers(len(SHAPES))], [model.scales("int8") for _ in range(2)]
    operands = [
        model.input(shape, "int8", _far_from(model.rng, shape, scale["zero_point"]), **scale)
        for shape, scale in zip(shapes, scales, strict=True)
    ]
    scale = scales[0]["scale"] / scales[1]["scale"] * float(model.rng.uniform(0.01, 0.1))
    y = model.output(np.broadcast_shapes(*shapes), "int8", scale=scale, zero_point=random_zero_point(model.rng))
    model.writer.operator("DIV", operands, [y], fused_activation_function=int(model.rng.choice([0, 1, 3])))


def _far_from(rng: np.random.Generator, shape: tuple[int, ...], zero_point: int) -> Array:
    choices = [stored for stored in range(-128, 128) if abs(stored - zero_point) > 3]
    return np.asarray(rng.choice(choices, shape), np.int8)


def _log_softmax(model: NumberModel) -> None:
    shape = ((3, 7), (2, 3, 11), (1, 1), (2, 300))[model.rng.integers(4)]
    scale = float(np.float32(np.exp(model.rng.uniform(np.log(1e-4), np.log(8)))))
    x = model.input(shape, "int8", random_int8(model.rng, shape), scale=scale, zero_point=random_zero_point(model.rng))
    y = model.output(shape, "int8", scale=16 / 256, zero_point=127)
    model.writer.operator("LOG_SOFTMAX", [x], [y])


def _l2_normalization(model: NumberModel) -> None:
    shape = ((3, 7), (2, 3, 11), (4, 1), (2, 9000))[model.rng.integers(4)]
    point = random_zero_point(model.rng)
    values = random_int8(model.rng, shape)
    values[0, ..., 1:] = point  # one element, whose quotient is 1, or nothing
    x = model.input(shape, "int8", values, scale=random_scale(model.rng), zero_point=point)
    model.writer.operator("L2_NORMALIZATION", [x], [model.output(shape, "int8", scale=1 / 128, zero_point=0)])


def _unary_int16(name: str, model: NumberModel) -> None:
    least = 0 if name == "RSQRT" else -32768
    values = model.rng.integers(least, 32768, (5, 9)) >> model.rng.integers(0, 15, (5, 1))
    scale = random_scale(model.rng)
    x = model.input((5, 9), "int16", values.astype(np.int16), scale=scale)
    other = 1 / (scale**0.5 * 1000) if name == "RSQRT" else scale
    y = model.output((5, 9), "int16", scale=float(np.float32(other * model.rng.uniform(0.5, 2))))
    model.writer.operator(name, [x], [y])


def _matmul_int16(model: NumberModel) -> None:
    batches, rows, depth, columns = ((2,), 3, 20, 5) if model.rng.random() < 0.5 else ((2, 1), 1, 7, 9)
    adj_x, adj_y = bool(model.rng.random() < 0.4), bool(model.rng.random() < 0.5)
    shapes = [
        (*batches, *sides)
        for sides in ((depth, rows) if adj_x else (rows, depth), (columns, depth) if adj_y else (depth, columns))
    ]
    operands = [
        model.input(shape, "int16", model.rng.integers(-32768, 32768, shape).astype(np.int16), scale=0.001)
        for shape in shapes
    ]
    y = model.output((*batches, rows, columns), "int16", scale=float(model.rng.uniform(0.01, 0.1)))
    model.writer.operator("BATCH_MATMUL", operands, [y], adj_x=adj_x, adj_y=adj_y, version=3)


def _pad_with(type: str, model: NumberModel) -> None:
    quantization: dict[str, Any] = {"scale": 0.1} if type == "int16" else {}
    x = model.input((2, 3, 4), type, **quantization)
    value = model.constant(np.array(-77, type), **quantization)
    widths = model.constant(np.array([[0, 1], [2, 0], [1, 3]], np.int32))
    model.writer.operator("PADV2", [x, widths, value], [model.output((3, 5, 8), type, **quantization)])


def _resized(name: str, model: NumberModel) -> None:
    x, y = (make((1, *size, 3), "int16", scale=0.5) for make, size in ((model.input, (3, 4)), (model.output, (5, 7))))
    model.writer.operator(name, [x, model.constant(np.array([5, 7], np.int32))], [y])


def _gather_nd(type: str, depth: int, model: NumberModel) -> None:
    scales, shape = model.scales(type), (3, 4, 5)
    indices = model.rng.integers(0, shape[:depth], (2, 3, depth)).astype(np.int32)
    operands = [model.input(shape, type, **scales), model.input(indices.shape, "int32", indices)]
    model.writer.operator("GATHER_ND", operands, [model.output((2, 3, *shape[depth:]), type, **scales)])


def _one_hot(type: str, index: str, model: NumberModel) -> None:
    shape, depth = ((2, 3), (), (4,))[model.rng.integers(3)], int(model.rng.integers(1, 7))
    axis = int(model.rng.integers(-1, len(shape) + 1))
    at = len(shape) if axis < 0 else axis
    scales = model.scales(type)
    places = model.input(shape, index, model.rng.integers(-2, depth + 2, shape).astype(index))
    values = [model.input((), type, **scales) for _ in range(2)]
    output = model.output((*shape[:at], depth, *shape[at:]), type, **scales)
    model.writer.operator("ONE_HOT", [places, model.constant(np.array(depth, np.int32)), *values], [output], axis=axis)


def _scatter(type: str, depth: int, model: NumberModel) -> None:
    scales, shape = model.scales(type), (3, 4, 5)
    rows = int(np.prod(shape[:depth]))
    chosen = model.rng.permutation(rows)[: int(model.rng.integers(1, rows + 1))]
    indices = np.stack(np.unravel_index(chosen, shape[:depth]), axis=-1).astype(np.int32)
    updates = model.input((len(chosen), *shape[depth:]), type, **scales)
    operands = [model.constant(indices), updates, model.constant(np.array(shape, np.int32))]
    model.writer.operator("SCATTER_ND", operands, [model.output(shape, type, **scales)])


def _sign(type: str, model: NumberModel) -> None:
    model.writer.operator("SIGN", [model.input((3, 7), type)], [model.output((3, 7), type)])


def _rank(model: NumberModel) -> None:
    x, rank = model.input((2, 1, 3), "int32"), model.writer.tensor(f"rank{model.count}", (), "int32")
    model.writer.operator("RANK", [x], [rank])
    model.writer.operator("ADD", [x, rank], [model.output((2, 1, 3), "int32")])


def _reverse_sequence(type: str, model: NumberModel) -> None:
    scales: dict[str, Any] = {"scale": 0.5} if type == "int16" else {}
    shape = tuple(int(n) for n in model.rng.integers(1, 6, 4))
    along, batch = (int(axis) for axis in model.rng.permutation(4)[:2])
    lengths = model.rng.integers(1, shape[along] + 1, shape[batch]).astype(np.int32)
    operands = [model.input(shape, type, **scales), model.constant(lengths)]
    y = model.output(shape, type, **scales)
    model.writer.operator("REVERSE_SEQUENCE", operands, [y], seq_dim=along, batch_dim=batch)


def _bits(name: str, model: NumberModel) -> None:
    first, second = ((2, 3, 4), (2, 3, 4)) if model.rng.random() < 0.5 else ((2, 3, 4), (4,))
    values = [model.rng.integers(-(2**31), 2**31, shape).astype(np.int32) for shape in (first, second)]
    if name == "RIGHT_SHIFT":
        values[1] = model.rng.integers(-3, 40, second).astype(np.int32)
    operands = [model.input(array.shape, "int32", array) for array in values]
    model.writer.operator(name, operands, [model.output(first, "int32")])


def _angle(model: NumberModel) -> None:
    operands = [model.input((3, 7), "float32") for _ in range(2)]
    model.writer.operator("ATAN2", operands, [model.output((3, 7), "float32")])


def _local_response(model: NumberModel) -> None:
    shape = (2, 3, 2, int(model.rng.integers(1, 9)))
    numbers: dict[str, Any] = {name: float(model.rng.uniform(0.2, 1.5)) for name in ("bias", "alpha", "beta")}
    x, y = model.input(shape, "float32"), model.output(shape, "float32")
    model.writer.operator("LOCAL_RESPONSE_NORMALIZATION", [x], [y], radius=int(model.rng.integers(0, 10)), **numbers)


def _product(model: NumberModel) -> None:
    shape = tuple(int(n) for n in model.rng.integers(1, 7, 3))
    axes = sorted(model.rng.permutation(3)[: int(model.rng.integers(1, 4))].tolist())
    keeps = bool(model.rng.random() < 0.5)
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape) if keeps or axis not in axes]
    x = model.input(shape, "float32", model.rng.uniform(0.5, 2, shape).astype(np.float32))
    operands = [x, model.constant(np.array(axes, np.int32))]
    model.writer.operator("REDUCE_PROD", operands, [model.output(sizes, "float32")], keep_dims=keeps)


_ARITHMETIC = {"ADD": 0, "SUB": 1, "MUL": 3, "MAXIMUM": None, "MINIMUM": None, "SQUARED_DIFFERENCE": None}
CASES: Mapping[str, Build] = {
    **{
        f"{name}-{type}": partial(_compare, name, type)
        for name in COMPARISONS
        for type in ("int8", "int32", "int64", "float32")
    },
    "EQUAL-bool": partial(_compare, "EQUAL", "bool"),
    "NOT_EQUAL-bool": partial(_compare, "NOT_EQUAL", "bool"),
    "LOGICAL_AND": partial(_logic, "LOGICAL_AND"),
    "LOGICAL_OR": partial(_logic, "LOGICAL_OR"),
    "LOGICAL_NOT": _not,
    "REDUCE_ALL": partial(_reduce, "REDUCE_ALL"),
    "REDUCE_ANY": partial(_reduce, "REDUCE_ANY"),
    **{f"SELECT_V2-{type}": partial(_select, type) for type in ("int8", "int16", "int32", "float32")},
    "SELECT": _rank_one_select,
    **{
        f"CAST-{source}-{target}": partial(_cast, source, target)
        for source in ("int8", "int16", "int32", "float32", "bool")
        for target in ("int8", "int16", "int32", "float32")
        if source != target
    },
    "CAST-float32-bool": partial(_cast, "float32", "bool"),
    "CAST-int64-int32": partial(_cast, "int64", "int32"),
    **{f"{name}-int32": partial(_integers, name, "int32", activation) for name, activation in _ARITHMETIC.items()},
    **{f"{name}-int64": partial(_integers, name, "int64", None) for name in ("MAXIMUM", "MINIMUM")},
    "DIV-int32": partial(_integers, "DIV", "int32", 0),
    "FLOOR_DIV-int32": partial(_integers, "FLOOR_DIV", "int32", None),
    "FLOOR_MOD-int64": partial(_integers, "FLOOR_MOD", "int64", None),
    **{f"CUMSUM-{type}": partial(_cumulative_sum, type) for type in ("int8", "int32", "int64", "float32")},
    **{f"ZEROS_LIKE-{type}": partial(_zeros, type) for type in ("int8", "int32", "int64", "float32")},
    **{f"FILL-{type}": partial(_fill, type) for type in ("int8", "int32", "float32")},
    **{f"BROADCAST_TO-{type}": partial(_broadcast, type) for type in ("int8", "int32", "float32", "bool")},
    **{f"BROADCAST_ARGS-{type}": partial(_broadcast_args, type) for type in ("int32", "int64")},
    "DYNAMIC_UPDATE_SLICE-int8": partial(_update_slice, "int8", "int32"),
    "DYNAMIC_UPDATE_SLICE-float32": partial(_update_slice, "float32", "int64"),
    "DYNAMIC_UPDATE_SLICE-int32": partial(_update_slice, "int32", "int32"),
    **{f"TOPK_V2-{type}": partial(_top_k, type) for type in ("int8", "int16", "int32", "int64", "float32")},
    **{f"{name}-int32": partial(_position, name) for name in ("ARG_MAX", "ARG_MIN")},
    "L2_POOL_2D": _l2_pool,
    "ADD_N-int8": _add_n,
    "DIV-int8": _divide,
    "LOG_SOFTMAX-int8": _log_softmax,
    "L2_NORMALIZATION-int8": _l2_normalization,
    "ABS-int16": partial(_unary_int16, "ABS"),
    "RSQRT-int16": partial(_unary_int16, "RSQRT"),
    "BATCH_MATMUL-int16": _matmul_int16,
    **{f"PADV2-{type}": partial(_pad_with, type) for type in ("int16", "int32")},
    **{f"{name}-int16": partial(_resized, name) for name in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR")},
    **{
        f"GATHER_ND-{type}-{depth}": partial(_gather_nd, type, depth)
        for type, depth in (("int8", 1), ("float32", 2), ("int8", 3))
    },
    **{f"ONE_HOT-{type}": partial(_one_hot, type, "int32") for type in ("int8", "int32", "float32", "bool")},
    "ONE_HOT-int64-float32": partial(_one_hot, "float32", "int64"),
    **{
        f"SCATTER_ND-{type}-{depth}": partial(_scatter, type, depth)
        for type, depth in (("int8", 1), ("float32", 2), ("int32", 3))
    },
    **{f"SIGN-{type}": partial(_sign, type) for type in ("int32", "float32")},
    "RANK": _rank,
    **{f"REVERSE_SEQUENCE-{type}": partial(_reverse_sequence, type) for type in ("int16", "int32", "float32")},
    **{f"{name}-int32": partial(_bits, name) for name in ("BITWISE_XOR", "RIGHT_SHIFT")},
    "ATAN2": _angle,
    "LOCAL_RESPONSE_NORMALIZATION": _local_response,
    "REDUCE_PROD": _product,
}
"""One operator and element type each."""


def model_of(cases: Sequence[str], seed: int) -> NumberModel:
    """Random models of the cases, side by side."""
    model = NumberModel(np.random.default_rng(seed))
    for case in cases:
        CASES[case](model)
    return model
