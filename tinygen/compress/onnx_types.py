"""Number formats in ONNX files: their codes, and from which version of the format on."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from tinygen.ir.formats import Format
from tinygen.ir.packing import packed_codes
from tinygen.ir.types import Array


@dataclass(frozen=True)
class OnnxType:
    """A type of elements."""

    code: int
    opset: int  # whose DequantizeLinear takes it
    ir_version: int


ONNX_TYPES: Mapping[Format, OnnxType] = {
    Format.FP32: OnnxType(1, 13, 7),
    Format.UINT8: OnnxType(2, 13, 7),
    Format.INT8: OnnxType(3, 13, 7),
    Format.FP16: OnnxType(10, 19, 9),
    Format.FP8_E4M3FN: OnnxType(17, 19, 9),
    Format.FP8_E5M2: OnnxType(19, 19, 9),
    Format.UINT4: OnnxType(21, 21, 10),
    Format.INT4: OnnxType(22, 21, 10),
    Format.FP4_E2M1FN: OnnxType(23, 23, 11),
    Format.FP8_E8M0FNU: OnnxType(24, 24, 12),
    Format.UINT2: OnnxType(25, 25, 13),
    Format.INT2: OnnxType(26, 25, 13),
}
FORMATS: Mapping[int, Format] = {type.code: form for form, type in ONNX_TYPES.items()}
BLOCKS = OnnxType(0, 21, 10)  # what scales for blocks take


def tensor_of(name: str, array: Array) -> TensorProto:
    """A constant whose narrow elements are packed."""
    code = ONNX_TYPES[Format.of(array.dtype)].code
    return TensorProto(name=name, data_type=code, dims=array.shape, raw_data=np.asarray(packed_codes(array)).tobytes())
