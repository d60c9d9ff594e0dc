"""The variables of a network while its operators are read in order."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import tflite

from tinygen.frontends.tflite.raw import RawModel, RawOperator, RawSubgraph
from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.kept import Kept
from tinygen.ops.quantize import flip_sign_bit

Name = tuple[bytes, bytes]  # container and shared name, which say which variable it is in every subgraph

HANDLE, READ, ASSIGN, CALL_ONCE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"


@dataclass(frozen=True)
class Start:
    """What a variable holds before the first call."""

    values: Array  # as stored
    origin: str  # of the tensor, for messages


@dataclass(eq=False)
class KeptVariables:
    """What variables hold at the point up to which operators have been read."""

    handles: Mapping[int, Name]  # by tensor of the main subgraph
    assigned: frozenset[Name]  # in a call
    variables: set[int]  # tensors that are states of an operator, as far as none has taken them
    starts: dict[Name, Start] = field(default_factory=dict)  # by the subgraph that is called once
    is_read: bool = False  # whether some variable was
    states: dict[Name, Tensor] = field(default_factory=dict)  # what a call finds
    values: dict[Name, Tensor] = field(default_factory=dict)  # what they hold now
    sources: dict[Name, Source] = field(default_factory=dict)  # of the last operator that assigned one
    own: list[Kept] = field(default_factory=list)  # what operators keep that are no variables of the file

    @classmethod
    def of(cls, model: RawModel, subgraph: RawSubgraph) -> "KeptVariables":
        """Before the first operator of the main subgraph."""
        return cls(handles_of(subgraph), _assigned(model), _variables(subgraph))

    def inside(self, subgraph: RawSubgraph, passed: Mapping[int, Name], is_apart: bool) -> "KeptVariables":
        """Of a subgraph that an operator runs, with the handles that it is passed.

        It goes on with the same values, unless it `is_apart`: then its `states` are what it reads of these, and its
        `values` are for the operator to take over.
        """
        handles = {**passed, **handles_of(subgraph)}
        if is_apart:
            return KeptVariables(handles, self.assigned, _variables(subgraph), self.starts)
        return replace(self, handles=handles, variables=_variables(subgraph))

    def kept(self) -> list[Kept]:
        """After the last operator: what a call finds and leaves another value of."""
        return self.own + [
            Kept(tensor, self.values[name], _start(self.starts.get(name), tensor.type), self.sources[name])
            for name, tensor in self.states.items()
            if name in self.sources
        ]

    def read(self, name: Name, result: Tensor) -> Tensor:
        """The tensor that reading a variable gives; `result` says of which type."""
        self.is_read = True
        if name not in self.values:
            is_fixed = name not in self.assigned
            start = _start(self.starts.get(name), result.type)
            data = _zeros(result.type) if is_fixed and start is None else start
            self.values[name] = Tensor(result.name, result.type, data if is_fixed else None)
            if not is_fixed:
                self.states[name] = self.values[name]
        value = self.values[name]
        check_type(value, result)
        return value


def _variables(subgraph: RawSubgraph) -> set[int]:
    return {tensor.index for tensor in subgraph.tensors if tensor.is_variable}


def _assigned(model: RawModel) -> frozenset[Name]:
    """The variables that some call may assign: all but those that nothing but subgraphs called once does."""
    operators = [raw for subgraph in model.subgraphs for raw in subgraph.operators]
    once = {
        raw.options(tflite.CallOnceOptions).InitSubgraphIndex()
        for raw in operators
        if raw.name == CALL_ONCE and raw.has_options(tflite.CallOnceOptions)
    }
    found, is_any = set[Name](), False
    every = [handles_of(subgraph) for subgraph in model.subgraphs]
    for index, (subgraph, handles) in enumerate(zip(model.subgraphs, every, strict=True)):
        targets = {raw.inputs[0] for raw in subgraph.operators if raw.name == ASSIGN and raw.inputs}
        if index not in once:
            found.update(handles[target] for target in targets & handles.keys())
            is_any |= not targets.isdisjoint(subgraph.inputs)  # a handle that an operator passes
    return frozenset(name for handles in every for name in handles.values()) if is_any else frozenset(found)


def check_type(value: Tensor, other: Tensor) -> None:
    """ValueError where two tensors of one variable are not alike: its bytes are copied as they are."""
    if value.type != other.type:
        raise ValueError(
            f"'{other.name}' is {other.type} and '{value.name}', in the same variable, {value.type}: the same type was "
            "expected"
        )


def handles_of(subgraph: RawSubgraph) -> dict[int, Name]:
    """The variable behind each handle of a subgraph."""
    return {raw.outputs[0]: _name(raw) for raw in subgraph.operators if raw.name == HANDLE and raw.outputs}


def starts_of(model: RawModel, index: int) -> dict[Name, Start]:
    """What the subgraph of that number assigns to variables; ValueError where that is not constants alone."""
    if not 0 < index < len(model.subgraphs):
        raise ValueError(f"calls subgraph {index}, 1 to {len(model.subgraphs) - 1} were expected")
    subgraph = model.subgraphs[index]
    handles, found = handles_of(subgraph), dict[Name, Start]()
    for raw in subgraph.operators:
        if raw.name == ASSIGN and len(raw.inputs) == 2 and raw.inputs[0] in handles:
            found[handles[raw.inputs[0]]] = _constant(subgraph, raw, index)
        elif raw.name != HANDLE:
            raise ValueError(
                f"the subgraph {index} that it calls has a {raw.name}, nothing but constants that are assigned to "
                "variables was expected"
            )
    return found


def _constant(subgraph: RawSubgraph, raw: RawOperator, index: int) -> Start:
    tensor = subgraph.tensors[raw.inputs[1]] if raw.inputs[1] >= 0 else None
    values = tensor.values() if tensor is not None else None
    if tensor is None or values is None:
        raise ValueError(
            f"the subgraph {index} that it calls assigns a value that it computes, a constant was expected"
        )
    return Start(values, tensor.name)


def _name(raw: RawOperator) -> Name:
    options = raw.options(tflite.VarHandleOptions)
    return options.Container() or b"", options.SharedName() or b""


def _start(start: Start | None, type: TensorType) -> Array | None:
    """The first value in the type of the variable; None where there is none."""
    if start is None:
        return None
    is_unsigned = start.values.dtype == np.uint8 and type.dtype is DType.INT8  # in a network that is read as int8
    values = flip_sign_bit(start.values) if is_unsigned else start.values
    if values.dtype != type.dtype.numpy or values.shape != type.shape:
        raise ValueError(
            f"begins with '{start.origin}', {values.dtype}{list(values.shape)}, "
            f"{np.dtype(type.dtype.numpy)}{list(type.shape)} was expected"
        )
    return values


def _zeros(type: TensorType) -> Array:
    data = np.full(type.shape, type.zero_point if type.quant else 0, type.dtype.numpy)
    data.flags.writeable = False
    return data
