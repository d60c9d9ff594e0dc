"""Softmax: what is refused."""

from dataclasses import replace

import pytest

from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.softmax import Softmax


def _tensor(*shape: int, scale: float, zero_point: int) -> Tensor:
    return Tensor("t", TensorType(DType.INT8, shape, Quant((scale,), (zero_point,))))


def test_a_softmax_refuses_what_does_not_fit() -> None:
    output = _tensor(2, 5, scale=1 / 256, zero_point=-128)
    good = Softmax(
        name="op",
        source=Source("test", 0, "TEST"),
        input=_tensor(2, 5, scale=0.1, zero_point=3),
        output=output,
        beta=1.0,
    )
    good.verify()
    long = replace(output.type, shape=(8192,))
    for change, message in (
        ({"output": _tensor(2, 5, scale=1 / 128, zero_point=-128)}, "must have scale 1/256 and zero point -128"),
        ({"output": _tensor(2, 4, scale=1 / 256, zero_point=-128)}, r"has shape \[2, 4\], \[2, 5\] was expected"),
        ({"beta": 1e-9}, r"beta 1e-09 times scale 0.1 is below 2\*\*-26"),
        ({"beta": 0.99 * 2**-26 / 0.1}, r"is below 2\*\*-26"),
        ({"input": Tensor("t", long), "output": Tensor("t", long)}, "rows of 8192 elements, 1 to 8191 were expected"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(good, **change).verify()
