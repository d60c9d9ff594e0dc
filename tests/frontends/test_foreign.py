"""ONNX files of other tools: refused in one sentence that says what they are."""

from pathlib import Path

import pytest

from tests.support.onnx_writer import OnnxWriter
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


def test_compiled_networks(tmp_path: Path) -> None:
    assert _refusal("EPContext", tmp_path, "com.microsoft") == (
        "net.onnx: was compiled for an NPU (by an execution provider of onnxruntime), whose code it holds in the "
        "operator 'EPContext', a model with operators was expected. Take the file as it was before that."
    )
