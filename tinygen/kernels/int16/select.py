"""The kernels of operators on int16: one explicit table. Operators that only move bytes have the kernels of int8."""

from tinygen.kernels.base import Lowerings, united
from tinygen.kernels.int16 import broadcast, convolution, elementwise, pooling, reduction, rescale, sigmoid, softmax
from tinygen.kernels.tinygen_c import matmul

INT16_LOWERINGS: Lowerings = united(
    *(
        module.LOWERINGS
        for module in (broadcast, convolution, elementwise, pooling, reduction, rescale, sigmoid, softmax)
    ),
    matmul.INT16_LOWERINGS,
)
