"""LiteRT's reference kernels, with all inner tensors (the optional package ai-edge-litert)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from tinygen.build.execute import Sample
from tinygen.errors import ToolError, UsageError
from tinygen.frontends.tflite.ending import ending_at
from tinygen.frontends.tflite.raw import RawOperator, TypeName
from tinygen.frontends.tflite.schema import read
from tinygen.ir.types import Array
from tinygen.verify import litert_interpreter
from tinygen.verify.comparison import Permission, Rounding
from tinygen.verify.oracle import ON_INPUTS, Oracle, refusal
from tinygen.verify.survival import is_survived

_WHO = "LiteRT's reference kernels"
_MISTAKEN = ("LOCAL_RESPONSE_NORMALIZATION",)  # whose reference kernel leaves out the last channel of each window

# what LiteRT's messages say of the operator at fault: its number, its kind, or a tensor of it
_NODE = re.compile(r"Node number (\d+) \(\w+\) failed to")
_KIND = re.compile(r"[Oo]p for builtin opcode '(\w+)'")
_TENSOR = re.compile(r"Tensor (\d+) has")


@dataclass(frozen=True)
class LiteRTRun:
    """What one inference left behind."""

    outputs: Sequence[Array]
    tensors: Mapping[str, Array]  # by the names that the frontend gives
    permission: Permission | None = None  # of every operator
    oracle: Oracle | None = None  # whose it is


class InferenceEngine(Protocol):
    """Runs a model's file and shows its inner tensors."""

    def run(self, inputs: Sample) -> LiteRTRun:
        """One inference."""


class LiteRT:
    """A model in LiteRT, up to the tensors `stop_at` where there are any, with the inputs' `shapes` where given.

    The kernels for hosts round differently: the reference ones are asked for, unless these lack an operator, without
    `has_references`. Raises UsageError where they do not take the model.
    """

    def __init__(
        self,
        model: Path,
        stop_at: Sequence[str] = (),
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        has_references: bool = True,
    ) -> None:
        if not litert_interpreter.is_installed():
            raise ToolError(
                "ai-edge-litert: not installed, needed to compare with LiteRT. "
                "Run `pip install tinygen[litert]`, or compare with --against simulator."
            )
        self._file = model.name
        self._permission = None if has_references else Permission(1, Rounding.FOR_HOSTS)
        whole = read(model).subgraphs[0]
        main = ending_at(model, whole, stop_at)
        self._inputs, self._outputs = main.inputs, main.outputs
        self._operators = main.operators
        mistaken = next((each for each in main.operators if has_references and each.name in _MISTAKEN), None)
        if mistaken is not None:
            raise refusal(f"{self._file}, {mistaken.place}", _WHO, "it as TensorFlow defines it")
        readable = (
            tensor for tensor in whole.tensors if tensor.type is not TypeName.RESOURCE
        )  # LiteRT crashes on these
        self._names = {tensor.index: tensor.name for tensor in readable}
        self._variables = {tensor.index: tensor.name for tensor in whole.tensors if tensor.is_variable}
        given = shapes or {}
        sizes = [(i, given[whole.tensors[i].name]) for i in whole.inputs if whole.tensors[i].name in given]
        if not is_survived(f"{litert_interpreter.__name__}:prepared", str(model), sizes, has_references):
            raise refusal(self._file, _WHO)
        try:
            self._interpreter = litert_interpreter.prepared(str(model), sizes, has_references)
        except (RuntimeError, ValueError) as error:
            raise self._refusal(error, "it") from error

    def run(self, inputs: Sample) -> LiteRTRun:
        """The next call. Of operators' states, what it found."""
        found = {name: self._interpreter.get_tensor(index) for index, name in self._variables.items()}
        for index, values in zip(self._inputs, inputs, strict=True):
            self._interpreter.set_tensor(index, values)
        try:
            self._interpreter.invoke()
        except RuntimeError as error:
            raise self._refusal(error, ON_INPUTS) from error
        outputs = [self._interpreter.get_tensor(index) for index in self._outputs]
        return LiteRTRun(outputs, self._tensors() | found, self._permission, Oracle.LITERT)

    def _refusal(self, error: Exception, what: str) -> UsageError:
        """Names the operator where LiteRT does; its own words are about its source code."""
        at_fault = next(filter(partial(_is_blamed, str(error)), self._operators), None)
        place = self._file if at_fault is None else f"{self._file}, {at_fault.place}"
        return refusal(place, _WHO, what)

    def _tensors(self) -> dict[str, Array]:
        tensors = {}
        for index, name in self._names.items():
            try:
                tensors[name] = self._interpreter.get_tensor(index)
            except ValueError:  # a tensor that no operator has filled holds nothing that can be read
                continue
        return tensors


def _is_blamed(message: str, operator: RawOperator) -> bool:
    """Whether a message of LiteRT is about the operator."""
    node, kind, tensor = (pattern.search(message) for pattern in (_NODE, _KIND, _TENSOR))
    if node is not None:
        return operator.index == int(node[1])
    if kind is not None:
        return operator.name == kind[1]
    return tensor is not None and int(tensor[1]) in (*operator.inputs, *operator.outputs)
