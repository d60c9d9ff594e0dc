"""The kernels of operators on float32: one explicit table. Operators that only move bytes have the kernels of int8."""

from tinygen.kernels.base import Lowerings, united
from tinygen.kernels.float32 import dynamic_quantize, elementwise, matmul, movement, reduction, running_sum, window
from tinygen.kernels.tinygen_c import recurrent, svdf

FLOAT_LOWERINGS: Lowerings = united(
    *(module.LOWERINGS for module in (dynamic_quantize, elementwise, matmul, movement, reduction, running_sum, window)),
    recurrent.FLOAT_LOWERINGS,
    svdf.FLOAT_LOWERINGS,
)
