"""Files of other tools: refused in one sentence that says what they are."""

from pathlib import Path

import pytest

from tests.support.onnx_writer import OnnxWriter
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model


def _refusal(operator: str, folder: Path, domain: str = "") -> str:
    writer = OnnxWriter()
    writer.output(writer.node(operator, [writer.port((1, 4))], domain=domain))
    path = folder / "net.onnx"
    path.write_bytes(writer.finish())
    with pytest.raises(UnsupportedModelError) as error:
        import_model(path)
    return str(error.value)


def test_integers_without_scales(tmp_path: Path) -> None:
    assert _refusal("RequantShift", tmp_path) == (
        "net.onnx: is in the dialect of DORY and Deeploy, whose operator 'RequantShift' shifts integers without saying "
        "which real numbers they stand for, scales were expected. Export the quantized network as QDQ (QuantizeLinear, "
        "DequantizeLinear) or QONNX (Quant), or the float one and quantize it here."
    )


@pytest.mark.parametrize("operator", ["iSoftmax", "iRMSNorm", "IntegerDiv"])
def test_other_operators_of_that_dialect(operator: str, tmp_path: Path) -> None:
    assert f"whose operator '{operator}' shifts integers" in _refusal(operator, tmp_path)


def test_compiled_networks(tmp_path: Path) -> None:
    assert _refusal("EPContext", tmp_path, "com.microsoft") == (
        "net.onnx: was compiled for an NPU (by an execution provider of onnxruntime), whose code it holds in the "
        "operator 'EPContext', a model with operators was expected. Take the file as it was before that."
    )


@pytest.mark.parametrize(
    "operator", ["ethos-u", "edgetpu-custom-op", "DISPATCH_OP", "MTKEXT_CONV_2D", "NeutronGraph", "XC_conv2d_v2"]
)
def test_compiled_tflite_files(operator: str, tmp_path: Path) -> None:
    """Vela's and XMOS' take commands, weights and scratch beside the input; the others the input alone."""
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 8), scale=0.1) for name in "xy")
    commands = writer.tensor("commands", (16,), "uint8", data=b"COP1" + bytes(12))
    scratch = writer.tensor("scratch", (64,), "uint8")
    operands = [commands, commands, scratch, scratch, x] if operator in ("ethos-u", "XC_conv2d_v2") else [x]
    writer.operator("CUSTOM", operands, [y], custom_code=operator, custom_options=b"\1\4\1")
    message = _message(writer.finish([x], [y]), "net.tflite", tmp_path)
    assert message.startswith("net.tflite: was compiled for a")
    assert message.endswith(
        f", whose code it holds in the operator '{operator}', a model with operators was expected. Take the file as it "
        "was before that."
    )


COMPILED = {
    "net.hef": (b"\x01HEF\0\0\0\2", "a Hailo NPU"),
    "net.bin": (b"\x01HEF\0\0\0\2", "a Hailo NPU"),
    "net.rknn": (b"RKNN\0\0\0\0", "a Rockchip NPU"),
    "net.kmodel": (b"LDMK\5\0\0\0", "a Kendryte KPU (by nncase)"),
    "net.espdl": (b"EDL2\0\0\0\0", "an ESP32 (by ESP-PPQ for ESP-DL)"),
    "net.onnx": (b"\x18\0\0\0ORTM", "onnxruntime alone (its own format)"),
    "net.pte": (b"\x18\0\0\0ET12", "ExecuTorch"),
    "net.tflite": (b"VPMN\0\0\0\0", "a VeriSilicon NPU"),
}


@pytest.mark.parametrize("name", COMPILED)
def test_containers_of_vendors(name: str, tmp_path: Path) -> None:
    """By their first bytes, whatever the file is called."""
    content, made_for = COMPILED[name]
    assert _message(content, name, tmp_path) == (
        f"{name}: was compiled for {made_for}, a .tflite or .onnx model was expected. Take the network that it was "
        "made from."
    )


def test_models_of_other_frameworks(tmp_path: Path) -> None:
    assert _message(b"<net/>", "net.xml", tmp_path) == (
        "net.xml: is a model of OpenVINO, a .tflite or .onnx model was expected. Export the network as ONNX."
    )


def _message(content: bytes, name: str, folder: Path) -> str:
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(UnsupportedModelError) as error:
        import_model(path)
    return str(error.value)
