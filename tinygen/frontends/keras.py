"""Keras models and SavedModels by way of TensorFlow's TFLite converter (the optional package tensorflow)."""

import os
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from tinygen.errors import ToolError, UnsupportedModelError

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only; TensorFlow reads it when it loads

try:
    import tensorflow as tensorflow
except ImportError:
    tensorflow = None


def convert_keras(path: Path, out: Path) -> None:
    """Write the model in a .keras or .h5 file, or in the folder of a SavedModel, as float TFLite to `out`."""
    if tensorflow is None:
        raise ToolError(
            f"tensorflow: not installed, needed to read {path.name}. Run `pip install tinygen[tensorflow]`."
        )
    try:
        with redirect_stdout(StringIO()):  # Keras tells there what it saves on the way
            converted = _converter(path).convert()
    except Exception as error:  # TensorFlow has no base class of its own for what goes wrong
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UnsupportedModelError(
            f"{path.name}: TensorFlow cannot convert it ({reason}). Convert it by hand, and name the .tflite file."
        ) from error
    out.write_bytes(converted)


def _converter(path: Path) -> "tensorflow.lite.TFLiteConverter":
    if path.is_dir():
        return tensorflow.lite.TFLiteConverter.from_saved_model(str(path))
    return tensorflow.lite.TFLiteConverter.from_keras_model(tensorflow.keras.models.load_model(str(path)))
