"""TFLite Micro's reference kernels, with all inner tensors (the optional package tflite-micro)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tinygen.build.execute import Sample
from tinygen.errors import ToolError, UsageError
from tinygen.frontends.tflite.ending import ending_at
from tinygen.frontends.tflite.raw import RawTensor, TypeName
from tinygen.frontends.tflite.schema import read
from tinygen.ir.types import Array
from tinygen.verify import tflm_interpreter
from tinygen.verify.litert import LiteRTRun
from tinygen.verify.oracle import ON_INPUTS, Oracle, refusal
from tinygen.verify.survival import is_survived

_WHO = "TFLite Micro's interpreter"


class Tflm:
    """A model in TFLite Micro, up to the tensors `stop_at` where there are any: calls follow each other.

    Raises UsageError where it does not take the model.
    """

    def __init__(self, model: Path, stop_at: Sequence[str] = ()) -> None:
        if not tflm_interpreter.is_installed():
            raise ToolError(
                "tflite-micro: not installed, needed to compare with TFLite Micro, which says what operators with "
                "states mean. Run `pip install tinygen[tflm]`, or compare with --against simulator."
            )
        self._file = model.name
        whole = read(model).subgraphs[0]
        main = ending_at(model, whole, stop_at)
        self._inputs = [whole.inputs.index(index) for index in main.inputs]
        self._outputs = main.outputs
        used = {index for raw in whole.operators for index in (*raw.inputs, *raw.outputs)} | {*whole.inputs}
        variable = (tensor for tensor in whole.tensors if tensor.data is None and tensor.type is not TypeName.RESOURCE)
        self._tensors = [tensor for tensor in variable if tensor.index in used]
        if not is_survived(f"{tflm_interpreter.__name__}:prepared", str(model)):
            raise self._refusal("it")
        try:
            self._interpreter = tflm_interpreter.prepared(str(model))
        except RuntimeError as error:
            raise self._refusal("it") from error

    def run(self, inputs: Sample) -> LiteRTRun:
        """The next call. Of operators' states, what it found; the graph's names for what it leaves are its own."""
        found = {tensor.name: self._read(tensor.index) for tensor in self._tensors if tensor.is_variable}
        for position, values in zip(self._inputs, inputs, strict=True):
            self._interpreter.set_input(values, position)
        try:
            self._interpreter.invoke()
        except RuntimeError as error:
            raise self._refusal(ON_INPUTS) from error
        tensors = {t.name: self._value(t) for t in self._tensors if not t.is_variable}
        return LiteRTRun([self._read(index) for index in self._outputs], tensors | found, oracle=Oracle.TFLM)

    def _value(self, tensor: RawTensor) -> Array:
        return self._read(tensor.index).reshape(tensor.shape)

    def _read(self, index: int) -> Array:
        return np.array(self._interpreter.GetTensor(index, 0)["tensor_data"])

    def _refusal(self, what: str) -> UsageError:
        return refusal(self._file, _WHO, what)
