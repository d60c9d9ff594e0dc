"""Mutations of ONNX models as messages: files that parse and whose content is wrong."""

import random
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

_EXTREMES = (-(1 << 63), -(1 << 31), -1, 0, 1, 2, 3, 7, 255, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1)
_REALS = (0.0, -1.0, 1e-40, 1e-9, 1e9, 1e38, float("inf"), float("-inf"), float("nan"))
_INTEGERS = (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32)
_TYPES = (*TensorProto.DataType.values(), 99)

Mutation = Callable[[onnx.ModelProto, random.Random], None]


def mutate_message(data: bytes, random_: random.Random) -> bytes:
    """The model with one to three changes."""
    model = onnx.ModelProto.FromString(data)
    for _ in range(random_.randint(1, 3)):
        with suppress(IndexError):  # the model has nothing that this one changes
            random_.choice(_MUTATIONS)(model, random_)
    content: bytes = model.SerializeToString()
    return content


def mutate_numbers(data: bytes, random_: random.Random) -> bytes:
    """The model with one to three changes of scales, zero points, weights and attributes that most readers take."""
    model = onnx.ModelProto.FromString(data)
    for _ in range(random_.randint(1, 3)):
        with suppress(IndexError):
            random_.choice((_scale_constant, _scale_constant, _move_constant, _nudge_attribute))(model, random_)
    content: bytes = model.SerializeToString()
    return content


def _scale_constant(model: onnx.ModelProto, random_: random.Random) -> None:
    """Floats, which are scales mostly, by up to 2**12, or to a power of two."""
    tensor = random_.choice([t for t in model.graph.initializer if t.data_type == TensorProto.FLOAT])
    array = numpy_helper.to_array(tensor).copy()
    factor = 2.0 ** random_.choice((random_.uniform(-2, 2), random_.uniform(-12, 12), random_.randint(-8, 8)))
    array = (array * np.float32(factor)).astype(np.float32)
    if random_.random() < 0.3 and (array > 0).all():
        array = np.exp2(np.round(np.log2(array))).astype(np.float32)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _move_constant(model: onnx.ModelProto, random_: random.Random) -> None:
    """Elements of integers to the ends of their type, or to any of its values."""
    tensor = random_.choice([t for t in model.graph.initializer if t.data_type in _INTEGERS])
    array = numpy_helper.to_array(tensor).copy()
    if not array.size:
        return
    limits = np.iinfo(array.dtype)
    where = random_.sample(range(array.size), random_.choice((1, array.size)))
    value = random_.choice((limits.min, limits.max, 0, random_.randint(int(limits.min), int(limits.max))))
    array.reshape(-1)[where] = value
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _nudge_attribute(model: onnx.ModelProto, random_: random.Random) -> None:
    attribute = random_.choice([attribute for node in model.graph.node for attribute in node.attribute])
    match attribute.type:
        case AttributeProto.INT:
            attribute.i += random_.choice((-1, 1))
        case AttributeProto.FLOAT:
            attribute.f *= random_.choice((-1.0, 0.5, 2.0))
        case AttributeProto.INTS if attribute.ints:
            attribute.ints[random_.randrange(len(attribute.ints))] += random_.choice((-1, 1))


def _change_attribute(model: onnx.ModelProto, random_: random.Random) -> None:
    attributes = [attribute for node in model.graph.node for attribute in node.attribute]
    if not attributes:
        return
    attribute = random_.choice(attributes)
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = random_.choice(_EXTREMES)
        case AttributeProto.FLOAT:
            attribute.f = random_.choice(_REALS)
        case AttributeProto.STRING:
            attribute.s = random_.choice((b"", b"\xff", b"VALID", b"SAME_UPPER", b"linear", b"align_corners"))
        case AttributeProto.INTS if attribute.ints:
            attribute.ints[random_.randrange(len(attribute.ints))] = random_.choice(_EXTREMES)


def _add_attribute(model: onnx.ModelProto, random_: random.Random) -> None:
    names = [attribute.name for node in model.graph.node for attribute in node.attribute]
    names += ["axis", "axes", "auto_pad", "ceil_mode", "pads", "block_size", "output_dtype", "transA", "keepdims"]
    value = random_.choice((random_.choice(_EXTREMES), random_.choice(_REALS), "x", [random_.choice(_EXTREMES)] * 2))
    random_.choice(model.graph.node).attribute.append(onnx.helper.make_attribute(random_.choice(names), value))


def _change_dims(model: onnx.ModelProto, random_: random.Random) -> None:
    tensor = random_.choice(model.graph.initializer)
    if tensor.dims and random_.random() < 0.7:
        tensor.dims[random_.randrange(len(tensor.dims))] = random_.choice(_EXTREMES)
    else:
        tensor.dims.append(random_.choice((1, 1, random_.choice(_EXTREMES))))


def _change_values(model: onnx.ModelProto, random_: random.Random) -> None:
    tensor = random_.choice(model.graph.initializer)
    array = numpy_helper.to_array(tensor).copy() if tensor.HasField("raw_data") and _is_whole(tensor) else None
    if array is None or not array.size:
        return
    position = random_.randrange(array.size)
    values = _REALS if array.dtype.kind == "f" else _EXTREMES
    array.reshape(-1).view()[position] = array.dtype.type(_wrapped(random_.choice(values), array.dtype.itemsize))
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _is_whole(tensor: TensorProto) -> bool:
    try:
        numpy_helper.to_array(tensor)
    except Exception:
        return False
    return True


def _wrapped(value: float, bytes_: int) -> float:
    return value if isinstance(value, float) else abs(value) % (1 << (8 * bytes_ - 1))


def _change_type(model: onnx.ModelProto, random_: random.Random) -> None:
    if random_.random() < 0.5 or not model.graph.input:
        random_.choice(model.graph.initializer).data_type = random_.choice(_TYPES)
    else:
        random_.choice(model.graph.input).type.tensor_type.elem_type = random_.choice(_TYPES)


def _change_input_shape(model: onnx.ModelProto, random_: random.Random) -> None:
    if not model.graph.input:
        return
    dims = random_.choice(model.graph.input).type.tensor_type.shape.dim
    if dims and random_.random() < 0.8:
        dim = random_.choice(dims)
        if random_.random() < 0.2:
            dim.dim_param = "n"
        else:
            dim.dim_value = random_.choice(_EXTREMES[3:])
    else:
        dims.add().dim_value = random_.choice((1, 2, 3))


def _rewire(model: onnx.ModelProto, random_: random.Random) -> None:
    names = [name for node in model.graph.node for name in (*node.input, *node.output)]
    node = random_.choice(model.graph.node)
    ends = node.input if node.input and random_.random() < 0.9 else node.output
    if ends:
        ends[random_.randrange(len(ends))] = random_.choice((*names, "", "nowhere"))


def _drop_input(model: onnx.ModelProto, random_: random.Random) -> None:
    node = random_.choice(model.graph.node)
    if node.input:
        del node.input[random_.randrange(len(node.input))]


def _change_operator(model: onnx.ModelProto, random_: random.Random) -> None:
    others = [node.op_type for node in model.graph.node]
    others += ["Conv", "MaxPool", "Softmax", "Concat", "Reshape", "Transpose", "Resize", "Gather", "Range", "Loop"]
    random_.choice(model.graph.node).op_type = random_.choice(others)


def _drop_or_swap_nodes(model: onnx.ModelProto, random_: random.Random) -> None:
    nodes = list(model.graph.node)
    first, second = random_.randrange(len(nodes)), random_.randrange(len(nodes))
    if random_.random() < 0.3 and len(nodes) > 1:
        del nodes[first]
    else:
        nodes[first], nodes[second] = nodes[second], nodes[first]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _change_opset(model: onnx.ModelProto, random_: random.Random) -> None:
    random_.choice(model.opset_import).version = random_.choice((1, 11, 12, 13, 18, 21, 26, 27, -1))


_MUTATIONS: tuple[Mutation, ...] = (
    _change_attribute,
    _change_attribute,
    _add_attribute,
    _change_dims,
    _change_values,
    _change_values,
    _change_type,
    _change_input_shape,
    _change_input_shape,
    _rewire,
    _drop_input,
    _change_operator,
    _drop_or_swap_nodes,
    _change_opset,
)
