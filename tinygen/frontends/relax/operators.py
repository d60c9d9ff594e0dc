"""How Relax spells operators: most as Relay does, some by arguments that are no tensors, some in its own way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod, sqrt

import numpy as np

from tinygen.frontends.relay.call import RelayCall, Value
from tinygen.frontends.relay.emitter import Wired
from tinygen.frontends.relay.operators import integers, movement, real
from tinygen.frontends.relay.operators.layer import reduced_axes, window
from tinygen.ir.types import Array

RelaxReader = Callable[[RelayCall, Sequence[object]], Value]
"""A call, and what its arguments say that are no tensors: numbers, and lists of them."""

_RELAY = {**real.READERS, **movement.READERS, **integers.READERS}
_SAME = (
    *("abs", "add", "ceil", "cos", "divide", "erf", "exp", "floor", "log", "max", "maximum", "mean", "min", "minimum"),
    *("multiply", "negative", "rsqrt", "sigmoid", "sin", "sqrt", "squeeze", "subtract", "tanh"),
    *("nn.avg_pool2d", "nn.batch_flatten", "nn.conv2d", "nn.dropout", "nn.log_softmax", "nn.max_pool2d"),
    *("nn.prelu", "nn.relu", "nn.softmax"),
)
_OTHERWISE = {  # Relay's name, by Relax's
    "astype": "cast",
    "concat": "concatenate",
    "nn.leakyrelu": "nn.leaky_relu",
    "permute_dims": "transpose",
}
_METHODS = {"nearest_neighbor": "nearest", "linear": "linear"}
_ROUNDINGS = {  # halves that `round` finds are above 0, and go away from it
    "round": "round_prefer_ceil",
    "round_prefer_floor": "round_prefer_floor",
    "round_prefer_ceil": "round_prefer_ceil",
    "floor": "floor",
    "ceil": "ceil",
}


def _as_relay(name: str) -> RelaxReader:
    def read(call: RelayCall, rest: Sequence[object]) -> Value:
        _no_numbers(rest)
        return _passed(call, name, call.arguments, call.attributes)

    return read


def _passed(call: RelayCall, name: str, arguments: tuple[Value, ...], attributes: Mapping[str, object]) -> Value:
    """What Relay's operator of a name gives of such arguments and attributes, all of which it has to know."""
    inner = replace(call, operator=name, arguments=arguments, attributes=attributes, read=set())
    found = _RELAY[name](inner)
    inner.finish()
    call.ignore(*call.attributes)
    return found


def _no_numbers(rest: Sequence[object]) -> None:
    if rest:
        raise ValueError(f"numbers {rest!s:.60} were found among its arguments, tensors were expected")


def _numbers(rest: Sequence[object], place: int) -> list[int]:
    value = rest[place] if place < len(rest) else None
    if not isinstance(value, list) or not all(isinstance(each, int) for each in value):
        raise ValueError(f"argument {value!s:.40} was found, sizes or axes were expected")
    return value


def _clip(call: RelayCall, rest: Sequence[object]) -> Value:
    if len(rest) != 2:
        raise ValueError("limits that are no numbers were found, two numbers were expected")
    return _passed(call, "clip", call.arguments, {"a_min": rest[0], "a_max": rest[1]})


def _batch_norm(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    if call.flag("training", False):
        raise ValueError("attribute training is set, a network for inference was expected")
    kept = {name: value for name, value in call.attributes.items() if name not in ("momentum", "training")}
    return _passed(call, "nn.batch_norm", call.arguments, kept)


def _reshape(call: RelayCall, rest: Sequence[object]) -> Value:
    """Relax has worked out all signs: sizes are those of the result."""
    call.count(1)
    return _shaped(call, call.tensor(0), _numbers(rest, 0))


def _shaped(call: RelayCall, value: Wired, shape: Sequence[int]) -> Wired:
    if prod(shape) != prod(value.shape):
        raise ValueError(f"its result has shape {list(shape)}, one of {prod(value.shape)} elements was expected")
    return call.emitter.emit("Reshape", [value, call.sizes(list(shape))], quantized=value.quantized)


def _flatten(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    return _shaped(call, call.tensor(0), [prod(call.tensor(0).shape)])


def _expand_dims(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    value, added = call.tensor(0), call.integers("axis") or []
    rank = len(value.shape) + len(added)
    places = {axis % rank for axis in added if -rank <= axis < rank}
    if len(places) != len(added):
        raise ValueError(f"attribute axis is {added}, different ones of {rank} axes were expected")
    sizes = iter(value.shape)
    return _shaped(call, value, [1 if axis in places else next(sizes) for axis in range(rank)])


def _strided_slice(call: RelayCall, rest: Sequence[object]) -> Value:
    """Lists of axes, first elements, ends and, perhaps, steps."""
    call.ignore("assume_inbound")
    if len(rest) not in (3, 4):
        raise ValueError(f"{len(rest)} lists of numbers were found, axes, begin and end were expected")
    axes, begin, end = (_numbers(rest, place) for place in range(3))
    steps = _numbers(rest, 3) if len(rest) == 4 else [1] * len(axes)
    return _passed(call, "strided_slice", call.arguments, {"axes": axes, "begin": begin, "end": end, "strides": steps})


def _pad(call: RelayCall, rest: Sequence[object]) -> Value:
    """Widths stand one after the other: before and behind each axis."""
    _no_numbers(rest)
    flat, mode = call.integers("pad_width") or [], call.text("pad_mode", "constant")
    pairs = [flat[place : place + 2] for place in range(0, len(flat), 2)]
    filling = call.emitter.constant(np.array(call.number("pad_value", 0.0), call.tensor(0).dtype))
    arguments = (*call.arguments, filling) if mode == "constant" else call.arguments
    return _passed(call, "nn.pad", arguments, {"pad_width": pairs, "pad_mode": mode})


def _split(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    return _passed(call, "split", call.arguments, call.attributes)


def _matmul(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(2)
    call.check_type("out_dtype", "float32")
    return call.emitter.emit("MatMul", [call.real(0), call.real(1)])


def _conv1d(call: RelayCall, rest: Sequence[object]) -> Value:
    """NCW and OIW, as ONNX has them."""
    _no_numbers(rest)
    call.count(2)
    call.check_type("out_dtype", "float32")
    layouts = [call.text(name, default) for name, default in (("data_layout", "NCW"), ("kernel_layout", "OIW"))]
    if layouts != ["NCW", "OIW"] or call.text("out_layout", "NCW") != "NCW":
        raise ValueError(f"layouts {layouts} were found, NCW and OIW were expected")
    padding = call.integers("padding", [0]) or [0]
    if len(padding) not in (1, 2) or min(padding) < 0:
        raise ValueError(f"attribute padding is {padding}, one or two numbers were expected")
    settings = {
        "strides": call.integers("strides", [1]),
        "dilations": call.integers("dilation", [1]),
        "pads": (padding * 2)[:2],
        "group": call.integer("groups", 1),
    }
    return call.emitter.emit("Conv", [call.real(0), call.real(1)], settings)


def _conv2d_transpose(call: RelayCall, rest: Sequence[object]) -> Value:
    """IOHW, as ONNX has it."""
    _no_numbers(rest)
    call.count(2)
    call.check_type("out_dtype", "float32")
    layout = call.layout("data_layout")
    if call.text("kernel_layout", "IOHW") != "IOHW":
        raise ValueError("filters of another order were found, IOHW was expected")
    settings = {
        **window(call, list(_images(call.real(1)).shape[2:])),
        "group": call.integer("groups", 1),
        "output_padding": call.integers("output_padding", [0, 0]),
    }
    found = call.emitter.emit("ConvTranspose", [call.first(call.real(0), layout), call.real(1)], settings)
    return call.as_laid_out(found, layout)


def _images(tensor: Wired) -> Wired:
    if len(tensor.shape) != 4:
        raise ValueError(f"its filters have {len(tensor.shape)} axes, 4 were expected")
    return tensor


def _adaptive_average(call: RelayCall, rest: Sequence[object]) -> Value:
    """The average of a whole image."""
    _no_numbers(rest)
    if call.integers("output_size") not in ([1], [1, 1]):
        raise ValueError("an average of parts of an image was found, one of all of it was expected")
    kept = {name: value for name, value in call.attributes.items() if name != "output_size"}
    return _passed(call, "nn.global_avg_pool2d", call.arguments, kept)


def _sum(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(1)
    value = call.real(0)
    axes = call.sizes(reduced_axes(call, len(value.shape)))
    return call.emitter.emit("ReduceSum", [value, axes], {"keepdims": int(call.flag("keepdims", False))})


def _layer_norm(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(3)
    value, axes = call.real(0), call.integers("axes") or []
    rank = len(value.shape)
    first = min((axis % rank for axis in axes), default=rank)
    if sorted(axis % rank for axis in axes) != list(range(first, rank)):
        raise ValueError(f"attribute axes is {axes}, the last ones were expected")
    if not (call.flag("center", True) and call.flag("scale", True)):
        raise ValueError("a normalization without scale or offset was found, both were expected")
    settings = {"axis": first, "epsilon": call.number("epsilon", 1e-5)}
    return call.emitter.emit("LayerNormalization", [value, call.real(1), call.real(2)], settings)


def _gelu(call: RelayCall, rest: Sequence[object]) -> Value:
    """x (1 + erf(x / sqrt 2)) / 2."""
    _no_numbers(rest)
    call.count(1)
    value, emitter = call.real(0), call.emitter
    half, one, root = (emitter.constant(np.array(number, np.float32)) for number in (0.5, 1.0, 1 / sqrt(2)))
    grown = emitter.emit("Add", [emitter.emit("Erf", [emitter.emit("Mul", [value, root])]), one])
    return emitter.emit("Mul", [emitter.emit("Mul", [value, grown]), half])


def _silu(call: RelayCall, rest: Sequence[object]) -> Value:
    """x sigmoid(x)."""
    _no_numbers(rest)
    call.count(1)
    return call.emitter.emit("Mul", [call.real(0), call.emitter.emit("Sigmoid", [call.real(0)])])


def _take(call: RelayCall, rest: Sequence[object]) -> Value:
    """Rows by indices; those that are known stay within the table."""
    _no_numbers(rest)
    call.count(2)
    table, indices = call.tensor(0), call.tensor(1)
    axis, mode = call.axis(len(table.shape), 0), call.text("mode", "fast")
    if indices.dtype.kind not in "iu":
        raise ValueError(f"indices are {indices.dtype}, integers were expected")
    if indices.data is None and mode != "fast":
        raise ValueError(f"attribute mode is '{mode}', fast was expected where indices are not known")
    if indices.data is not None and not _are_within(indices.data, table.shape[axis]):
        raise ValueError(f"its indices were expected to be from 0 to {table.shape[axis] - 1}")
    return call.emitter.emit("Gather", [table, indices], {"axis": axis}, table.quantized)


def _are_within(indices: Array, size: int) -> bool:
    return indices.size == 0 or 0 <= int(indices.min()) <= int(indices.max()) < size


def _shape_of(call: RelayCall, rest: Sequence[object]) -> Value:
    """Known, as all shapes are."""
    _no_numbers(rest)
    call.count(1)
    return call.sizes(list(call.tensor(0).shape))


def _shape_to_tensor(call: RelayCall, rest: Sequence[object]) -> Value:
    return call.sizes(_numbers(rest, 0)) if rest else call.tensor(0)


def _less(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(2)
    return call.emitter.emit("Less", [call.tensor(0), call.tensor(1)])


def _where(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(3)
    return call.emitter.emit("Where", [call.tensor(place) for place in range(3)])


def _is_nan(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(1)
    return call.emitter.emit("IsNaN", [call.real(0)])


def _broadcast(call: RelayCall, rest: Sequence[object]) -> Value:
    call.count(1)
    return call.emitter.emit("Expand", [call.tensor(0), call.sizes(_numbers(rest, 0))])


def _power(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(2)
    return call.emitter.emit("Pow", [call.real(0), call.real(1)])


def _resize(call: RelayCall, rest: Sequence[object]) -> Value:
    call.count(1)
    call.ignore("roi", "cubic_alpha", "cubic_exclude", "extrapolation_value")
    call.check_type("out_dtype", "float32")
    layout, method = call.layout(), call.text("method", "linear")
    rounding = call.text("rounding_method", "round") or "round"
    if method not in _METHODS or rounding not in _ROUNDINGS:
        raise ValueError(f"method '{method}' with rounding '{rounding}' was found, {', '.join(_METHODS)} were expected")
    image = call.first(call.real(0), layout)
    whole = call.sizes([*image.shape[:2], *_numbers(rest, 0)])
    settings: dict[str, object] = {
        "mode": _METHODS[method],
        "coordinate_transformation_mode": call.text("coordinate_transformation_mode", "half_pixel"),
    }
    if method == "nearest_neighbor":
        settings["nearest_mode"] = _ROUNDINGS[rounding]
    return call.as_laid_out(call.emitter.emit("Resize", [image, None, None, whole], settings), layout)


def _quantize(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(3)
    dtype = call.text("out_dtype", "int8")
    if dtype not in ("int8", "uint8"):
        raise ValueError(f"attribute out_dtype is '{dtype}', int8 or uint8 was expected")
    return _linear(call, "QuantizeLinear", call.real(0), np.dtype(dtype))


def _dequantize(call: RelayCall, rest: Sequence[object]) -> Value:
    _no_numbers(rest)
    call.count(3)
    call.check_type("out_dtype", "float32")
    return _linear(call, "DequantizeLinear", call.tensor(0), call.tensor(0).dtype)


def _linear(call: RelayCall, operator: str, value: Wired, dtype: np.dtype[np.generic]) -> Wired:
    """QuantizeLinear or DequantizeLinear, whose zero points have the type of the integers."""
    scale, points = call.known(1).astype(np.float32), call.known(2)
    stored = points.astype(dtype)
    if not np.array_equal(stored, points):
        raise ValueError(f"its zero point was expected to be of type {dtype}")
    scale, stored = (each.reshape(()) if each.size == 1 else each for each in (scale, stored))
    shape = np.broadcast_shapes(scale.shape, stored.shape)
    parameters = [call.emitter.constant(np.broadcast_to(each, shape).copy()) for each in (scale, stored)]
    axis = call.axis(len(value.shape), -1)
    return call.emitter.emit(operator, [value, *parameters], {"axis": axis} if shape else {})


READERS: Mapping[str, RelaxReader] = {
    **{name: _as_relay(name) for name in _SAME},
    **{name: _as_relay(relay) for name, relay in _OTHERWISE.items()},
    "broadcast_to": _broadcast,
    "clip": _clip,
    "dequantize": _dequantize,
    "expand_dims": _expand_dims,
    "flatten": _flatten,
    "image.resize2d": _resize,
    "isnan": _is_nan,
    "less": _less,
    "matmul": _matmul,
    "nn.adaptive_avg_pool2d": _adaptive_average,
    "nn.batch_norm": _batch_norm,
    "nn.conv1d": _conv1d,
    "nn.conv2d_transpose": _conv2d_transpose,
    "nn.gelu": _gelu,
    "nn.layer_norm": _layer_norm,
    "nn.pad": _pad,
    "nn.silu": _silu,
    "power": _power,
    "quantize": _quantize,
    "reshape": _reshape,
    "shape_of": _shape_of,
    "shape_to_tensor": _shape_to_tensor,
    "split": _split,
    "strided_slice": _strided_slice,
    "sum": _sum,
    "take": _take,
    "where": _where,
}
