"""LiteRT's reference kernels as an outside oracle for TFLite models."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

try:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    from ai_edge_litert.schema_py_generated import TensorType as LiteRTTensorType
except ImportError:
    Interpreter = OpResolverType = LiteRTTensorType = None

__all__ = ["Array", "LiteRTTensorType", "ReferenceRun", "interpreter", "needs_litert", "run_reference"]

Array = npt.NDArray[np.generic]

needs_litert = pytest.mark.skipif(
    Interpreter is None, reason="ai-edge-litert is not installed: nothing was compared with LiteRT"
)


@dataclass(frozen=True)
class ReferenceRun:
    """What one inference left: the outputs in order, and all tensors that hold something by index."""

    outputs: list[Array]
    tensors: dict[int, Array]


def interpreter(model: bytes | Path, preserve_all: bool = False, optimized: bool = False) -> "Interpreter":
    """An interpreter with its tensors allocated; skips the test without LiteRT.

    `optimized` takes the kernels for hosts, where the reference kernels lack the operator (ELU).
    """
    if Interpreter is None:
        pytest.skip("ai-edge-litert is not installed: nothing was compared with LiteRT")
    loaded = Interpreter(
        model_content=model.read_bytes() if isinstance(model, Path) else model,
        experimental_op_resolver_type=(
            OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if optimized else OpResolverType.BUILTIN_REF
        ),
        experimental_preserve_all_tensors=preserve_all,
    )
    loaded.allocate_tensors()
    return loaded


def run_reference(
    model: bytes | Path, inputs: Sequence[Array], preserve_all: bool = False, optimized: bool = False
) -> ReferenceRun:
    """Run `model` once on `inputs`; `tensors` is empty unless `preserve_all`."""
    loaded = interpreter(model, preserve_all, optimized)
    for detail, values in zip(loaded.get_input_details(), inputs, strict=True):
        loaded.set_tensor(detail["index"], values)
    loaded.invoke()
    outputs = [loaded.get_tensor(detail["index"]) for detail in loaded.get_output_details()]
    return ReferenceRun(outputs, _tensors(loaded) if preserve_all else {})


def _tensors(loaded: "Interpreter") -> dict[int, Array]:
    tensors = {}
    for detail in loaded.get_tensor_details():
        try:
            tensors[detail["index"]] = loaded.get_tensor(detail["index"])
        except ValueError:  # LiteRT's scratch tensors hold nothing that can be read
            continue
    return tensors
