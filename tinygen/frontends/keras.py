"""Keras models and SavedModels by way of TensorFlow's TFLite converter (the optional package tensorflow)."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from tinygen.errors import TinygenError, ToolError, UnsupportedModelError, UsageError

os.environ.setdefault("TF_USE_LEGACY_KERAS", "0")  # its safe mode runs code all the same
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only; TensorFlow reads it when it loads

try:
    import tensorflow as tensorflow
except ImportError:
    tensorflow = None
try:
    import keras as keras
except ImportError:
    keras = None

_SAFE_KERAS = (3, 11, 3)  # before it, .h5 files run their Lambda layers in safe mode, too


def convert_keras(path: Path, out: Path, trusts: bool) -> None:
    """Write the model in a .keras or .h5 file, or in the folder of a SavedModel, as float TFLite to `out`.

    Layers that are Python code are refused, unless the file is trusted; a SavedModel is code as a whole.
    """
    _write_converted(lambda: _converter(path, trusts), path.name, out)


def export_model(model: "keras.Model", where: str, out: Path) -> None:
    """Write a model of Keras that is in memory as float TFLite to `out`."""
    _write_converted(lambda: _converter_of(model), where, out)


def _write_converted(converter: "Callable[[], tensorflow.lite.TFLiteConverter]", where: str, out: Path) -> None:
    if tensorflow is None:
        raise ToolError(f"tensorflow: not installed, needed to read {where}. Run `pip install tinygen[tensorflow]`.")
    try:
        converted = converter().convert()
    except TinygenError:
        raise
    except Exception as error:  # TensorFlow has no base class of its own for what goes wrong
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UnsupportedModelError(
            f"{where}: TensorFlow cannot convert it ({reason}). Convert it by hand, and name the .tflite file."
        ) from error
    out.write_bytes(converted)


def _converter(path: Path, trusts: bool) -> "tensorflow.lite.TFLiteConverter":
    if path.is_dir():
        return tensorflow.lite.TFLiteConverter.from_saved_model(str(path))
    return _converter_of(load_keras(path, trusts))


def _converter_of(model: "keras.Model") -> "tensorflow.lite.TFLiteConverter":
    """For one sample at a time: TensorFlow converts loops over time, as of recurrent layers, for fixed shapes alone."""
    if any(one.shape[0] is None for one in model.inputs):
        inputs = [keras.Input(batch_shape=(1, *one.shape[1:]), dtype=one.dtype, name=one.name) for one in model.inputs]
        given = inputs[0] if len(inputs) == 1 else keras.tree.pack_sequence_as(model.input, inputs)
        model = keras.Model(inputs, model(given))
    return tensorflow.lite.TFLiteConverter.from_keras_model(model)


def load_keras(path: Path, trusts: bool) -> "keras.Model":
    """The model in a .keras or .h5 file. Raises ToolError where Keras is too old to refuse code, UsageError where the
    file has some and is not trusted.
    """
    if not trusts and _version(keras.__version__) < _SAFE_KERAS:
        raise ToolError(
            f"keras: is {keras.__version__}, {'.'.join(map(str, _SAFE_KERAS))} or newer was expected, as older ones "
            f"run code of {path.name} unasked. Run `pip install 'tinygen[tensorflow]'`, or add --trust."
        )
    try:
        return keras.models.load_model(str(path), compile=False, safe_mode=not trusts)
    except Exception as error:
        if trusts or "safe_mode" not in str(error):
            raise
        raise UsageError(
            f"{path.name}: has a layer that is Python code (Lambda), --trust was expected for such a file. Add it "
            "where you trust the file (trust=True in Python), or replace the layer."
        ) from error


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall("[0-9]+", text)[:3]))
