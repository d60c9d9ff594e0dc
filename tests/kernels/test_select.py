"""One table of kernels from those that stand beside them."""

import pytest

from tinygen.kernels.base import Lowerings, united
from tinygen.kernels.cmsis_nn.addition import lower_add
from tinygen.ops.add import Add
from tinygen.ops.mul import Mul


def test_an_operator_is_lowered_once() -> None:
    first: Lowerings = {Add: lower_add}
    assert united(first, {Mul: lower_add}) == {Add: lower_add, Mul: lower_add}
    with pytest.raises(ValueError, match=r"^Add: lowered twice, once was expected$"):
        united(first, {Add: lower_add})
