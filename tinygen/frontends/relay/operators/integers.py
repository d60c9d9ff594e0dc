"""Operators on quantized integers (qnn), and those on real numbers that stand between them.

TVM computes with integers and scales; here each layer stands as ONNX has it, on real numbers between DequantizeLinear
and QuantizeLinear. Its int32 sums are the same; how these are rounded is tinygen's own rule (`docs/relay.md`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from onnx import helper

from tinygen.frontends.relay.call import ProductSum, Reader, RelayCall, Value, Wide, WideOrigin
from tinygen.frontends.relay.emitter import Emitter, Meaning, Wired
from tinygen.frontends.relay.operators import real
from tinygen.frontends.relay.operators.layer import filters, pool
from tinygen.ir.types import Array

_STORED = (np.dtype(np.int8), np.dtype(np.uint8))
_INT32 = np.iinfo(np.int32)
_ROUNDING = ("None", "UPWARD", "TONEAREST")
_UNARY = {
    "abs": "Abs",
    "erf": "Erf",
    "exp": "Exp",
    "hardswish": "HardSwish",
    "log": "Log",
    "sigmoid": "Sigmoid",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
}


def _meaning(call: RelayCall, scale: int, zero_point: int, axis: int = 0) -> Meaning:
    """What two constant arguments say of integers: a scale and a zero point for all, or for each channel."""
    return _quantized(call.known(scale), call.known(zero_point), axis)


def _quantized(scale: Array, zero_point: Array, axis: int = 0) -> Meaning:
    scales, points = (each.reshape(()) if each.size == 1 else each for each in (scale, zero_point))
    if scales.dtype.kind != "f" or not np.all((scales.astype(np.float64) > 0) & (scales.astype(np.float64) < np.inf)):
        raise ValueError("its scale was expected to be positive")
    if scales.ndim > 1 or points.ndim > 1 or points.dtype.kind not in "iu":
        raise ValueError("a scale and an integer as zero point were expected, of all or of each channel")
    return Meaning(scales.astype(np.float32), points.astype(np.int64), axis)


def _limits(dtype: np.dtype[np.generic]) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    if dtype not in (*_STORED, np.int32):
        raise ValueError(f"an operand is {dtype}, int8 or uint8 was expected")
    limits = np.iinfo(dtype.name)
    return int(limits.min), int(limits.max)


def _one(quantized: Meaning) -> Meaning:
    if quantized.scale.ndim or quantized.zero_point.ndim:
        raise ValueError("scales of channels were found, one scale and zero point was expected")
    return quantized


def _parameters(emitter: Emitter, quantized: Meaning, dtype: np.dtype[np.generic]) -> tuple[Wired, Wired]:
    least, most = _limits(dtype)
    points = quantized.zero_point.astype(np.int64)
    if np.any((points < least) | (points > most)):
        raise ValueError(f"its zero point was expected to be of type {dtype}")
    shape = np.broadcast_shapes(quantized.scale.shape, points.shape)
    scales = np.broadcast_to(quantized.scale, shape)
    return emitter.constant(scales.copy()), emitter.constant(np.broadcast_to(points, shape).astype(dtype))


def _decoded(emitter: Emitter, value: Wired, quantized: Meaning) -> Wired:
    """The real numbers that integers stand for."""
    if value.dtype not in (*_STORED, np.int32):
        raise ValueError(f"an operand is {value.dtype}, int8 or uint8 was expected")
    rank, count = len(value.shape), max(quantized.scale.size, quantized.zero_point.size)
    if count > 1 and not (-rank <= quantized.axis < rank and value.shape[quantized.axis] == count):
        raise ValueError(f"{count} scales were found for shape {list(value.shape)}, one for each channel was expected")
    settings = {"axis": quantized.axis % rank} if count > 1 else {}
    return emitter.emit("DequantizeLinear", [value, *_parameters(emitter, quantized, value.dtype)], settings)


def _encoded(emitter: Emitter, value: Wired, quantized: Meaning, dtype: np.dtype[np.generic]) -> Wired:
    """Integers that stand for real numbers."""
    if dtype not in _STORED:
        raise ValueError(f"its result is {dtype}, int8 or uint8 was expected")
    parameters = _parameters(emitter, _one(quantized), dtype)
    return emitter.emit("QuantizeLinear", [value, *parameters], quantized=quantized)


def _out_type(call: RelayCall, default: str) -> np.dtype[np.generic]:
    name = call.text("out_dtype", default)
    if name not in ("int8", "uint8", "int32", "float32"):
        raise ValueError(f"attribute out_dtype is '{name}', int8, uint8, int32 or float32 was expected")
    return np.dtype(name)


def _quantize(call: RelayCall) -> Value:
    call.count(3)
    call.ignore("axis")
    return _encoded(call.emitter, call.real(0), _meaning(call, 1, 2), _out_type(call, "int8"))


def _dequantize(call: RelayCall) -> Value:
    call.count(3)
    call.check_type("out_dtype", "float32")
    value = call.arguments[0]
    meaning = _meaning(call, 1, 2, call.integer("axis", -1))
    if isinstance(value, ProductSum):
        return _layer(value, meaning)
    if isinstance(value, Wide):
        raise ValueError("int32 that nothing has cast is dequantized, int8 or uint8 was expected")
    return _decoded(call.emitter, call.tensor(0), meaning)


def _layer(sums: ProductSum, meaning: Meaning) -> Wired:
    if np.any(meaning.zero_point):
        raise ValueError("sums with a zero point were found, 0 was expected")
    if meaning.scale.ndim and meaning.scale.shape != (sums.shape[sums.axis],):
        raise ValueError(f"{meaning.scale.size} scales were found for {sums.shape[sums.axis]} channels")
    return sums.layer(meaning.scale, sums.bias)


def _requantize(call: RelayCall) -> Value:
    call.count(5)
    call.ignore("compute_dtype")
    if (rounding := call.text("rounding", "None")) not in _ROUNDING:
        raise ValueError(f"attribute rounding is '{rounding}', one of {', '.join(_ROUNDING)} was expected")
    value, axis = call.arguments[0], call.integer("axis", -1)
    before, after, dtype = _meaning(call, 1, 2, axis), _one(_meaning(call, 3, 4)), _out_type(call, "int8")
    if isinstance(value, ProductSum):
        if before.scale.ndim and axis % len(value.shape) != value.axis:
            raise ValueError(f"attribute axis is {axis}, that of the channels was expected")
        number = _layer(value, before)
    elif isinstance(value, Wide):
        if (before.scale, before.zero_point) != (value.quantized.scale, value.quantized.zero_point):
            raise ValueError("int32 integers were given another scale than they have, the same was expected")
        _check_origin(value, WideOrigin.CAST, WideOrigin.AVERAGE)
        number = value.real
    else:
        number = _decoded(call.emitter, call.tensor(0), before)
    if dtype == np.int32:
        return Wide(WideOrigin.REQUANTIZED, number, after, _INT32.min, _INT32.max)
    return _encoded(call.emitter, number, after, dtype)


def _check_origin(value: Wide, *origins: WideOrigin) -> None:
    """ValueError where integers have been rounded or limited, which their real numbers do not show."""
    if value.origin not in origins:
        raise ValueError(f"int32 behind {value.origin.value} was found, a cast to int8 or uint8 between was expected")


def _weight_scale(sums: Array, input: Array, own: Array) -> Array:
    """The scale of weights whose sums with inputs have a certain one: the requantization says which, not the layer."""
    product: Array = np.multiply(input, own, dtype=np.float32)
    if np.array_equal(np.broadcast_to(product, np.broadcast_shapes(sums.shape, own.shape)), sums):
        return own
    return np.divide(sums, input, dtype=np.float64).astype(np.float32)


def _summed(
    call: RelayCall,
    axis: int,
    shape: tuple[int, ...],
    weights: Array,
    layer: Callable[[Wired, list[Wired]], Wired],
) -> ProductSum:
    """The sums of a layer whose arguments are input, weights, their zero points, their scales; outputs come first."""
    input, emitter, name = call.tensor(0), call.emitter, call.tensor(1).name
    if input.dtype not in _STORED or weights.dtype not in _STORED:
        raise ValueError(f"inputs are {input.dtype} and weights {weights.dtype}, int8 or uint8 were expected")
    call.check_type("out_dtype", "int32")
    of_input, of_weights = _one(_meaning(call, 4, 2)), _meaning(call, 5, 3)
    real_input = _decoded(emitter, input, of_input)

    def made(scale: Array, bias: Array | None) -> Wired:
        chosen = replace(of_weights, scale=_weight_scale(scale, of_input.scale, of_weights.scale))
        operands = [_decoded(emitter, emitter.constant(weights, name), chosen)]
        if bias is not None:
            of_bias = Meaning(np.multiply(of_input.scale, chosen.scale, dtype=np.float32), np.zeros((), np.int64))
            operands.append(_decoded(emitter, emitter.constant(bias), of_bias))
        return layer(real_input, operands)

    return ProductSum(made, shape, axis)


def _conv2d(call: RelayCall) -> Value:
    call.count(6)
    layout, image = call.layout("data_layout"), call.tensor(0)
    rows = 1 if layout == "NCHW" else 3
    if len(image.shape) != 4:
        raise ValueError(f"its operand has {len(image.shape)} axes, 4 were expected")
    stored, attributes = filters(call, call.known(1), image.shape[rows])

    def layer(input: Wired, operands: list[Wired]) -> Wired:
        found = call.emitter.emit("Conv", [call.first(input, layout), *operands], attributes)
        return call.as_laid_out(found, layout)

    shape = [1, 1, 1, 1]
    shape[rows] = stored.shape[0]
    return _summed(call, rows, tuple(shape), stored, layer)


def _dense(call: RelayCall) -> Value:
    call.count(6)
    call.ignore("units")
    weights, input = call.known(1), call.tensor(0)
    if weights.ndim != 2 or len(input.shape) != 2:
        raise ValueError("a matrix and weights (units, inputs) were expected")

    def layer(input: Wired, operands: list[Wired]) -> Wired:
        return call.emitter.emit("Gemm", [input, *operands], {"transB": 1})

    return _summed(call, 1, (1, weights.shape[0]), weights, layer)


def _binary(operator: str) -> Reader:
    def read(call: RelayCall) -> Value:
        call.count(8)
        call.ignore("lhs_axis", "rhs_axis")
        operands = [
            _decoded(call.emitter, call.tensor(position), _one(_meaning(call, scale, scale + 1)))
            for position, scale in ((0, 2), (1, 4))
        ]
        found = call.emitter.emit(operator, operands)
        return _encoded(call.emitter, found, _meaning(call, 6, 7), call.tensor(0).dtype)

    return read


def _unary(operator: str, settings: Callable[[RelayCall, int], Mapping[str, object]] | None = None) -> Reader:
    def read(call: RelayCall) -> Value:
        call.count(5)
        value = call.tensor(0)
        attributes = settings(call, len(value.shape)) if settings else {}
        found = call.emitter.emit(operator, [_decoded(call.emitter, value, _one(_meaning(call, 1, 2)))], attributes)
        return _encoded(call.emitter, found, _meaning(call, 3, 4), value.dtype)

    return read


def _concatenate(call: RelayCall) -> Value:
    call.count(5)
    parts, scales, points = (call.group(position) for position in range(3))
    if not len(parts) == len(scales) == len(points):
        raise ValueError("a scale and a zero point for each part were expected")
    decoded, types = [], set()
    for part, scale, point in zip(parts, scales, points, strict=True):
        inner = replace(call, arguments=(part, scale, point))
        types.add(inner.tensor(0).dtype)
        decoded.append(_decoded(call.emitter, inner.tensor(0), _one(_meaning(inner, 1, 2))))
    if len(types) != 1:
        raise ValueError("parts of one type were expected")
    found = call.emitter.emit("Concat", decoded, {"axis": call.axis(len(decoded[0].shape), 0)})
    return _encoded(call.emitter, found, _meaning(call, 3, 4), types.pop())


def _with_bias(sums: ProductSum, bias: Array, axis: int) -> ProductSum:
    """Sums and an int32 constant of their channels, whose only axis of more than one element is `axis`."""
    channels = sums.shape[sums.axis]
    if sums.is_limited:
        raise ValueError("a summand behind nn.relu was found, one before it was expected")
    if bias.dtype != np.int32 or bias.size not in (1, channels) or (bias.size > 1 and axis != sums.axis):
        raise ValueError(f"sums and a summand of shape {list(bias.shape)} were found, int32 of channels was expected")
    flat = np.broadcast_to(bias.reshape(-1), (channels,)).astype(np.int64)
    total = flat if sums.bias is None else np.add(flat, sums.bias.astype(np.int64))
    if np.any((total < _INT32.min) | (total > _INT32.max)):
        raise ValueError("its summands are beyond int32 together")
    return replace(sums, bias=total.astype(np.int32))


def _bias_add(call: RelayCall) -> Value:
    value = call.arguments[0] if call.arguments else None
    if not isinstance(value, ProductSum):
        return real.bias_add(call)
    call.count(2)
    rank = len(value.shape)
    return _with_bias(value, call.known(1), call.axis(rank, 1))


def _arithmetic(operator: str) -> Reader:
    """Of real numbers and of constants; integers only where they are the bias of a layer."""

    def read(call: RelayCall) -> Value:
        call.count(2)
        one, two = call.arguments
        sums = next((each for each in (one, two) if isinstance(each, ProductSum)), None)
        if sums is not None and operator == "Add":
            bias = replace(call, arguments=(two if one is sums else one,)).known(0)
            sizes = np.array(bias.shape[::-1])
            places = [len(sums.shape) - 1 - int(place) for place in np.flatnonzero(sizes > 1)]
            if len(places) > 1:
                raise ValueError(f"a summand of shape {list(bias.shape)} was found, one of channels was expected")
            return _with_bias(sums, bias, places[0] if places else sums.axis)
        operands = [call.tensor(0), call.tensor(1)]
        is_known = all(operand.data is not None for operand in operands)
        if operands[0].dtype != operands[1].dtype or not (operands[0].dtype == np.float32 or is_known):
            raise ValueError(f"operands are {operands[0].dtype} and {operands[1].dtype}, float32 was expected")
        return call.emitter.emit(operator, operands)

    return read


def _clip(call: RelayCall) -> Value:
    call.count(1)
    low, high = call.number("a_min"), call.number("a_max")
    if not low <= high:
        raise ValueError(f"limits {low:g} and {high:g} were found, the lower one first was expected")
    return _limited(call, low, high)


def _limited(call: RelayCall, low: float, high: float) -> Value:
    value = call.arguments[0]
    if isinstance(value, Wide):
        limits = max(value.low, int(np.ceil(low))), min(value.high, int(np.floor(high)))
        if limits[0] > limits[1]:
            raise ValueError(f"nothing is between {limits[0]} and {limits[1]}, integers were expected")
        return replace(value, origin=WideOrigin.LIMITED, low=limits[0], high=limits[1])
    given = call.tensor(0)
    if given.dtype in _STORED:
        least, most = _limits(given.dtype)
        low, high = max(float(np.ceil(low)), least), min(float(np.floor(high)), most)
        if low > high:
            raise ValueError(f"nothing is between {low:g} and {high:g}, integers were expected")
    elif given.dtype != np.float32:
        raise ValueError(f"its operand is {given.dtype}, float32, int8 or uint8 was expected")
    bounds = [call.emitter.constant(np.array(each, given.dtype)) for each in (low, high)]
    return call.emitter.emit("Clip", [given, *bounds], quantized=given.quantized)


def _relu(call: RelayCall) -> Value:
    call.count(1)
    value = call.arguments[0]
    if isinstance(value, ProductSum):

        def layer(scale: Array, bias: Array | None) -> Wired:
            return call.emitter.emit("Relu", [value.layer(scale, bias)])

        return replace(value, layer=layer, is_limited=True)
    if isinstance(value, Wired) and value.dtype == np.float32:
        return call.emitter.emit("Relu", [value])
    return _limited(call, 0.0, float(_INT32.max))


def _cast(call: RelayCall) -> Value:
    call.count(1)
    value, name = call.arguments[0], call.text("dtype", "")
    if name not in ("int8", "uint8", "int32", "float32", "int64"):
        raise ValueError(f"attribute dtype is '{name}', int8, uint8, int32, int64 or float32 was expected")
    dtype = np.dtype(name)
    if isinstance(value, Wide):
        return value if dtype == np.int32 else _narrowed(call, value, dtype)
    given = call.tensor(0)
    if given.dtype == dtype:
        return given
    if given.data is not None:
        return call.emitter.emit("Cast", [given], {"to": helper.np_dtype_to_tensor_dtype(dtype)})
    if given.dtype in _STORED and dtype == np.int32:
        meaning = given.quantized or Meaning(np.ones((), np.float32), np.zeros((), np.int64))
        return Wide(WideOrigin.CAST, _decoded(call.emitter, given, meaning), meaning, *_limits(given.dtype))
    raise ValueError(f"{given.dtype} is cast to {dtype}, which is no step of a quantized network")


def _narrowed(call: RelayCall, value: Wide, dtype: np.dtype[np.generic]) -> Wired:
    """What was limited to a type, in it."""
    if dtype not in _STORED:
        raise ValueError(f"int32 is cast to {dtype}, int8 or uint8 was expected")
    least, most = _limits(dtype)
    if value.low < least or value.high > most:
        raise ValueError(f"int32 between {value.low} and {value.high} is cast to {dtype}, a clip before was expected")
    found = _encoded(call.emitter, value.real, value.quantized, dtype)
    if (value.low, value.high) == (least, most):
        return found
    limits = [call.emitter.constant(np.array(each, dtype)) for each in (value.low, value.high)]
    return call.emitter.emit("Clip", [found, *limits], quantized=found.quantized)


def _averaged(reader: Reader) -> Reader:
    """An average of real numbers; of integers in int32, of what they stand for."""

    def read(call: RelayCall) -> Value:
        value = call.arguments[0] if call.arguments else None
        if not isinstance(value, Wide):
            return reader(call)
        _check_origin(value, WideOrigin.CAST)
        found = reader(replace(call, arguments=(value.real,)))
        return replace(value, origin=WideOrigin.AVERAGE, real=found) if isinstance(found, Wired) else found

    return read


def _average_pool(call: RelayCall) -> Value:
    call.count(5)
    value = call.tensor(0)
    found = pool(call, _decoded(call.emitter, value, _one(_meaning(call, 1, 2))), "AveragePool")
    return _encoded(call.emitter, found, _meaning(call, 3, 4), value.dtype)


READERS: Mapping[str, Reader] = {
    **{f"qnn.{name}": _unary(operator) for name, operator in _UNARY.items()},
    "add": _arithmetic("Add"),
    "cast": _cast,
    "clip": _clip,
    "divide": _arithmetic("Div"),
    "maximum": _arithmetic("Max"),
    "mean": _averaged(real.READERS["mean"]),
    "minimum": _arithmetic("Min"),
    "multiply": _arithmetic("Mul"),
    "nn.avg_pool2d": _averaged(real.READERS["nn.avg_pool2d"]),
    "nn.bias_add": _bias_add,
    "nn.global_avg_pool2d": _averaged(real.READERS["nn.global_avg_pool2d"]),
    "nn.relu": _relu,
    "qnn.add": _binary("Add"),
    "qnn.avg_pool2d": _average_pool,
    "qnn.concatenate": _concatenate,
    "qnn.conv2d": _conv2d,
    "qnn.dense": _dense,
    "qnn.dequantize": _dequantize,
    "qnn.leaky_relu": _unary("LeakyRelu", lambda call, _: {"alpha": call.number("alpha")}),
    "qnn.mul": _binary("Mul"),
    "qnn.quantize": _quantize,
    "qnn.requantize": _requantize,
    "qnn.softmax": _unary("Softmax", lambda call, rank: {"axis": call.axis(rank, -1)}),
    "qnn.subtract": _binary("Sub"),
    "subtract": _arithmetic("Sub"),
}
