"""The scratch of the int16 kernels against CMSIS-NN's own getters, built for this machine."""

import ctypes
from collections.abc import Iterator

import pytest

from tests.kernels.test_int16 import Layers
from tests.support.kernel_calls import ConvC, DepthwiseC, DimsC, TileC, build_library
from tests.support.tools import requires_cmsis
from tinygen.build.kernel_sources import kernel_library
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.kernels.int16.convolution import ConvolveS16, DepthwiseConvS16
from tinygen.kernels.int16.pooling import PoolS16
from tinygen.kernels.select import variants
from tinygen.targets.isa import Isa

pytestmark = requires_cmsis

LAYERS = 150
GETTERS = (
    "arm_avgpool_s16_get_buffer_size",
    "arm_avgpool_s16_get_buffer_size_dsp",
    "arm_avgpool_s16_get_buffer_size_mve",
    "arm_convolve_wrapper_s16_get_buffer_size",
    "arm_convolve_wrapper_s16_get_buffer_size_dsp",
    "arm_convolve_wrapper_s16_get_buffer_size_mve",
    "arm_depthwise_conv_wrapper_s16_get_buffer_size",
    "arm_depthwise_conv_wrapper_s16_get_buffer_size_dsp",
    "arm_depthwise_conv_wrapper_s16_get_buffer_size_mve",
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    yield build_library([kernel_library(Library.CMSIS_NN, None)], GETTERS, tmp_path_factory.mktemp("getters"))


@pytest.mark.parametrize("isa", [Isa.HOST, Isa.SCALAR, Isa.DSP, Isa.MVE])
def test_scratch_is_what_the_library_asks_for(isa: Isa, library: ctypes.CDLL) -> None:
    layers = Layers(4)
    layers.add(LAYERS)
    functions = set()
    for op in layers.ops:
        kernel = variants(op, Toolbox(Library.CMSIS_NN, isa))[0]
        asked = _asked(library, kernel, isa)
        functions.add(kernel.function)
        assert kernel.scratch_bytes == asked, f"{kernel.function}: {op}"
    assert {"arm_avgpool_s16", "arm_convolve_s16"} <= functions
    assert ("arm_depthwise_conv_fast_s16" in functions) == (isa in (Isa.DSP, Isa.MVE))


def _asked(library: ctypes.CDLL, kernel: Kernel, isa: Isa) -> int:
    """The getter's answer; 0 for functions without scratch."""
    suffix = f"_s16_get_buffer_size_{isa.value}" if isa in (Isa.DSP, Isa.MVE) else "_s16_get_buffer_size"
    size: int = 0
    if isinstance(kernel, PoolS16) and kernel.function == "arm_avgpool_s16":
        size = library[f"arm_avgpool{suffix}"](kernel.output_dims.w, kernel.input_dims.c)
    elif isinstance(kernel, ConvolveS16) and not kernel.function.startswith(
        "tg_"
    ):  # the library has no getters for ours
        geometry = kernel.geometry
        steps = {
            "stride": _tile(geometry.stride), "padding": _tile(geometry.padding), "dilation": _tile(geometry.dilation),
        }  # fmt: skip
        is_depthwise = isinstance(kernel, DepthwiseConvS16)
        params = DepthwiseC(ch_mult=kernel.ch_mult, **steps) if isinstance(kernel, DepthwiseConvS16) else ConvC(**steps)
        dims = [_dims(dims) for dims in (geometry.input_dims, geometry.filter_dims, geometry.output_dims)]
        stem = "arm_depthwise_conv_wrapper" if is_depthwise else "arm_convolve_wrapper"
        size = library[stem + suffix](ctypes.byref(params), *dims)
    return size


def _dims(dims: Dims) -> object:
    return ctypes.byref(DimsC(dims.n, dims.h, dims.w, dims.c))


def _tile(tile: TileStruct) -> ctypes.Structure:
    return TileC(tile.w, tile.h)
