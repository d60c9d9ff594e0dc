"""The kernels of operators on int16: one explicit table. Operators that only move bytes have the kernels of int8."""

from tinygen.kernels.base import Lowerings, united
from tinygen.kernels.int16 import convolution, elementwise, pooling, reduction, rescale, sigmoid, softmax

INT16_LOWERINGS: Lowerings = united(
    *(module.LOWERINGS for module in (convolution, elementwise, pooling, reduction, rescale, sigmoid, softmax))
)
