"""Resizing: what is refused."""

from dataclasses import replace

import pytest

from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.resize import ResizeBilinear


def _tensor(*shape: int, scale: float = 0.5) -> Tensor:
    return Tensor("t", TensorType(DType.INT8, shape, Quant((scale,), (3,))))


def test_a_resize_refuses_what_does_not_fit() -> None:
    good = ResizeBilinear(
        name="op",
        source=Source("test", 0, "TEST"),
        input=_tensor(1, 2, 3, 4),
        output=_tensor(1, 4, 6, 4),
        align_corners=False,
        half_pixel_centers=True,
    )
    good.verify()
    for change, message in (
        ({"align_corners": True}, "align_corners and half_pixel_centers are both set, one of them was expected"),
        ({"output": _tensor(1, 4, 6, 4, scale=0.25)}, "must have the same quantization"),
        ({"output": _tensor(1, 4, 6, 3)}, r"output 't' has shape \[1, 4, 6, 3\], \[1, 4, 6, 4\] was expected"),
        ({"input": _tensor(1, 0, 3, 4)}, "without any element"),
        ({"output": _tensor(1, 40000, 6, 4)}, "at most 32767 rows and columns were expected"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(good, **change).verify()


def test_steps_that_round_beyond_the_input_are_refused() -> None:
    """TFLite would read behind the last row: 1 row to 2000 rounds 0.512 / 1024 up to 1 / 1024 pixel per row."""
    op = ResizeBilinear(
        name="op",
        source=Source("test", 0, "TEST"),
        input=_tensor(1, 1, 1, 1),
        output=_tensor(1, 2000, 1, 1),
        align_corners=False,
        half_pixel_centers=False,
    )
    with pytest.raises(ValueError, match="whose last position lies outside of the input"):
        op.verify()
