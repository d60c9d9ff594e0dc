"""Operators that are read as several others, which ONNX defines them by."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tinygen.frontends.onnx.fold import fold
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.raw import Attribute, ConsequenceError, UnsupportedError
from tinygen.frontends.onnx.values import Known, Missing, Value
from tinygen.ir.names import unused
from tinygen.ir.types import Array


class Composition:
    """The operators in place of one node, each by its own reader; inner tensors have names of their own."""

    def __init__(self, node: Node, readers: Readers) -> None:
        self._node = node
        self._readers = readers
        self._values: dict[str, Value] = dict(node.values)

    def input(self, position: int) -> str:
        """The name of an input of the node, which must be there."""
        self._node.value(position)
        return self._node.raw.inputs[position]

    def constant(self, array: Array) -> str:
        """The name of a new constant."""
        name = self._name()
        self._values[name] = Known(array)
        return name

    def number(self, value: float) -> str:
        """The name of a constant of float32."""
        return self.constant(np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """The name of a constant vector, of axes or sizes."""
        return self.constant(np.array(values, np.int64))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        value = self._values[name]
        if isinstance(value, Missing):
            raise ConsequenceError(f"input '{name}' is the float32 result of {value.origin}")
        return value.shape

    def value(self, name: str) -> Value:
        """A tensor, as a result of the node beside its first one."""
        return self._values[name]

    def apply(self, operator: str, *inputs: str, **attributes: Attribute) -> str:
        """The name of the result of an operator inside."""
        name = self._name()
        self._values[name] = self._read(operator, inputs, attributes, name)
        return name

    def repeated(self, name: str, axis: int, count: int) -> str:
        """The elements along an axis so often, one after the other: as an axis of its own that is expanded."""
        before, after = self.shape(name)[:axis], self.shape(name)[axis:]
        ones = self.apply("Reshape", name, self.integers(*before, 1, *after))
        expanded = self.apply("Expand", ones, self.integers(*before, count, *after))
        return self.apply("Reshape", expanded, self.integers(*before, count * after[0], *after[1:]))

    def last(self, operator: str, *inputs: str, **attributes: Attribute) -> Value:
        """The result of the operator that the node's own result is that of."""
        return self._read(operator, inputs, attributes, self._node.output_name)

    def _name(self) -> str:
        """A name that no tensor of the file has, nor one inside."""
        return unused(f"{self._node.output_name}:{len(self._values)}", self._values, self._node.builder.onnx_names)

    def _read(self, operator: str, inputs: tuple[str, ...], attributes: Mapping[str, Attribute], output: str) -> Value:
        raw = replace(
            self._node.raw,
            domain="",
            operator=operator,
            inputs=inputs,
            outputs=(output,),
            attributes=attributes,
            part_of=self._node.raw.kind,
        )
        node = replace(self._node, raw=raw, values=self._values)
        found = fold(node) or self._readers[operator](node)
        if isinstance(found, tuple):
            raise UnsupportedError(f"{operator} has {len(found)} results, one was expected")
        return found
