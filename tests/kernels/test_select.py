"""One table of kernels from those that stand beside them."""

import pytest

from tests.support.graphs import GraphBuilder
from tinygen.kernels.base import Library, Lowerings, Toolbox, united
from tinygen.kernels.cmsis_nn.addition import lower_add
from tinygen.kernels.select import select
from tinygen.ops.add import Add
from tinygen.ops.mul import Mul
from tinygen.ops.window import HW
from tinygen.targets.isa import Isa


def test_an_operator_is_lowered_once() -> None:
    first: Lowerings = {Add: lower_add}
    assert united(first, {Mul: lower_add}) == {Add: lower_add, Mul: lower_add}
    with pytest.raises(ValueError, match=r"^Add: lowered twice, once was expected$"):
        united(first, {Add: lower_add})


@pytest.mark.parametrize(
    ("channels", "stride", "function"),
    [(16, 2, "arm_transpose_conv_s8"), (17, 2, "arm_convolve_s8"), (17, 3, "arm_transpose_conv_s8")],
)
def test_transposed_convolutions_of_many_channels_are_convolutions(channels: int, stride: int, function: str) -> None:
    """As CMSIS-NN's wrapper chooses, but that a convolution knows strides of 1 and 2 alone."""
    build, side = GraphBuilder(), 4 * stride
    x = build.input(1, 4, 4, channels)
    y = build.transpose_conv(x, 3, HW(stride, stride), HW(stride, stride), HW(side, side), 0)
    (op,) = build.graph(y).ops
    assert select(op, Toolbox(Library.CMSIS_NN, Isa.DSP)).function == function
