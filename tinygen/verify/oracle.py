"""What a run is compared with."""

from enum import StrEnum
from pathlib import Path

from tinygen.errors import UsageError
from tinygen.frontends.tflite.raw import CUSTOM
from tinygen.ir.graph import Graph, Op

ON_INPUTS = "it on these inputs"  # what an oracle that takes the model may refuse


class Oracle(StrEnum):
    """Who says what is right."""

    LITERT = "litert"  # its reference kernels, operator by operator, and the numpy references
    ONNXRUNTIME = "ort"  # within 1 LSB, operator by operator, and the numpy references
    TFLM = "tflm"  # its reference kernels, operator by operator, and the numpy references
    SIMULATOR = "simulator"  # the numpy references alone


def oracle_for(model: Path, graph: Graph) -> Oracle:
    """The one that runs the model's own file; `graph` is what it holds. Nobody else runs a module of MLIR.

    On integers, TFLite's operators with states of their own mean what TFLite Micro makes of them: LiteRT computes gates
    of LSTM in another way, and does not survive SVDF with a state of int8. Custom operators are TFLite Micro's.
    """
    if model.suffix.lower() == ".onnx":
        return Oracle.ONNXRUNTIME
    if model.suffix.lower() == ".mlir":
        return Oracle.SIMULATOR
    is_micro = any(op.source.spelling.startswith(CUSTOM) or _has_stored_states(op) for op in graph.ops)
    return Oracle.TFLM if is_micro else Oracle.LITERT


def _has_stored_states(op: Op) -> bool:
    """Whether an operator keeps integers from call to call."""
    return bool(op.carried) and not op.results[-1].type.dtype.is_real


def refusal(place: str, who: str, what: str = "it") -> UsageError:
    """The error where the oracle does not run what tinygen does; `place` is the model's file, and the operator."""
    return UsageError(
        f"{place}: {who} cannot run {what}, an oracle that can was expected. Compare with --against simulator."
    )
