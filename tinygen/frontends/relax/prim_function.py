"""Functions of TVM's loops that a Relax module calls, where they compute element by element.

Importers of TVM write Clip and its like so: a loop over all elements around one block that stores an expression.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinygen.frontends.relay.emitter import Emitter, Wired

_BINARY = {"Add": "Add", "Sub": "Sub", "Mul": "Mul", "Div": "Div", "Max": "Max", "Min": "Min"}
_DEEPEST = 64  # expressions within expressions


def elementwise(function: Any, name: str, operands: Sequence[Wired], emitter: Emitter) -> Wired:
    """The result of a call; ValueError where it is no expression of elements at the same places."""
    try:
        return _Elements(function, name, operands, emitter).result()
    except AttributeError as error:
        raise ValueError(f"call_tir of {name}: has another form than a loop over elements ({error})") from error


class _Elements:
    def __init__(self, function: Any, name: str, operands: Sequence[Wired], emitter: Emitter) -> None:
        *inputs, self._result = function.params
        if len(inputs) != len(operands):
            raise ValueError(f"call_tir of {name}: takes {len(inputs)} tensors, {len(operands)} were given")
        self._name, self._emitter = name, emitter
        self._operands: Mapping[Any, Wired] = dict(zip(inputs, operands, strict=True))
        realized = function.body.block.body
        while type(realized).__name__ == "For":
            realized = realized.body
        self._check(realized)
        self._axes = [each.var for each in realized.block.iter_vars]
        self._store = realized.block.body
        self._shape = tuple(int(each.dom.extent) for each in realized.block.iter_vars)

    def result(self) -> Wired:
        """The tensor that is stored."""
        store = self._store
        is_whole = type(store).__name__ == "BufferStore" and store.buffer.same_as(self._result)
        if not is_whole or [self._axis(each) for each in store.indices] != list(range(len(self._axes))):
            raise self._refusal("stores something else than one element at each place")
        found = self._expression(store.value, 0)
        if found.shape != self._shape:
            raise self._refusal(f"gives shape {list(found.shape)} for {list(self._shape)}")
        return found

    def _check(self, realized: Any) -> None:
        if type(realized).__name__ != "SBlockRealize" or realized.block.init is not None:
            raise self._refusal("adds up or nests loops")
        if str(realized.predicate) not in ("T.bool(True)", "True"):
            raise self._refusal("leaves elements out")
        if any(type(each).__name__ != "Var" for each in realized.iter_values):
            raise self._refusal("goes through elements in another order")

    def _expression(self, value: Any, depth: int) -> Wired:
        kind = type(value).__name__
        if depth > _DEEPEST:
            raise self._refusal("is nested too deeply")
        if kind in _BINARY:
            return self._emitter.emit(_BINARY[kind], [self._expression(each, depth + 1) for each in (value.a, value.b)])
        if kind in ("IntImm", "FloatImm"):
            return self._emitter.constant(np.array(value.value, str(value.ty.dtype)))
        if kind in ("TensorLoad", "BufferLoad"):
            return self._load(value)
        raise self._refusal(f"computes {kind}")

    def _load(self, load: Any) -> Wired:
        """A tensor with its axes at the places of the loops that go through them."""
        tensor = self._operands[load.source]
        places = [self._axis(each) for each in load.indices]
        through = [place for place in places if place is not None]
        if through != sorted(set(through)) or len(places) != len(tensor.shape):
            raise self._refusal("reads elements at other places")
        shape = [1] * len(self._axes)
        for place, size in zip(places, tensor.shape, strict=True):
            if place is None and size != 1:
                raise self._refusal("reads one element of many")
            if place is not None:
                shape[place] = size
        if tuple(shape) == tensor.shape:
            return tensor
        sizes = self._emitter.constant(np.array(shape, np.int64))
        return self._emitter.emit("Reshape", [tensor, sizes], quantized=tensor.quantized)

    def _axis(self, index: Any) -> int | None:
        """Which loop an index is; None for the first element."""
        if type(index).__name__ == "IntImm" and int(index.value) == 0:
            return None
        for place, axis in enumerate(self._axes):
            if axis.same_as(index):
                return place
        raise self._refusal("computes places of elements")

    def _refusal(self, what: str) -> ValueError:
        return ValueError(
            f"call_tir of {self._name}: {what}, sums, products and limits of elements at the same places were expected"
        )
