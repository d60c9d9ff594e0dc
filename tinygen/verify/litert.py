"""LiteRT's reference kernels, with all inner tensors (the optional package ai-edge-litert)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tinygen.build.execute import Sample
from tinygen.errors import ToolError, UnsupportedModelError
from tinygen.frontends.tflite.schema import read
from tinygen.ir.types import Array

try:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError:
    Interpreter = OpResolverType = None


@dataclass(frozen=True)
class ReferenceRun:
    """What one inference left behind."""

    outputs: list[Array]
    tensors: Mapping[str, Array]  # by the names that the frontend gives
    allowed_lsb: int = 0  # by which every operator may differ


class InferenceEngine(Protocol):
    """Runs a model's file and shows its inner tensors."""

    def run(self, inputs: Sample) -> ReferenceRun:
        """One inference."""


class LiteRT:
    """A model in LiteRT. The default kernels round differently: the reference ones are asked for."""

    def __init__(self, model: Path) -> None:
        if Interpreter is None:
            raise ToolError(
                "ai-edge-litert: not installed, needed to compare with LiteRT. "
                "Run `pip install tinygen[litert]`, or compare with --against simulator."
            )
        self._file = model.name
        self._names = {tensor.index: tensor.name for tensor in read(model).subgraphs[0].tensors}
        try:
            self._interpreter = Interpreter(
                model_path=str(model),
                experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
                experimental_preserve_all_tensors=True,
            )
            self._interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise self._refusal(error) from error

    def run(self, inputs: Sample) -> ReferenceRun:
        """One inference."""
        for detail, values in zip(self._interpreter.get_input_details(), inputs, strict=True):
            self._interpreter.set_tensor(detail["index"], values)
        try:
            self._interpreter.invoke()
        except RuntimeError as error:
            raise self._refusal(error) from error
        outputs = [self._interpreter.get_tensor(detail["index"]) for detail in self._interpreter.get_output_details()]
        return ReferenceRun(outputs, self._tensors())

    def _refusal(self, error: Exception) -> UnsupportedModelError:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return UnsupportedModelError(
            f"{self._file}: LiteRT's reference kernels refuse it ({lines[0]}). Compare with --against simulator."
        )

    def _tensors(self) -> dict[str, Array]:
        tensors = {}
        for index, name in self._names.items():
            try:
                tensors[name] = self._interpreter.get_tensor(index)
            except ValueError:  # a tensor that no operator has filled holds nothing that can be read
                continue
        return tensors
