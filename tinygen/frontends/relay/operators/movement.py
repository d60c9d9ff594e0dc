"""Operators that move elements or choose among them: the same on real numbers and on stored integers."""

from collections.abc import Mapping
from math import prod

import numpy as np

from tinygen.frontends.relay.call import Reader, RelayCall, Value
from tinygen.frontends.relay.emitter import Meaning, Wired
from tinygen.frontends.relay.operators.layer import global_pool, pool

_PADDING = {"constant": "constant", "edge": "edge", "reflect": "reflect"}


def _shaped(call: RelayCall, value: Wired, shape: list[int]) -> Wired:
    return call.emitter.emit("Reshape", [value, call.sizes(shape)], quantized=value.quantized)


def _reshape(call: RelayCall) -> Value:
    call.count(1)
    value = call.tensor(0)
    if call.flag("allowzero", False):
        raise ValueError("attribute allowzero is set, sizes above 0 were expected")
    return _shaped(call, value, new_shape(value.shape, call.integers("newshape") or []))


def new_shape(shape: tuple[int, ...], asked: list[int]) -> list[int]:
    """The sizes that a shape with Relay's signs stands for.

    0: as it was; -1: what is left; -2: all that follow; -3: the product of two; -4: one as the next two, of which one
    may be -1.
    """
    found: list[int] = []
    left, signs = list(shape), list(asked)
    while signs:
        sign = signs.pop(0)
        needs = {0: 1, -3: 2, -4: 1}.get(sign, 0)
        if len(left) < needs or (sign == -4 and len(signs) < 2):
            raise ValueError(f"attribute newshape is {asked}, which does not go with {list(shape)}")
        if sign == -2:
            found, left = [*found, *left], []
        elif sign == -4:
            size, one, two = left.pop(0), signs.pop(0), signs.pop(0)
            one = size // two if one == -1 and two > 0 else one
            found += [one, size // one if two == -1 and one > 0 else two]
        elif sign == -1 or sign > 0:
            found.append(sign)
            left = left[1:]
        elif needs:
            found.append(prod(left.pop(0) for _ in range(needs)))
        else:
            raise ValueError(f"attribute newshape has {sign}, which is no sign of Relay's")
    known = prod(size for size in found if size != -1)
    if found.count(-1) > 1 or known < 1 or prod(shape) % known or (-1 not in found and known != prod(shape)):
        raise ValueError(f"attribute newshape is {asked}, which does not go with {list(shape)}")
    return [prod(shape) // known if size == -1 else size for size in found]


def _batch_flatten(call: RelayCall) -> Value:
    call.count(1)
    value = call.tensor(0)
    return _shaped(call, value, [value.shape[0], prod(value.shape[1:])] if value.shape else [1, 1])


def _transpose(call: RelayCall) -> Value:
    call.count(1)
    value = call.tensor(0)
    rank = len(value.shape)
    order = call.integers("axes") or list(range(rank))[::-1]
    return call.emitter.emit("Transpose", [value], {"perm": _checked(order, rank)}, value.quantized)


def _checked(axes: list[int], rank: int) -> list[int]:
    if any(not -rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) != len(axes):
        raise ValueError(f"axes {axes} were found, different ones of {rank} were expected")
    return [axis % rank for axis in axes]


def _squeeze(call: RelayCall) -> Value:
    call.count(1)
    value = call.tensor(0)
    asked = call.integers("axis")
    axes = [axis for axis, size in enumerate(value.shape) if size == 1] if asked is None else asked
    gone = _checked(axes, len(value.shape))
    if any(value.shape[axis] != 1 for axis in gone):
        raise ValueError(f"axes {axes} of {list(value.shape)} were to go, ones of size 1 were expected")
    return _shaped(call, value, [size for axis, size in enumerate(value.shape) if axis not in gone])


def _expand_dims(call: RelayCall) -> Value:
    call.count(1)
    value = call.tensor(0)
    axis, count = call.axis(len(value.shape) + 1, -1), call.integer("num_newaxis", 1)
    if "axis" not in call.attributes or not 0 <= count <= 8:
        raise ValueError("an axis, and up to 8 of them, were expected")
    return _shaped(call, value, [*value.shape[:axis], *[1] * count, *value.shape[axis:]])


def _concatenate(call: RelayCall) -> Value:
    call.count(1)
    parts = call.group(0)
    tensors = [part for part in parts if isinstance(part, Wired)]
    if len(tensors) != len(parts) or len({part.dtype for part in tensors}) != 1:
        raise ValueError("tensors of one type were expected")
    meanings = {_key(part.quantized) for part in tensors}
    quantized = tensors[0].quantized if len(meanings) == 1 else None
    axis = call.axis(len(tensors[0].shape), 0)
    return call.emitter.emit("Concat", tensors, {"axis": axis}, quantized)


def _key(quantized: Meaning | None) -> tuple[object, ...]:
    if quantized is None:
        return ()
    return quantized.scale.tobytes(), quantized.zero_point.tobytes(), quantized.axis


def _split(call: RelayCall) -> Value:
    call.count(1)
    value = call.tensor(0)
    axis = call.axis(len(value.shape), 0)
    asked = call.attributes.get("indices_or_sections")
    numbers = call.integers("indices_or_sections") or [0]
    size = value.shape[axis]
    if isinstance(asked, list):
        ends = [*numbers, size]
    elif numbers[0] > 0 and size % numbers[0] == 0:
        ends = list(range(size // numbers[0], size + 1, size // numbers[0]))
    else:
        raise ValueError(f"attribute indices_or_sections is {asked}, a divisor of {size} was expected")
    starts = [0, *ends[:-1]]
    if any(not start < end for start, end in zip(starts, ends, strict=True)):
        raise ValueError(f"attribute indices_or_sections is {asked}, growing numbers below {size} were expected")
    return tuple(_sliced(call, value, [start], [end], [axis], [1]) for start, end in zip(starts, ends, strict=True))


def _sliced(
    call: RelayCall, value: Wired, begin: list[int], end: list[int], axes: list[int], steps: list[int]
) -> Wired:
    ranges = [call.sizes(each) for each in (begin, end, axes, steps)]
    return call.emitter.emit("Slice", [value, *ranges], quantized=value.quantized)


def _strided_slice(call: RelayCall) -> Value:
    call.count(1)
    value = call.tensor(0)
    begin, end = call.integers("begin") or [], call.integers("end") or []
    axes = _checked(call.integers("axes") or list(range(len(begin))), len(value.shape))
    steps = call.integers("strides") or [1]
    steps = steps * len(begin) if len(steps) == 1 else steps
    if not len(begin) == len(end) == len(axes) == len(steps) or 0 in steps:
        raise ValueError("begin, end, axes and strides were expected to have one entry for each axis")
    mode = call.text("slice_mode", "end")
    if mode == "size":
        begin = [start % value.shape[axis] for start, axis in zip(begin, axes, strict=True)]
        ends = zip(begin, end, axes, strict=True)
        end = [value.shape[axis] if size < 0 else start + size for start, size, axis in ends]
        steps = [1] * len(begin)
    elif mode != "end":
        raise ValueError(f"attribute slice_mode is '{mode}', end or size was expected")
    return _sliced(call, value, begin, end, axes, steps)


def _pad(call: RelayCall) -> Value:
    call.count(1, 2)
    value = call.tensor(0)
    mode, widths = call.text("pad_mode", "constant"), call.pairs("pad_width")
    if mode not in _PADDING or len(widths) != len(value.shape) or min(min(each) for each in widths) < 0:
        raise ValueError(f"padding {mode} by {widths} of {len(value.shape)} axes is none that Relay has")
    inputs = [value, call.sizes([before for before, _ in widths] + [after for _, after in widths])]
    if mode == "constant":
        filling = call.known(1) if len(call.arguments) == 2 else np.zeros(())
        if filling.size != 1:
            raise ValueError("one number was expected to pad with")
        stored = filling.reshape(()).astype(value.dtype)
        if value.dtype.kind in "iu" and stored != filling:
            raise ValueError(f"padding with {filling.item()}, a number of type {value.dtype} was expected")
        inputs.append(call.emitter.constant(stored))
    return call.emitter.emit("Pad", inputs, {"mode": _PADDING[mode]}, value.quantized)


def _max_pool(call: RelayCall) -> Value:
    call.count(1)
    return pool(call, call.tensor(0), "MaxPool")


def _global_max(call: RelayCall) -> Value:
    call.count(1)
    return global_pool(call, call.tensor(0), "GlobalMaxPool")


def _same(call: RelayCall) -> Value:
    call.count(1)
    return call.tensor(0)


def _dropout(call: RelayCall) -> Value:
    """A tuple, of which inference has the first entry: all that went in."""
    call.count(1)
    call.ignore("rate")
    return (call.tensor(0),)


READERS: Mapping[str, Reader] = {
    "concatenate": _concatenate,
    "copy": _same,
    "expand_dims": _expand_dims,
    "nn.batch_flatten": _batch_flatten,
    "nn.dropout": _dropout,
    "nn.global_max_pool2d": _global_max,
    "nn.max_pool2d": _max_pool,
    "nn.pad": _pad,
    "reshape": _reshape,
    "split": _split,
    "squeeze": _squeeze,
    "stop_fusion": _same,
    "strided_slice": _strided_slice,
    "transpose": _transpose,
}
