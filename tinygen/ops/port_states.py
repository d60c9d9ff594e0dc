"""Pairs of an input and an output of a network that become a state: what a call gives, the next one takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.names import unused
from tinygen.ir.stream import zero_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.kept import Kept, keep
from tinygen.ops.lookup import Lookup
from tinygen.ops.quantize import Dequantize, Quantize, convert

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class PortState:
    """A pair of ports, by their places among those that the model's file has."""

    input: int
    output: int
    type: TensorType  # as an application would see it

    @property
    def initial(self) -> Array:
        """What the input gets in the first call: zeros."""
        return np.full(self.type.shape, zero_of(self.type), self.type.dtype.numpy)


def states_of(graph: Graph, pairs: Mapping[str, str]) -> tuple[PortState, ...]:
    """The pairs by name, inputs first; UsageError where ports are not there, unlike, or none are left."""
    inputs, outputs = ({port.name: port for port in ports} for ports in (graph.inputs, graph.outputs))
    found = []
    for first, second in pairs.items():
        asked = f"--state {first}={second}"
        input, output = _port(asked, "input", first, inputs), _port(asked, "output", second, outputs)
        if input.external != output.external:
            raise UsageError(
                f"{asked}: the input is {input.external}, the output {output.external}, the same type was expected. "
                "What a call gives is what the next one takes, byte by byte."
            )
        found.append(PortState(graph.inputs.index(input), graph.outputs.index(output), input.external))
    for kind, ports, taken in (
        ("input", graph.inputs, {state.input for state in found}),
        ("output", graph.outputs, {state.output for state in found}),
    ):
        if found and len(taken) == len(ports):
            raise UsageError(f"--state: leaves {graph.name} without {kind}s, some were expected. Name fewer pairs.")
    return tuple(found)


def with_states(graph: Graph, states: Sequence[PortState]) -> Graph:
    """The graph where these ports are states, which begin with zeros.

    Where the ports' real numbers stand for quantized ones in the graph, these are what is kept: in the quantization of
    the input, to which those of the output are converted as the file says, by way of real numbers.
    """
    names = {tensor.name for tensor in graph.tensors} | {op.name for op in graph.ops}
    ops, kept = list[Op](graph.ops), list[Kept]()
    for state in states:
        tensor, value = graph.inputs[state.input].tensor, graph.outputs[state.output].tensor
        source = Source(graph.name, len(graph.ops), f"state '{graph.inputs[state.input].name}'")
        converted = _converted(value, tensor.type, source, names)
        ops += converted
        kept.append(Kept(tensor, converted[-1].results[0] if converted else value, None, source))
    with_copies, found = keep(ops, kept, names)
    return replace(
        graph,
        inputs=without(graph.inputs, [state.input for state in states]),
        outputs=without(graph.outputs, [state.output for state in states]),
        ops=with_copies,
        states=(*graph.states, *found),
    )


def without(items: Sequence[_Item], places: Sequence[int]) -> tuple[_Item, ...]:
    """All but those at some places."""
    return tuple(item for place, item in enumerate(items) if place not in places)


def _port(asked: str, kind: str, name: str, ports: Mapping[str, Port]) -> Port:
    if name not in ports:
        known = ", ".join(f"'{port}'" for port in ports)
        raise UsageError(f"{asked}: there is no {kind} '{name}', one of {known} was expected. Name one of them.")
    return ports[name]


def _converted(value: Tensor, type: TensorType, source: Source, names: set[str]) -> tuple[Op, ...]:
    """What makes of the output's value what the input stands for; nothing where they are alike."""
    if (value.type.dtype, value.type.quant) == (type.dtype, type.quant):
        return ()
    name = unused(f"{value.name}:state", names)
    names.add(name)
    output = Tensor(name, replace(type, shape=value.shape))
    if type.dtype is DType.FLOAT32:
        return (Dequantize(name=name, source=source, input=value, output=output),)
    if value.type.dtype is DType.INT8 is type.dtype:
        return (_table(value, output, source),)
    if value.type.dtype is DType.FLOAT32:
        return (Quantize(name=name, source=source, input=value, output=output),)
    (made,) = _converted(value, TensorType(DType.FLOAT32, value.shape), source, names)
    return (made, Quantize(name=name, source=source, input=made.results[0], output=output))


def _table(value: Tensor, output: Tensor, source: Source) -> Op:
    """From each stored value by way of the real number to the other stored one."""
    codes = np.arange(256, dtype=np.uint8).view(value.type.dtype.numpy)
    real = TensorType(DType.FLOAT32, codes.shape)
    entries = convert(convert(codes, value.type, real), real, output.type)
    table = Tensor(f"{output.name}:table", TensorType(output.type.dtype, codes.shape), entries)
    return Lookup(name=output.name, source=source, input=value, table=table, output=output)
