"""Files that look like models and are none that tinygen can compile: what they are, and what to do."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tinygen.errors import UnsupportedModelError

_MADE_FOR: Mapping[str, str] = {  # by the name of a custom operator, in small letters: whose code it holds
    "ethos-u": "an Ethos-U (by Vela)",
    "edgetpu-custom-op": "an Edge TPU",
    "neutrongraph": "a Neutron NPU",
    "vsi-npu": "a VeriSilicon NPU",
    "vsi_npu_precompiled": "a VeriSilicon NPU",
    "dispatch_op": "an NPU (by LiteRT)",
    "epcontext": "an NPU (by an execution provider of onnxruntime)",
}
_FAMILIES = {
    "mtkext_": "a MediaTek APU",
    "qnn": "a Hexagon NPU",
    "qti": "a Hexagon NPU",
    "xc_": "an XMOS xcore",
}  # by the start of the name
_COMPILED: Mapping[str, str] = {  # by suffix: whose code such a file holds
    ".axmodel": "an Axera NPU",
    ".bmodel": "a Sophgo TPU",
    ".cvimodel": "a Sophgo TPU",
    ".dla": "a MediaTek APU",
    ".dlc": "a Hexagon NPU (by SNPE)",
    ".engine": "a GPU (by TensorRT)",
    ".espdl": "an ESP32 (by ESP-PPQ for ESP-DL)",
    ".hef": "a Hailo NPU",
    ".hmx": "a Horizon BPU",
    ".kmodel": "a Kendryte KPU (by nncase)",
    ".nb": "a VeriSilicon NPU",
    ".nef": "a Kneron NPU",
    ".om": "an Ascend NPU",
    ".ort": "onnxruntime alone (its own format)",
    ".pte": "ExecuTorch",
    ".rknn": "a Rockchip NPU",
    ".vmfb": "IREE's virtual machine",
}
_MAGICS: Mapping[tuple[int, bytes], str] = {  # bytes at an offset: the suffix that such a file should have
    (0, b"EDL1"): ".espdl",
    (0, b"EDL2"): ".espdl",
    (0, b"\x01HEF"): ".hef",
    (0, b"LDMK"): ".kmodel",
    (0, b"RKNN"): ".rknn",
    (0, b"VPMN"): ".nb",
    (0, b"CviModel"): ".cvimodel",
    (4, b"ET12"): ".pte",
    (4, b"ORTM"): ".ort",
}
_OTHERS: Mapping[str, str] = {  # by suffix: the framework that reads such a file
    ".caffemodel": "Caffe",
    ".circle": "Samsung's ONE",
    ".gguf": "llama.cpp",
    ".mlmodel": "Core ML",
    ".mnn": "MNN",
    ".ncnn": "ncnn",
    ".param": "ncnn",
    ".pb": "TensorFlow",
    ".pdmodel": "Paddle",
    ".xml": "OpenVINO",
}
_START_BYTES = 16
_SHIFTED = (
    "RequantShift",
    "RequantizedConv",
    "RequantizedGemm",
    "IntegerDiv",
    "IntegerMean",
    "iGELU",
    "iHardswish",
    "iLayerNorm",
    "iNoNorm",
    "iRMSNorm",
    "iSoftmax",
)


def check_not_foreign(path: Path) -> None:
    """Raise UnsupportedModelError where a file's first bytes or its suffix are those of another tool's format."""
    suffix = path.suffix.lower()
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    found = next((kind for (at, magic), kind in _MAGICS.items() if start[at:].startswith(magic)), suffix)
    if found in _COMPILED:
        raise UnsupportedModelError(
            f"{path.name}: was compiled for {_COMPILED[found]}, a .tflite or .onnx model was expected. Take the "
            "network that it was made from."
        )
    if found in _OTHERS:
        raise UnsupportedModelError(
            f"{path.name}: is a model of {_OTHERS[found]}, a .tflite or .onnx model was expected. Export the network "
            "as ONNX."
        )


def made_for(operator: str) -> str:
    """For what accelerator an operator, by its name without domain, is code; empty for any other."""
    small = operator.lower()
    return _MADE_FOR.get(small) or next((who for start, who in _FAMILIES.items() if small.startswith(start)), "")


def check_not_compiled(file: str, operators: Iterable[str]) -> None:
    """Raise UnsupportedModelError where an operator, by its name without domain, is code for an accelerator."""
    for name in operators:
        if maker := made_for(name):
            raise UnsupportedModelError(
                f"{file}: was compiled for {maker}, whose code it holds in the operator '{name}', a model with "
                "operators was expected. Take the file as it was before that."
            )


def check_has_scales(file: str, operators: Iterable[str]) -> None:
    """Raise UnsupportedModelError where an operator shifts integers without saying which numbers they stand for."""
    for name in operators:
        if name in _SHIFTED:
            raise UnsupportedModelError(
                f"{file}: is in the dialect of DORY and Deeploy, whose operator '{name}' shifts integers without "
                "saying which real numbers they stand for, scales were expected. Export the quantized network as QDQ "
                "(QuantizeLinear, DequantizeLinear) or QONNX (Quant), or the float one and quantize it here."
            )


def check_is_real(file: str, tensor: str, type: str) -> None:
    """Raise UnsupportedModelError where the type of a tensor is complex."""
    if type.lower().startswith("complex"):
        raise UnsupportedModelError(
            f"{file}: computes with complex numbers (tensor '{tensor}' is {type.lower()}), real ones were expected. "
            "Compute the spectrum outside of the network, or end it before with --stop-at."
        )
