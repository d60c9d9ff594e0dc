"""int16 activations with int8 weights: the references against LiteRT's, on random models."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedOperatorsError
from tinygen.ir.types import Array
from tinygen.ops.interpolated import Interpolated
from tinygen.ops.real_function import Reals

SEEDS = 25
NONE, RELU, RELU6 = 0, 1, 3
SAME, VALID = 0, 1


@dataclass(frozen=True)
class Model:
    """A file with random inputs for it."""

    file: bytes
    inputs: list[Array]


def _values(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Extreme values now and then."""
    if rng.random() < 0.2:
        return rng.choice(np.array([-32768, 32767], np.int16), shape)
    return (rng.integers(-32768, 32768, shape) >> int(rng.integers(0, 8))).astype(np.int16)


def _scale(rng: np.random.Generator, low: float = 1e-4, high: float = 1e-2) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _window(rng: np.random.Generator) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Filter, stride, padding."""
    filter, stride = rng.integers(1, 4, 2), rng.integers(1, 3, 2)
    return (int(filter[0]), int(filter[1])), (int(stride[0]), int(stride[1])), int(rng.integers(0, 2))


def _output_shape(size: tuple[int, int], filter: tuple[int, int], stride: tuple[int, int], padding: int) -> list[int]:
    reduced = [s if padding == SAME else s - f + 1 for s, f in zip(size, filter, strict=True)]
    return [-(-r // step) for r, step in zip(reduced, stride, strict=True)]


def _filters(
    writer: ModelWriter, rng: np.random.Generator, shape: tuple[int, ...], axis: int, input_scale: float, channels: int
) -> tuple[list[int], float]:
    """Weights and bias, without which LiteRT refuses int16; an output scale that leaves a few outputs to be clamped."""
    scales = [_scale(rng, 1e-3, 1e-1) for _ in range(channels)]
    data = rng.integers(-127, 128, shape)
    weights = writer.tensor("w", shape, "int8", scale=scales, axis=axis, data=data)
    largest = input_scale * max(scales) * 32768 * 64 * np.sqrt(data.size / channels)
    bias = rng.integers(-(1 << 34), 1 << 34, channels) >> int(rng.integers(0, 30))
    stored = writer.tensor("b", (channels,), "int64", scale=[input_scale * s for s in scales], data=bias)
    return [weights, stored], largest / 32768


def convolution(rng: np.random.Generator) -> Model:
    writer, (filter, stride, padding) = ModelWriter(), _window(rng)
    depth, channels = (int(n) for n in rng.integers(1, 9, 2))
    shape, scale = (1, 5, 6, depth), _scale(rng)
    x = writer.tensor("x", shape, "int16", scale=scale)
    operands, output_scale = _filters(writer, rng, (channels, *filter, depth), 0, scale, channels)
    output_shape = (1, *_output_shape((5, 6), filter, stride, padding), channels)
    y = writer.tensor("y", output_shape, "int16", scale=output_scale)
    writer.operator(
        "CONV_2D", [x, *operands], [y], stride_h=stride[0], stride_w=stride[1], padding=padding,
        fused_activation_function=int(rng.choice([NONE, RELU, RELU6])), version=4,
    )  # fmt: skip
    return Model(writer.finish([x], [y]), [_values(rng, shape)])


def depthwise(rng: np.random.Generator) -> Model:
    writer, (filter, stride, padding) = ModelWriter(), _window(rng)
    depth, multiplier = int(rng.integers(1, 9)), int(rng.integers(1, 3))
    channels, shape, scale = depth * multiplier, (1, 5, 6, depth), _scale(rng)
    x = writer.tensor("x", shape, "int16", scale=scale)
    operands, output_scale = _filters(writer, rng, (1, *filter, channels), 3, scale, channels)
    output_shape = (1, *_output_shape((5, 6), filter, stride, padding), channels)
    y = writer.tensor("y", output_shape, "int16", scale=output_scale)
    writer.operator(
        "DEPTHWISE_CONV_2D", [x, *operands], [y], stride_h=stride[0], stride_w=stride[1], padding=padding,
        depth_multiplier=multiplier, fused_activation_function=int(rng.choice([NONE, RELU, RELU6])), version=5,
    )  # fmt: skip
    return Model(writer.finish([x], [y]), [_values(rng, shape)])


def fully_connected(rng: np.random.Generator) -> Model:
    writer = ModelWriter()
    rows, features, units = (int(n) for n in rng.integers(1, 20, 3))
    x = writer.tensor("x", (rows, features), "int16", scale=0.001)
    w = writer.tensor("w", (units, features), "int8", scale=0.02, data=rng.integers(-127, 128, (units, features)))
    b = writer.tensor("b", (units,), "int64", scale=0.00002, data=rng.integers(-(1 << 20), 1 << 20, units))
    y = writer.tensor("y", (rows, units), "int16", scale=_scale(rng, 1e-3, 1e-1))
    writer.operator("FULLY_CONNECTED", [x, w, b], [y], version=7)
    return Model(writer.finish([x], [y]), [_values(rng, (rows, features))])


def average_pool(rng: np.random.Generator) -> Model:
    return _pool(rng, "AVERAGE_POOL_2D")


def max_pool(rng: np.random.Generator) -> Model:
    return _pool(rng, "MAX_POOL_2D")


def _pool(rng: np.random.Generator, name: str) -> Model:
    writer, (filter, stride, padding) = ModelWriter(), _window(rng)
    shape, scale = (1, 5, 6, int(rng.integers(1, 9))), _scale(rng)
    x = writer.tensor("x", shape, "int16", scale=scale)
    y = writer.tensor("y", (1, *_output_shape((5, 6), filter, stride, padding), shape[3]), "int16", scale=scale)
    writer.operator(
        name, [x], [y], filter_height=filter[0], filter_width=filter[1], stride_h=stride[0], stride_w=stride[1],
        padding=padding, fused_activation_function=int(rng.choice([NONE, RELU, RELU6])), version=3,
    )  # fmt: skip
    return Model(writer.finish([x], [y]), [_values(rng, shape)])


def addition(rng: np.random.Generator) -> Model:
    writer, operands, result, inputs = _binary(rng, _scale(rng, 1e-3, 1e-2))
    activation = int(rng.choice([NONE, RELU, RELU6]))
    writer.operator(
        "ADD", operands, [result], version=4, fused_activation_function=activation, pot_scale_int16=False
    )  # fmt: skip
    return Model(writer.finish(operands, [result]), inputs)


def product(rng: np.random.Generator) -> Model:
    writer, operands, result, inputs = _binary(rng, _scale(rng, 1e-4, 1e-2))
    activation = int(rng.choice([NONE, RELU, RELU6]))
    writer.operator("MUL", operands, [result], version=4, fused_activation_function=activation)
    return Model(writer.finish(operands, [result]), inputs)


def _binary(rng: np.random.Generator, scale: float) -> tuple[ModelWriter, list[int], int, list[Array]]:
    """A writer with two operands and a result, and values for the operands."""
    writer, shape = ModelWriter(), (1, 3, 3, int(rng.integers(1, 9)))
    operands = [writer.tensor(name, shape, "int16", scale=_scale(rng)) for name in "ab"]
    result = writer.tensor("y", shape, "int16", scale=scale)
    return writer, operands, result, [_values(rng, shape) for _ in operands]


def softmax(rng: np.random.Generator) -> Model:
    writer, shape = ModelWriter(), (3, int(rng.choice([1, 2, 8, 12, 100])))
    x = writer.tensor("x", shape, "int16", scale=_scale(rng))
    y = writer.tensor("y", shape, "int16", scale=1 / 32768)
    writer.operator("SOFTMAX", [x], [y], beta=float(rng.choice([1.0, 0.5])), version=3)
    return Model(writer.finish([x], [y]), [_values(rng, shape)])


def sigmoid(rng: np.random.Generator) -> Model:
    return _function(rng, "LOGISTIC")


def tanh(rng: np.random.Generator) -> Model:
    return _function(rng, "TANH")


def _function(rng: np.random.Generator, name: str) -> Model:
    """On all inputs; scales that are powers of two, some of which TFLite treats apart."""
    writer, powers = ModelWriter(), [2.0**-n for n in range(9, 17)]
    scale = float(rng.choice(powers)) if rng.random() < 0.5 else _scale(rng, 1e-7, 2.6)
    x = writer.tensor("x", (1 << 16,), "int16", scale=scale)
    y = writer.tensor("y", (1 << 16,), "int16", scale=1 / 32768)
    writer.operator(name, [x], [y], version=3)
    return Model(writer.finish([x], [y]), [np.arange(-(1 << 15), 1 << 15).astype(np.int16)])


def widening_softmax(rng: np.random.Generator) -> Model:
    writer, shape = ModelWriter(), (3, int(rng.choice([1, 2, 8, 12, 100])))
    x = writer.tensor("x", shape, "int8", scale=_scale(rng, 1e-3, 0.2), zero_point=int(rng.integers(-128, 128)))
    y = writer.tensor("y", shape, "int16", scale=1 / 65536, zero_point=-32768)
    writer.operator("SOFTMAX", [x], [y], beta=float(rng.choice([1.0, 0.5])), version=3)
    return Model(writer.finish([x], [y]), [rng.integers(-128, 128, shape, np.int8)])


def quantize(rng: np.random.Generator) -> Model:
    writer, scale = ModelWriter(), _scale(rng)
    x = writer.tensor("x", (500,), "float32")
    y = writer.tensor("y", (500,), "int16", scale=scale)
    writer.operator("QUANTIZE", [x], [y])
    ties = rng.integers(-70000, 70000, 500) / 2 * np.float32(scale)
    return Model(writer.finish([x], [y]), [ties.astype(np.float32)])


def dequantize(rng: np.random.Generator) -> Model:
    writer = ModelWriter()
    x = writer.tensor("x", (500,), "int16", scale=_scale(rng))
    y = writer.tensor("y", (500,), "float32")
    writer.operator("DEQUANTIZE", [x], [y], version=3)
    return Model(writer.finish([x], [y]), [_values(rng, (500,))])


def widening(rng: np.random.Generator) -> Model:
    writer = ModelWriter()
    x = writer.tensor("x", (256,), "int8", scale=_scale(rng, 1e-3, 1e-1), zero_point=int(rng.integers(-128, 128)))
    y = writer.tensor("y", (256,), "int16", scale=_scale(rng, 1e-4, 1e-2))
    writer.operator("QUANTIZE", [x], [y], version=2)
    return Model(writer.finish([x], [y]), [np.arange(-128, 128).astype(np.int8)])


def narrowing(rng: np.random.Generator) -> Model:
    writer = ModelWriter()
    x = writer.tensor("x", (500,), "int16", scale=_scale(rng, 1e-4, 1e-2))
    y = writer.tensor("y", (500,), "int8", scale=_scale(rng, 1e-3, 1e-1), zero_point=int(rng.integers(-128, 128)))
    writer.operator("QUANTIZE", [x], [y], version=2)
    return Model(writer.finish([x], [y]), [_values(rng, (500,))])


def rescaling(rng: np.random.Generator) -> Model:
    writer = ModelWriter()
    x = writer.tensor("x", (500,), "int16", scale=_scale(rng))
    y = writer.tensor("y", (500,), "int16", scale=_scale(rng))
    writer.operator("QUANTIZE", [x], [y], version=2)
    return Model(writer.finish([x], [y]), [_values(rng, (500,))])


def rectifier(rng: np.random.Generator) -> Model:
    writer = ModelWriter()
    x = writer.tensor("x", (500,), "int16", scale=_scale(rng))
    y = writer.tensor("y", (500,), "int16", scale=_scale(rng))
    name = str(rng.choice(["RELU", "RELU6"]))
    writer.operator(name, [x], [y], version=3)
    return Model(writer.finish([x], [y]), [_values(rng, (500,))])


def mean(rng: np.random.Generator) -> Model:
    writer = ModelWriter()
    shape = (int(rng.integers(1, 3)), *(int(n) for n in rng.integers(1, 8, 3)))
    axes = ((1, 2), (1,), (3,))[int(rng.integers(0, 3))]
    scale = _scale(rng)
    x = writer.tensor("x", shape, "int16", scale=scale)
    axis = writer.tensor("axes", (len(axes),), "int32", data=np.array(axes))
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    y = writer.tensor("y", kept, "int16", scale=float(rng.choice([scale, scale / 2, _scale(rng)])))
    writer.operator("MEAN", [x, axis], [y], keep_dims=True, version=3)
    return Model(writer.finish([x], [y]), [_values(rng, shape)])


def _broadcast(rng: np.random.Generator, name: str, scale: float | None = None, **options: bool | int) -> Model:
    """Operands of the same shape or not; all of one scale where one is given."""
    writer, shape = ModelWriter(), (2, 3, 4, int(rng.integers(1, 9)))
    shapes = [shape, (shape, shape[-1:], (1, 3, 1, 1), (1,))[int(rng.integers(0, 4))]]
    if rng.random() < 0.5 and name != "PRELU":
        shapes.reverse()
    operands = [
        writer.tensor(f"x{number}", extent, "int16", scale=scale or _scale(rng)) for number, extent in enumerate(shapes)
    ]
    result = writer.tensor("y", shape, "int16", scale=scale or _scale(rng, 1e-3, 1e-2))
    writer.operator(name, operands, [result], **options)  # type: ignore[arg-type]
    return Model(writer.finish(operands, [result]), [_values(rng, extent) for extent in shapes])


def broadcast_addition(rng: np.random.Generator) -> Model:
    return _broadcast(rng, "ADD", version=4, pot_scale_int16=False)


def broadcast_subtraction(rng: np.random.Generator) -> Model:
    return _broadcast(rng, "SUB", version=5, pot_scale_int16=False, fused_activation_function=NONE)


def broadcast_product(rng: np.random.Generator) -> Model:
    return _broadcast(rng, "MUL", version=4)


def maximum(rng: np.random.Generator) -> Model:
    return _broadcast(rng, "MAXIMUM", _scale(rng), version=3)


def minimum(rng: np.random.Generator) -> Model:
    return _broadcast(rng, "MINIMUM", _scale(rng), version=3)


def leaky_relu(rng: np.random.Generator) -> Model:
    writer = ModelWriter()
    x = writer.tensor("x", (500,), "int16", scale=_scale(rng))
    y = writer.tensor("y", (500,), "int16", scale=_scale(rng))
    writer.operator("LEAKY_RELU", [x], [y], alpha=float(rng.uniform(0.01, 1.5)), version=2)
    return Model(writer.finish([x], [y]), [_values(rng, (500,))])


def wide_integers(rng: np.random.Generator) -> Model:
    """Through int32: TFLM's audio networks do so at their ends."""
    writer = ModelWriter()
    x = writer.tensor("x", (500,), "int16", scale=_scale(rng))
    wide = writer.tensor("wide", (500,), "int32", scale=_scale(rng, 1e-7, 1e-5))
    y = writer.tensor("y", (500,), "int16", scale=_scale(rng))
    writer.operator("QUANTIZE", [x], [wide], version=2)
    writer.operator("QUANTIZE", [wide], [y], version=2)
    return Model(writer.finish([x], [y]), [_values(rng, (500,))])


def transpose_conv(rng: np.random.Generator) -> Model:
    writer, (filter, stride, padding) = ModelWriter(), _window(rng)
    depth, channels, scale = int(rng.integers(1, 9)), int(rng.integers(1, 9)), _scale(rng)
    size = [
        extent * step if padding == SAME else (extent - 1) * step + taps
        for extent, step, taps in zip((3, 4), stride, filter, strict=True)
    ]
    operands, output_scale = _filters(writer, rng, (channels, *filter, depth), 0, scale, channels)
    given = None if rng.random() < 0.5 else np.array([1, *size, channels])
    shape = writer.tensor("shape", (4,), "int32", data=given)
    x = writer.tensor("x", (1, 3, 4, depth), "int16", scale=scale)
    y = writer.tensor("y", (1, *size, channels), "int16", scale=output_scale)
    operands = [shape, operands[0], x, operands[1]]
    writer.operator("TRANSPOSE_CONV", operands, [y], padding=padding, stride_h=stride[0], stride_w=stride[1])
    values: list[Array] = [_values(rng, (1, 3, 4, depth))]
    if given is not None:
        return Model(writer.finish([x], [y]), values)
    return Model(writer.finish([shape, x], [y]), [np.array([1, *size, channels], np.int32), *values])


def _reduced(rng: np.random.Generator, name: str) -> Model:
    writer, scale = ModelWriter(), _scale(rng)
    shape, axis = (2, 3, 5, 4), int(rng.integers(0, 4))
    x = writer.tensor("x", shape, "int16", scale=scale)
    axes = writer.tensor("axes", (1,), "int32", data=np.array([axis]))
    kept = tuple(1 if at == axis else size for at, size in enumerate(shape))
    y = writer.tensor("y", kept, "int16", scale=scale)
    writer.operator(name, [x, axes], [y], keep_dims=True, version=3)
    return Model(writer.finish([x], [y]), [_values(rng, shape)])


def reduce_max(rng: np.random.Generator) -> Model:
    return _reduced(rng, "REDUCE_MAX")


def reduce_min(rng: np.random.Generator) -> Model:
    return _reduced(rng, "REDUCE_MIN")


MODELS = (
    convolution, depthwise, fully_connected, average_pool, max_pool, addition, product, softmax,
    sigmoid, tanh, widening_softmax, quantize, dequantize, widening, narrowing, rescaling, rectifier, mean,
    broadcast_addition, broadcast_subtraction, broadcast_product, maximum, minimum, leaky_relu, wide_integers,
    transpose_conv, reduce_max, reduce_min,
)  # fmt: skip


@needs_litert
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_equals_litert(make: Callable[[np.random.Generator], Model]) -> None:
    for seed in range(SEEDS):
        model = make(np.random.default_rng(seed))
        [expected] = run_reference(model.file, model.inputs).outputs
        [computed] = evaluate(import_model(model.file), model.inputs)
        difference = np.abs(computed.astype(float) - expected).max()
        assert difference <= (make is fully_connected), seed  # LiteRT's keeps all bits of the multiplier


def _refused(zero_point: int = 0, bias_type: str = "int64", bias: int = 0) -> str:
    """The message about a convolution."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 2, 2, 1), "int16", scale=0.001, zero_point=zero_point)
    w = writer.tensor("w", (1, 1, 1, 1), "int8", scale=0.02, data=[[[[1]]]])
    b = writer.tensor("b", (1,), bias_type, scale=0.00002, data=[bias])
    y = writer.tensor("y", (1, 2, 2, 1), "int16", scale=0.001)
    writer.operator("CONV_2D", [x, w, b], [y], stride_h=1, stride_w=1, version=4)
    with pytest.raises(UnsupportedOperatorsError) as caught:
        import_model(writer.finish([x], [y]))
    return str(caught.value)


def test_refused_convolutions() -> None:
    assert "input 'x' is i16 with zero point 3, 0 was expected" in _refused(zero_point=3)
    assert "bias 'b' is i32, i64 was expected" in _refused(bias_type="int32")
    assert "bias 'b' reaches 140737488355328, at most 2**46 was expected" in _refused(bias=1 << 47)
    assert "bias 'b' reaches 9223372036854775808, at most 2**46" in _refused(bias=-(1 << 63))


@pytest.mark.parametrize(
    ("operator", "shapes", "reason"),
    [
        ("SQRT", [(1, 2, 3)], "is i16, i8 was expected"),
        ("FLOOR", [(1, 2, 3)], "is i16, i8 was expected"),
    ],
)
def test_refused_operators(operator: str, shapes: list[tuple[int, ...]], reason: str) -> None:
    writer = ModelWriter()
    inputs = [writer.tensor(f"x{n}", shape, "int16", scale=0.001) for n, shape in enumerate(shapes)]
    y = writer.tensor("y", shapes[0], "int16", scale=1 / 32768)
    writer.operator(operator, inputs, [y])
    with pytest.raises(UnsupportedOperatorsError, match=reason):
        import_model(writer.finish(inputs, [y]))


_ALL = np.arange(-32768, 32768).astype(np.int16)


def _of_all(operator: str, input_scale: float, output_scale: float) -> Model:
    """A function of every int16 value."""
    writer = ModelWriter()
    x = writer.tensor("x", _ALL.shape, "int16", scale=input_scale)
    y = writer.tensor("y", _ALL.shape, "int16", scale=output_scale)
    writer.operator(operator, [x], [y])
    return Model(writer.finish([x], [y]), [_ALL])


@needs_litert
@pytest.mark.parametrize(("operator", "scale"), [("EXP", 1.0), ("EXP", 2e-3), ("GELU", 3e-4), ("LOG", 1e-3)])
def test_tables_are_litert_s(operator: str, scale: float) -> None:
    model = _of_all(operator, 3e-4, scale)
    found = evaluate(import_model(model.file), model.inputs)
    np.testing.assert_array_equal(found[0], run_reference(model.file, model.inputs).outputs[0])


_REALS: dict[str, Callable[[Reals], Reals]] = {
    "COS": np.cos,
    "ELU": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "HARD_SWISH": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "SIN": np.sin,
    "SQUARE": np.square,
}


@pytest.mark.parametrize("operator", _REALS)
def test_functions_that_litert_lacks(operator: str) -> None:
    """Within the error that the operator states, which is below half a step of 8 bits, and rounding."""
    scale = {"COS": 1 / 32768, "SIN": 1 / 32768, "SQUARE": 4e-3}.get(operator, 3e-4)
    model = _of_all(operator, 3e-4, scale)
    (op,) = import_model(model.file).ops
    (found,) = evaluate(import_model(model.file), model.inputs)
    with np.errstate(all="ignore"):
        real = np.clip(_REALS[operator](_ALL * np.float64(np.float32(3e-4))) / np.float32(scale), -32768, 32767)
    stated = op.error / np.float32(scale) if isinstance(op, Interpolated) else 0.5 + 2**-10
    assert stated < 128
    assert np.abs(found.astype(np.float64) - real).max() <= stated + 2**-6  # by float32, in which it is stated


def test_tables_that_are_too_far_off() -> None:
    with pytest.raises(UnsupportedOperatorsError) as error:
        import_model(_of_all("SIN", 1.0, 1 / 32768).file)
    assert "a table of 513 entries is 64511 steps of 16 bits off, 128 at most were expected" in str(error.value)
