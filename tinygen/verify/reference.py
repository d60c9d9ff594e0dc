"""The numpy references of all operators of a graph, one after the other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tinygen.ir.graph import Graph, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.quantize import convert, flip_sign_bit


def evaluate(
    graph: Graph, inputs: Sequence[Array], states: Mapping[Tensor, Array] | None = None
) -> dict[Tensor, Array]:
    """Every tensor that is not a constant, for inputs as the application has them.

    `states`: what the calls before have left, see `states_after`; None before the first one.
    """
    ports = zip(graph.inputs, inputs, strict=True)
    arrays = {port.tensor: convert(values, port.external, port.tensor.type) for port, values in ports}
    arrays |= {state.tensor: state.initial for state in graph.states} if states is None else states
    values = Values(arrays.__getitem__)
    for op in graph.ops:
        with np.errstate(all="ignore"):
            arrays.update(zip(op.results, op.evaluate(values), strict=True))
    return arrays


def states_after(graph: Graph, arrays: Mapping[Tensor, Array]) -> dict[Tensor, Array]:
    """What a call that made `arrays` leaves for the next one."""
    return {state.tensor: state.after(arrays[state.window]) for state in graph.states}


def evaluate_calls(graph: Graph, calls: Iterable[Sequence[Array]]) -> Iterator[dict[Tensor, Array]]:
    """Every tensor that is not a constant, call by call, the first one after a reset."""
    states: dict[Tensor, Array] | None = None
    for inputs in calls:
        arrays = evaluate(graph, inputs, states)
        states = states_after(graph, arrays)
        yield arrays


def outputs(graph: Graph, arrays: Mapping[Tensor, Array]) -> list[Array]:
    """The outputs as the application has them."""
    values = Values(arrays.__getitem__)
    return [convert(values[port.tensor], port.tensor.type, port.external) for port in graph.outputs]


def own_value(tensor: Tensor, values: Mapping[str, Array]) -> Array | None:
    """The value of a tensor among those of a model's own, by name; None where passes or the frontend have made it."""
    view = tensor.view
    whole = values.get(view.name if view else tensor.name)
    if whole is None:
        return None
    return as_type(view.of(whole) if view else whole, tensor)


def as_type(values: Array, tensor: Tensor) -> Array:
    """The same numbers in the form of `tensor`: passes may have changed shape, and the element type at a boundary."""
    if tensor.type.dtype is DType.INT32:  # indices, which ONNX files have as int64 too
        return values.astype(np.int32).reshape(tensor.shape)
    if tensor.type.dtype is DType.FLOAT32 and tensor.type.quant is None:  # of which some stand for integers
        return values.astype(np.float32, copy=False).reshape(tensor.shape)
    if values.dtype == np.uint16:  # which the graph has as int16, 32768 lower
        values = flip_sign_bit(values)
    is_same = values.dtype == tensor.type.dtype.numpy  # signs are words, as numbers of 32 bits are
    dtype = tensor.type.dtype if is_same else DType.of(values.dtype)
    source = TensorType(dtype, values.shape, tensor.type.quant)
    return convert(values, source, tensor.type).reshape(tensor.shape)
