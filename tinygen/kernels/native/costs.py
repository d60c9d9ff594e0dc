"""Instructions of native kernels on DSP cores per unit of work, for the planner; units as in `planner.cost.Work`.

Counted in the assembly and rounded to what whole layers of MLPerf Tiny take on M4; M0 and M3 run slower C.
"""

from collections.abc import Mapping

_PRODUCT = {"call": 150.0, "mac": 0.97}
_WINDOWS = {**_PRODUCT, "pixel": 90.0, "operand": 1.6}
_PIXELS = {**_PRODUCT, "pixel": 25.0, "operand": 1.45}
_PLANES = {"call": 200.0, "weight": 15.0}

NATIVE_COSTS: Mapping[str, Mapping[str, float]] = {
    "tg_native_add_s8": {"call": 60.0, "output": 12.0},
    "tg_native_convolve_1x1_relu_s8": {**_PIXELS, "output": 8.8},
    "tg_native_convolve_1x1_s8": {**_PIXELS, "output": 9.8},
    "tg_native_convolve_relu_s8": {**_WINDOWS, "output": 8.8},
    "tg_native_convolve_s8": {**_WINDOWS, "output": 9.8},
    "tg_native_depthwise_3x3_relu_s8": {**_PLANES, "output": 20.0},
    "tg_native_depthwise_3x3_s8": {**_PLANES, "output": 21.0},
    "tg_native_depthwise_3x3_stride2_relu_s8": {**_PLANES, "output": 31.0},
    "tg_native_depthwise_3x3_stride2_s8": {**_PLANES, "output": 32.0},
    "tg_native_fully_connected_s8": {"call": 150.0, "operand": 1.5, "output": 12.0, "mac": 1.34},
}
