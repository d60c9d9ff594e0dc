"""Number formats in ONNX files: from which version of ONNX on, and constants of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, numpy_helper

from tinygen.frontends.onnx.tensor_types import CODES
from tinygen.ir.formats import Format
from tinygen.ir.packing import packed_codes
from tinygen.ir.types import Array


@dataclass(frozen=True)
class OnnxType:
    """Since when there is a type of elements."""

    opset: int  # whose DequantizeLinear takes it
    ir_version: int


ONNX_TYPES: Mapping[Format, OnnxType] = {
    Format.FP32: OnnxType(13, 7),
    Format.UINT8: OnnxType(13, 7),
    Format.INT8: OnnxType(13, 7),
    Format.FP16: OnnxType(19, 9),
    Format.FP8_E4M3FN: OnnxType(19, 9),
    Format.FP8_E5M2: OnnxType(19, 9),
    Format.UINT4: OnnxType(21, 10),
    Format.INT4: OnnxType(21, 10),
    Format.FP4_E2M1FN: OnnxType(23, 11),
    Format.FP8_E8M0FNU: OnnxType(24, 12),
    Format.UINT2: OnnxType(25, 13),
    Format.INT2: OnnxType(25, 13),
}
BLOCKS = OnnxType(21, 10)  # what scales for blocks take


def tensor_of(name: str, array: Array) -> TensorProto:
    """A constant; elements of less than a byte are packed."""
    if array.dtype.isbuiltin:
        return numpy_helper.from_array(array, name)
    code = CODES[array.dtype]
    return TensorProto(name=name, data_type=code, dims=array.shape, raw_data=np.asarray(packed_codes(array)).tobytes())
