"""Transposed convolution: what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.clamp import Clamp
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import HW


def _tensor(*shape: int, zero_point: int = 3) -> Tensor:
    return Tensor("t", TensorType(DType.INT8, shape, Quant((0.5,), (zero_point,))))


def test_a_transposed_convolution_refuses_what_does_not_fit() -> None:
    good = TransposeConv2D(
        name="op",
        source=Source("test", 0, "TEST"),
        input=_tensor(1, 2, 2, 3),
        weights=_tensor(4, 3, 3, 3, zero_point=0),
        bias=None,
        output=_tensor(1, 4, 4, 4),
        stride=HW(2, 2),
        top=0,
        left=0,
        clamp=Clamp(-128, 127),
    )
    good.verify()
    bias = Tensor("b", TensorType(DType.INT32, (3,)), np.zeros(3, np.int32))
    for change, message in (
        ({"weights": _tensor(4, 3, 3, 2, zero_point=0)}, r"has shape \[4, 3, 3, 2\], \[4, 3, 3, 3\] was expected"),
        ({"weights": _tensor(4, 3, 3, 3)}, "weights 't' has a zero point other than 0"),
        ({"output": _tensor(1, 4, 4, 5)}, r"output 't' has shape \[1, 4, 4, 5\], \[1, 4, 4, 4\] was expected"),
        ({"bias": bias}, r"bias 'b' has shape \[3\], \[4\] was expected"),
        ({"stride": HW(0, 2)}, "must be at least 1"),
        ({"top": -1}, "padding -1, 0 at least 0"),
        ({"clamp": Clamp(0, 200)}, r"clamp \[0, 200\] is not a range within i8"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(good, **change).verify()
