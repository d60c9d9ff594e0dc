"""Operators on real numbers."""

from collections.abc import Mapping

import numpy as np

from tinygen.frontends.relay.call import Reader, RelayCall, Value
from tinygen.frontends.relay.emitter import Wired
from tinygen.frontends.relay.operators.layer import filters, global_pool, pool, reduced_axes

_UNARY = {
    "abs": "Abs",
    "ceil": "Ceil",
    "cos": "Cos",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "negative": "Neg",
    "sigmoid": "Sigmoid",
    "sin": "Sin",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
}
_REDUCTIONS = {"mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin"}


def _unary(operator: str) -> Reader:
    def read(call: RelayCall) -> Value:
        call.count(1)
        return call.emitter.emit(operator, [call.real(0)])

    return read


def _rsqrt(call: RelayCall) -> Value:
    call.count(1)
    return call.emitter.emit("Reciprocal", [call.emitter.emit("Sqrt", [call.real(0)])])


def _conv2d(call: RelayCall) -> Value:
    call.count(2)
    call.check_type("out_dtype", "float32")
    layout, image = call.layout("data_layout"), call.real(0)
    first = call.first(image, layout)
    weights = call.known(1)
    if weights.dtype != np.float32:
        raise ValueError(f"its filters are {weights.dtype}, float32 were expected")
    stored, attributes = filters(call, weights, first.shape[1])
    found = call.emitter.emit("Conv", [first, call.emitter.constant(stored, call.tensor(1).name)], attributes)
    return call.as_laid_out(found, layout)


def _dense(call: RelayCall) -> Value:
    call.count(2)
    call.check_type("out_dtype", "float32")
    call.ignore("units")
    weights = call.emitter.emit("Transpose", [_of_rank(call.real(1), 2)], {"perm": [1, 0]})
    return call.emitter.emit("MatMul", [call.real(0), weights])


def _batch_matmul(call: RelayCall) -> Value:
    call.count(2)
    call.check_type("out_dtype", "float32")
    operands = []
    for position, name in enumerate(("transpose_a", "transpose_b")):
        operand = _of_rank(call.real(position), 3)
        if call.flag(name, False):
            operand = call.emitter.emit("Transpose", [operand], {"perm": [0, 2, 1]})
        operands.append(operand)
    return call.emitter.emit("MatMul", operands)


def _of_rank(tensor: Wired, rank: int) -> Wired:
    if len(tensor.shape) != rank:
        raise ValueError(f"an operand has {len(tensor.shape)} axes, {rank} were expected")
    return tensor


def along(call: RelayCall, vector: Wired, rank: int, axis: int) -> Wired:
    """A vector with axes of one element around, to go with the axis of another tensor."""
    if len(vector.shape) != 1:
        raise ValueError(f"an operand has {len(vector.shape)} axes, 1 was expected")
    shape = [1] * rank
    shape[axis] = vector.shape[0]
    return call.emitter.emit("Reshape", [vector, call.sizes(shape)])


def bias_add(call: RelayCall) -> Value:
    """nn.bias_add of real numbers."""
    call.count(2)
    value = call.real(0)
    rank = len(value.shape)
    return call.emitter.emit("Add", [value, along(call, call.real(1), rank, call.axis(rank, 1))])


def _batch_norm(call: RelayCall) -> Value:
    """A tuple: the result, and the means and variances, which inference leaves as they are."""
    call.count(5)
    value = call.real(0)
    rank = len(value.shape)
    axis, epsilon = call.axis(rank, 1), call.number("epsilon", 1e-5)
    gamma, beta, mean, variance = (call.known(position).astype(np.float64) for position in range(1, 5))
    gamma = gamma if call.flag("scale", True) else np.ones_like(gamma)
    beta = beta if call.flag("center", True) else np.zeros_like(beta)
    if any(each.shape != (value.shape[axis],) for each in (gamma, beta, mean, variance)):
        raise ValueError(f"its parameters have other sizes than {value.shape[axis]} channels")
    order = [0, axis, *(other for other in range(1, rank) if other != axis)] if axis else [*range(rank)]
    if axis == 0:
        raise ValueError("attribute axis is 0, an axis behind the batch was expected")
    parts = [call.emitter.constant(each.astype(np.float32)) for each in (gamma, beta, mean, variance)]
    first = call.emitter.emit("Transpose", [value], {"perm": order}) if axis != 1 else value
    found = call.emitter.emit("BatchNormalization", [first, *parts], {"epsilon": epsilon})
    if axis != 1:
        found = call.emitter.emit("Transpose", [found], {"perm": [order.index(each) for each in range(rank)]})
    return found, parts[2], parts[3]


def _pool(operator: str) -> Reader:
    def read(call: RelayCall) -> Value:
        call.count(1)
        return pool(call, call.real(0), operator)

    return read


def _global_average(call: RelayCall) -> Value:
    call.count(1)
    return global_pool(call, call.real(0), "GlobalAveragePool")


def _softmax(operator: str) -> Reader:
    def read(call: RelayCall) -> Value:
        call.count(1)
        value = call.real(0)
        return call.emitter.emit(operator, [value], {"axis": call.axis(len(value.shape), -1)})

    return read


def _reduced(operator: str) -> Reader:
    def read(call: RelayCall) -> Value:
        call.count(1)
        value = call.real(0)
        settings = {"axes": reduced_axes(call, len(value.shape)), "keepdims": int(call.flag("keepdims", False))}
        return call.emitter.emit(operator, [value], settings)

    return read


def _leaky_relu(call: RelayCall) -> Value:
    call.count(1)
    return call.emitter.emit("LeakyRelu", [call.real(0)], {"alpha": call.number("alpha", 0.25)})


def _prelu(call: RelayCall) -> Value:
    call.count(2)
    value = call.real(0)
    rank = len(value.shape)
    return call.emitter.emit("PRelu", [value, along(call, call.real(1), rank, call.axis(rank, 1))])


READERS: Mapping[str, Reader] = {
    **{name: _unary(operator) for name, operator in _UNARY.items()},
    **{name: _reduced(operator) for name, operator in _REDUCTIONS.items()},
    "nn.avg_pool2d": _pool("AveragePool"),
    "nn.batch_matmul": _batch_matmul,
    "nn.batch_norm": _batch_norm,
    "nn.conv2d": _conv2d,
    "nn.dense": _dense,
    "nn.global_avg_pool2d": _global_average,
    "nn.leaky_relu": _leaky_relu,
    "nn.log_softmax": _softmax("LogSoftmax"),
    "nn.prelu": _prelu,
    "nn.softmax": _softmax("Softmax"),
    "rsqrt": _rsqrt,
}
