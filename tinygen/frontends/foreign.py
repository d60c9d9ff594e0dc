"""Files that look like models and are none that tinygen can compile: what they are, and what to do."""

from collections.abc import Iterable, Mapping

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
_FAMILIES = {"mtkext_": "a MediaTek APU", "qnn": "a Hexagon NPU", "qti": "a Hexagon NPU"}  # by the start of the name
_SHIFTED = ("RequantShift", "RequantizedConv", "RequantizedGemm", "IntegerDiv", "IntegerMean")


def check_not_compiled(file: str, operators: Iterable[str]) -> None:
    """Raise UnsupportedModelError where an operator, by its name without domain, is code for an accelerator."""
    for name in operators:
        small = name.lower()
        made_for = _MADE_FOR.get(small) or next(
            (who for start, who in _FAMILIES.items() if small.startswith(start)), ""
        )
        if made_for:
            raise UnsupportedModelError(
                f"{file}: was compiled for {made_for}, whose code it holds in the operator '{name}', a model with "
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
