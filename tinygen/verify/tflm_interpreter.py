"""TFLite Micro's interpreter, ready for inputs; who only tries whether it lives (`survival`) imports this alone."""

from pathlib import Path

try:
    from tflite_micro.python.tflite_micro import runtime
except ImportError:
    runtime = None

_ARENA_BYTES = 64 << 20


def is_installed() -> bool:
    """Whether the optional package is there."""
    return runtime is not None


def prepared(model: str) -> "runtime.Interpreter":
    """Of a model's file; keeps all tensors. RuntimeError where it refuses the model; some models end the process."""
    return runtime.Interpreter.from_bytes(
        Path(model).read_bytes(),
        arena_size=_ARENA_BYTES,
        intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
    )
