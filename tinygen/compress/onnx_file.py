"""Model files whose weights shall be quantized, as ONNX models."""

from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import ModelProto, numpy_helper

from tinygen.budget import CONSTANT_BYTES, Account
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.exports.onnx_export import export_onnx
from tinygen.frontends import import_model
from tinygen.frontends.doors import model_file
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.tensor_data import array_of, is_external
from tinygen.passes.real_layers import real_layers


def read_model(path: Path, trust: bool = False) -> ModelProto:
    """The model of an ONNX file with all its constants; those of other formats are written as ONNX first.

    UsageError where there is no such file, UnsupportedModelError where it cannot be read. `trust`: code in it may run.
    """
    file = model_file(path, trust)
    if not file.is_file():
        raise UsageError(f"{path}: there is no such file. Name a float model.")
    if file.suffix.lower() != ".onnx":
        return export_onnx(real_layers(import_model(file)))
    try:
        model: ModelProto = ModelProto.FromString(file.read_bytes())
        if not model.graph.node:
            raise UnsupportedError("it holds no operators")
        _load_external(model, file)
    except (DecodeError, UnsupportedError) as error:
        reason = "it is no protobuf message of ONNX" if isinstance(error, DecodeError) else str(error)
        raise UnsupportedModelError(
            f"{file.name}: {reason}, an ONNX model was expected. Export the model again."
        ) from None
    return model


def _load_external(model: ModelProto, file: Path) -> None:
    """Constants that lie in files beside the model become part of it."""
    account = Account(CONSTANT_BYTES)
    for tensor in filter(is_external, model.graph.initializer):
        array = array_of(tensor, file.parent)
        account.spend(array.nbytes, f"{file.name}, constant '{tensor.name}' and those before it")
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
