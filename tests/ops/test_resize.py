"""Resizing: what is refused; interpolation between lines that tables give, against real arithmetic, also by rows."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.stored_operators import random_interpolation
from tinygen.ir.graph import Source, Values
from tinygen.ir.rows import Rows
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


@pytest.mark.parametrize("seed", range(20))
def test_interpolation_is_within_the_bound_and_by_rows_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    op = random_interpolation(rng)
    dtype, (rows, columns), tall = op.input.type.dtype, (op.rows, op.columns), op.output.shape[1]
    op.verify()
    stored = rng.integers(dtype.min, dtype.max + 1, op.input.shape).astype(dtype.numpy)
    (whole,) = op.evaluate(Values(lambda _: stored))
    across, down = np.array(columns.weights)[:, None], np.array(rows.weights)[:, None, None]
    narrow = stored[:, :, columns.before] * (1 - across) + stored[:, :, columns.after] * across
    exact = narrow[:, rows.before] * (1 - down) + narrow[:, rows.after] * down
    assert np.abs(whole - exact).max() <= 0.5 + 2**-4
    for row in range(tall):
        tile = op.tile(Rows(row, row + 1))
        assert tile is not None
        (part,) = tile.operands
        needed = stored[:, part.rows.first : part.rows.end]
        (line,) = tile.op.evaluate(Values({tile.op.operands[0]: needed}.__getitem__))
        assert np.array_equal(line, whole[:, row : row + 1])
