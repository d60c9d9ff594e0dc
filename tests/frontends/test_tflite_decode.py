"""Reading TFLite files gives what LiteRT sees in them, and what the writer put into them."""

import math
from pathlib import Path

import numpy as np
import pytest
import tflite

from tests.support.litert import LiteRTTensorType, interpreter, needs_litert
from tests.support.shared import SHARED
from tests.support.tflite_writer import ModelWriter, Signature
from tinygen.frontends.tflite.raw import RawModel, RawQuantization, RawSignature, TypeName
from tinygen.frontends.tflite.schema import read

pytestmark = pytest.mark.filterwarnings("error")

REAL_MODELS = {path.stem: path for path in (sorted(SHARED.glob("models/*/*.tflite")) if SHARED else [])}
LITERT_REFUSES = "tflm_person_detect"  # quantized dimension 3 on one-dimensional biases
OF_TFLM_ALONE = "tflm_audio_preprocessor_int8"  # operators that LiteRT does not have
COMPARED = sorted(REAL_MODELS.keys() - {LITERT_REFUSES, OF_TFLM_ALONE})

needs_models = pytest.mark.skipif(not REAL_MODELS, reason="../shared/models is missing: no real model was decoded")


def _decode(folder: Path, model: bytes) -> RawModel:
    path = folder / "model.tflite"
    path.write_bytes(model)
    return read(path)


@needs_models
@needs_litert
@pytest.mark.parametrize("name", COMPARED)
def test_tensors_are_those_that_litert_sees(name: str) -> None:
    loaded = interpreter(REAL_MODELS[name])
    subgraph = read(REAL_MODELS[name]).subgraphs[0]
    for tensor, detail in zip(subgraph.tensors, loaded.get_tensor_details(), strict=False):
        assert (tensor.index, tensor.name) == (detail["index"], detail["name"] or f"tensor_{tensor.index}")
        assert tensor.shape == tuple(detail["shape"])
        assert (tensor.shape_signature or tensor.shape) == tuple(detail["shape_signature"])
        assert np.dtype(detail["dtype"]).name == ("object" if tensor.type is TypeName.RESOURCE else tensor.type.lower())
        stored = detail["quantization_parameters"]
        quantization = tensor.quantization or RawQuantization((), (), 0)
        assert quantization.scales == tuple(stored["scales"].tolist())
        assert quantization.zero_points == tuple(stored["zero_points"].tolist())
        assert quantization.axis == stored["quantized_dimension"]
        values = tensor.values()
        if values is not None:
            np.testing.assert_array_equal(values, loaded.get_tensor(tensor.index))


@needs_models
@needs_litert
@pytest.mark.parametrize("name", COMPARED)
def test_operators_are_those_that_litert_sees(name: str) -> None:
    loaded = interpreter(REAL_MODELS[name])
    subgraph = read(REAL_MODELS[name]).subgraphs[0]
    for operator, detail in zip(subgraph.operators, loaded._get_ops_details(), strict=False):
        assert (operator.index, operator.name) == (detail["index"], detail["op_name"])
        assert operator.inputs == tuple(detail["inputs"])
        assert operator.outputs == tuple(detail["outputs"])
    assert list(subgraph.inputs) == [detail["index"] for detail in loaded.get_input_details()]
    assert list(subgraph.outputs) == [detail["index"] for detail in loaded.get_output_details()]


@needs_models
def test_an_axis_outside_of_the_shape_is_kept_as_stored() -> None:
    """TFLM runs this model; only LiteRT refuses it, so that the twin with the axis mended is the oracle."""
    stored = read(REAL_MODELS[LITERT_REFUSES]).subgraphs[0].tensors
    mended = read(REAL_MODELS[f"{LITERT_REFUSES}_fixedqdim"]).subgraphs[0].tensors
    differing = 0
    for ours, theirs in zip(stored, mended, strict=True):
        assert (ours.name, ours.shape, ours.type) == (theirs.name, theirs.shape, theirs.type)
        if ours.quantization != theirs.quantization:
            assert ours.quantization is not None and theirs.quantization is not None
            assert (ours.quantization.axis, theirs.quantization.axis, len(ours.shape)) == (3, 0, 1)
            assert ours.quantization.scales == theirs.quantization.scales
            differing += 1
    assert differing == 14


@needs_models
def test_all_subgraphs_and_signatures_are_decoded() -> None:
    model = read(REAL_MODELS["mww_v2_vad_streaming_int8"])
    assert [len(subgraph.operators) for subgraph in model.subgraphs] == [32, 8]
    (signature,) = model.signatures
    assert (signature.name, signature.subgraph) == ("serving_default", 0)
    assert signature.inputs == (("input_audio", model.subgraphs[0].inputs[0]),)
    assert signature.outputs == (("dense", model.subgraphs[0].outputs[0]),)


def test_options_and_absent_operands(tmp_path: Path) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), scale=0.5, signature=(-1, 4))
    weights = writer.tensor("w", (2, 4), scale=[0.5, 0.25], data=np.arange(8).reshape(2, 4))
    y = writer.tensor("y", (1, 2), scale=0.5, zero_point=-7)
    writer.operator("FULLY_CONNECTED", [x, weights, -1], [y], keep_num_dims=True, version=9)
    subgraph = _decode(tmp_path, writer.finish([x], [y])).subgraphs[0]
    (operator,) = subgraph.operators
    assert (operator.inputs, operator.outputs, operator.version) == ((x, weights, -1), (y,), 9)
    assert operator.has_options(tflite.FullyConnectedOptions)
    assert not operator.has_options(tflite.Conv2DOptions)
    assert operator.options(tflite.FullyConnectedOptions).KeepNumDims() is True
    assert [tensor.is_dynamic for tensor in subgraph.tensors] == [True, False, False]
    assert subgraph.tensors[weights].quantization == RawQuantization((0.5, 0.25), (0, 0), 0)
    assert subgraph.tensors[y].quantization == RawQuantization((0.5,), (-7,), 0)


def test_subgraphs_and_signatures(tmp_path: Path) -> None:
    writer = ModelWriter()
    first = writer.tensor("a", (1,))
    writer.next_subgraph([first], [first])
    writer.tensor("unused", (1,))
    second = writer.tensor("b", (1,))
    signatures = [Signature("train", {"i": 1}, {"o": 1, "p": 0}, subgraph=1), Signature("serve", {}, {})]
    model = _decode(tmp_path, writer.finish([second], [second], description="two", signatures=signatures))
    assert [subgraph.inputs for subgraph in model.subgraphs] == [(0,), (1,)]
    assert model.signatures == (
        RawSignature("train", 1, (("i", 1),), (("o", 1), ("p", 0))),
        RawSignature("serve", 0, (), ()),
    )
    assert model.description == "two"


def test_empty_and_repeated_names_become_unique(tmp_path: Path) -> None:
    writer = ModelWriter()
    for name in ("a", "", "a", "tensor_1", "a_4", "", "a", "größe\n"):
        writer.tensor(name, (1,))
    names = [tensor.name for tensor in _decode(tmp_path, writer.finish([0], [0])).subgraphs[0].tensors]
    assert names == ["a", "tensor_1_", "a_2", "tensor_1", "a_4", "tensor_5", "a_6", "größe\n"]


def test_custom_and_unknown_operators_cannot_pass_for_builtin_ones(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y, z = (writer.tensor(f"{name}\x1b[31m", (1,)) for name in "xyz")
    writer.operator("CUSTOM", [x], [y], custom_code="CONV_2D")
    writer.operator("CUSTOM", [y], [z], custom_code="a\x1b[2J")
    operators = _decode(tmp_path, writer.finish([x], [z])).subgraphs[0].operators
    assert [operator.name for operator in operators] == ["CUSTOM:CONV_2D", r"CUSTOM:a\x1b[2J"]
    assert operators[1].where == r"model.tflite, operator 1 (CUSTOM:a\x1b[2J 'z\x1b[31m')"


@needs_litert
def test_tensor_types_are_numbered_as_in_litert() -> None:
    numbered = {code: name for name, code in vars(LiteRTTensorType).items() if isinstance(code, int)}
    assert [numbered[code] for code in sorted(numbered)] == list(TypeName)


@pytest.mark.parametrize("name", [name for name in vars(tflite.TensorType) if name.isupper()])
def test_every_tensor_type_is_read(name: str, tmp_path: Path) -> None:
    writer, type_name = ModelWriter(), TypeName(name)
    stored = bytes(range(1, 1 + math.ceil(3 * (type_name.bits or 8) / 8)))
    writer.tensor("constant", (3,), name, data=stored)
    (tensor,) = _decode(tmp_path, writer.finish([0], [0])).subgraphs[0].tensors
    assert tensor.type is type_name
    assert tensor.data is not None and tensor.data.tobytes() == stored
    values = tensor.values()
    if name in {"INT4", "BFLOAT16", "STRING", "RESOURCE", "VARIANT"}:
        assert values is None
    else:
        assert values is not None and values.shape == (3,) and not values.flags.writeable


def test_constants_of_no_elements_are_constants(tmp_path: Path) -> None:
    writer = ModelWriter()
    scalar_shape = writer.tensor("shape of a scalar", (0,), "int32", data=np.empty(0, np.int32))
    activation = writer.tensor("activation", (0,), "int32")
    tensors = _decode(tmp_path, writer.finish([activation], [activation])).subgraphs[0].tensors
    assert tensors[activation].values() is None
    values = tensors[scalar_shape].values()
    assert values is not None and values.shape == (0,)
