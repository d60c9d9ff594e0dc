"""Mutations of TFLite models as they are written: files that most readers take, with odd numbers in them."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tests.support.tflite_writer import ModelWriter

_ALIKE: Sequence[frozenset[str]] = (
    frozenset({"ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"}),
    frozenset({"AVERAGE_POOL_2D", "MAX_POOL_2D"}),
    frozenset({"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"}),
    frozenset({"RELU", "RELU6", "RELU_N1_TO_1", "ABS", "NEG", "LOGISTIC", "TANH", "HARD_SWISH", "EXP"}),
    frozenset({"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}),
)
_INT8_ENDS = (-128, -127, -1, 0, 1, 127)
_INT32_ENDS = (-(1 << 31), -(1 << 30), -(1 << 23), -1, 0, 1, (1 << 23) - 1, (1 << 30) - 1, (1 << 31) - 1)
_MOST_CHANGES = 3

Mutation = Callable[[ModelWriter, random.Random], None]


def mutate_model(writer: ModelWriter, random_: random.Random) -> None:
    """One to three changes of what has been written so far."""
    for _ in range(random_.randint(1, _MOST_CHANGES)):
        random_.choice(_MUTATIONS)(writer, random_)


def _change_scale(writer: ModelWriter, random_: random.Random) -> None:
    """By up to 2**12, mostly less; to a power of two, where halves abound."""
    places = [place for place, tensor in enumerate(writer.tensors) if tensor.scales]
    if not places:
        return
    place = random_.choice(places)
    tensor = writer.tensors[place]
    scales = list(tensor.scales)
    which = range(len(scales)) if random_.random() < 0.5 else [random_.randrange(len(scales))]
    factor = 2.0 ** random_.choice((random_.uniform(-2, 2), random_.uniform(-12, 12), random_.randint(-8, 8)))
    is_power = random_.random() < 0.3
    for index in which:
        scale = scales[index] * factor
        scales[index] = float(np.float32(2.0 ** round(np.log2(scale)) if is_power else scale))
    writer.tensors[place] = replace(tensor, scales=tuple(scales))


def _change_zero_point(writer: ModelWriter, random_: random.Random) -> None:
    places = [p for p, t in enumerate(writer.tensors) if len(t.zero_points) == 1 and not t.buffer]
    if places:
        place = random_.choice(places)
        points = (random_.choice((*_INT8_ENDS, random_.randint(-128, 127))),)
        writer.tensors[place] = replace(writer.tensors[place], zero_points=points)


def _change_constant(writer: ModelWriter, random_: random.Random) -> None:
    """Elements of weights, biases, indices and tables: at the ends of their type, or beside what they were."""
    places = [place for place, tensor in enumerate(writer.tensors) if tensor.buffer]
    if not places:
        return
    tensor = writer.tensors[random_.choice(places)]
    if tensor.type not in ("int8", "int32", "int16", "int64"):
        return
    values = np.frombuffer(writer.buffers[tensor.buffer], tensor.type).copy()
    if not values.size:
        return
    count = random_.choice((1, 1, 1 + values.size // 2, values.size))
    where = random_.sample(range(values.size), min(count, values.size))
    limits = np.iinfo(values.dtype)
    ends = _INT8_ENDS if tensor.type == "int8" else _INT32_ENDS
    if tensor.scales or random_.random() < 0.2:
        values[where] = np.clip(random_.choice(ends), limits.min, limits.max)
    else:  # indices, sizes
        values[where] += np.array(random_.choice((-1, 1, 2)), values.dtype)
    writer.buffers[tensor.buffer] = values.tobytes()


def _change_option(writer: ModelWriter, random_: random.Random) -> None:
    places = [place for place, operator in enumerate(writer.operators) if operator.options]
    if not places:
        return
    place = random_.choice(places)
    operator = writer.operators[place]
    name = random_.choice(sorted(operator.options))
    value = operator.options[name]
    if name == "fused_activation_function":
        changed: bool | int | float | str | Sequence[int] = random_.choice((0, 1, 2, 3, 4))
    elif isinstance(value, bool):
        changed = not value
    elif isinstance(value, int):
        changed = value + random_.choice((-1, 1, 1, 2))
    elif isinstance(value, float):
        changed = value * random_.choice((-1.0, 0.25, 0.5, 2.0, 1e3))
    else:
        return
    writer.operators[place] = replace(operator, options={**operator.options, name: changed})


def _change_operator(writer: ModelWriter, random_: random.Random) -> None:
    """To one that takes the same operands and options."""
    place = random_.randrange(len(writer.operators))
    operator = writer.operators[place]
    name, version, custom = writer.codes[operator.code]
    alike = [other for kind in _ALIKE if name in kind for other in sorted(kind - {name})]
    if alike:
        writer.codes.append((random_.choice(alike), version, custom))
        writer.operators[place] = replace(operator, code=len(writer.codes) - 1, options_type=None, options={})


def _rewire(writer: ModelWriter, random_: random.Random) -> None:
    """An operand becomes another tensor of its shape and type."""
    place = random_.randrange(len(writer.operators))
    operator = writer.operators[place]
    inputs = list(operator.inputs)
    which = random_.randrange(len(inputs))
    if inputs[which] < 0:
        return
    wanted = writer.tensors[inputs[which]]
    alike = [p for p, t in enumerate(writer.tensors) if (t.shape, t.type) == (wanted.shape, wanted.type)]
    inputs[which] = random_.choice(alike)
    writer.operators[place] = replace(operator, inputs=tuple(inputs))


def _change_shape(writer: ModelWriter, random_: random.Random) -> None:
    place = random_.randrange(len(writer.tensors))
    shape = list(writer.tensors[place].shape)
    if shape:
        which = random_.randrange(len(shape))
        shape[which] = max(0, shape[which] + random_.choice((-1, 1, 5)))
        writer.tensors[place] = replace(writer.tensors[place], shape=tuple(shape))


_MUTATIONS: tuple[Mutation, ...] = (
    *(_change_scale, _change_scale, _change_scale, _change_zero_point, _change_zero_point),
    *(_change_constant, _change_constant, _change_constant, _change_option, _change_operator, _rewire, _change_shape),
)
