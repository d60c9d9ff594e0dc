"""The scratch that kernels ask for against CMSIS-NN's own getters, built for this machine, for every instruction set.

Where a getter has no variant for an instruction set, its plain form is what that set's build computes (`_dsp` and the
scalar build differ for depthwise convolution and pooling only).
"""

import ctypes
from collections.abc import Callable, Iterator

import pytest

from tests.support.kernel_calls import ConvC, DepthwiseC, DimsC, TileC, TransposeConvC, build_library
from tests.support.operator_models import random_model
from tests.support.reference import import_model
from tests.support.tools import requires_cmsis
from tinygen.build.kernel_sources import kernel_library
from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.cmsis_nn.batch_matmul import BatchMatMulS8
from tinygen.kernels.cmsis_nn.convolution import ConvolveS8
from tinygen.kernels.cmsis_nn.depthwise import DepthwiseConvS8
from tinygen.kernels.cmsis_nn.pooling import PoolS8
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.kernels.cmsis_nn.transpose_conv import ConvolveUpscaledS8, TransposeConvS8
from tinygen.kernels.select import select
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.targets.isa import Isa

pytestmark = requires_cmsis

CASES = 150
ISAS = (Isa.HOST, Isa.SCALAR, Isa.DSP, Isa.MVE)
GETTERS = (
    "arm_avgpool_s8_get_buffer_size",
    "arm_avgpool_s8_get_buffer_size_dsp",
    "arm_avgpool_s8_get_buffer_size_mve",
    "arm_convolve_s8_get_buffer_size",
    "arm_convolve_s8_get_buffer_size_mve",
    "arm_convolve_wrapper_s8_get_buffer_size",
    "arm_convolve_wrapper_s8_get_buffer_size_dsp",
    "arm_convolve_wrapper_s8_get_buffer_size_mve",
    "arm_depthwise_conv_s8_opt_get_buffer_size",
    "arm_depthwise_conv_s8_opt_get_buffer_size_dsp",
    "arm_depthwise_conv_s8_opt_get_buffer_size_mve",
    "arm_depthwise_conv_wrapper_s8_get_buffer_size",
    "arm_depthwise_conv_wrapper_s8_get_buffer_size_dsp",
    "arm_depthwise_conv_wrapper_s8_get_buffer_size_mve",
    "arm_fully_connected_s8_get_buffer_size",
    "arm_fully_connected_s8_get_buffer_size_dsp",
    "arm_fully_connected_s8_get_buffer_size_mve",
    "arm_transpose_conv_s8_get_buffer_size",
    "arm_transpose_conv_s8_get_buffer_size_mve",
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    yield build_library([kernel_library(Library.CMSIS_NN, None)], GETTERS, tmp_path_factory.mktemp("getters"))


def _getter(library: ctypes.CDLL, stem: str, isa: Isa) -> Callable[..., int]:
    variant = f"{stem}_{isa.value}"
    getter: Callable[..., int] = getattr(library, variant if variant in GETTERS else stem)
    return getter


def _dims(dims: Dims) -> object:
    return ctypes.byref(DimsC(dims.n, dims.h, dims.w, dims.c))


def _tile(tile: TileStruct) -> ctypes.Structure:
    return TileC(tile.w, tile.h)


def _select(name: str, seed: int, isa: Isa) -> tuple[Op, Kernel]:
    (op,) = import_model(random_model(name, seed).finish()).ops
    return op, select(op, Toolbox(Library.CMSIS_NN, isa))


def _convolution(library: ctypes.CDLL, kernel: ConvolveS8, isa: Isa) -> int:
    """The getter of the function that was chosen: the wrapper takes another one for 1xN filters."""
    dims = _dims(kernel.input_dims), _dims(kernel.filter_dims)
    if kernel.function == "arm_convolve_s8":
        return _getter(library, "arm_convolve_s8_get_buffer_size", isa)(*dims)
    params = ConvC(stride=_tile(kernel.stride), padding=_tile(kernel.padding), dilation=_tile(kernel.dilation))
    stem = "arm_convolve_wrapper_s8_get_buffer_size"
    return _getter(library, stem, isa)(ctypes.byref(params), *dims, _dims(kernel.output_dims))


@pytest.mark.parametrize("isa", ISAS)
def test_convolution(isa: Isa, library: ctypes.CDLL) -> None:
    functions = set()
    for seed in range(CASES):
        _, kernel = _select("CONV_2D", seed, isa)
        assert isinstance(kernel, ConvolveS8)
        functions.add(kernel.function)
        assert kernel.scratch_bytes == _convolution(library, kernel, isa), f"seed {seed}: {kernel.function}"
    assert functions == {"arm_convolve_s8", "arm_convolve_1x1_s8", "arm_convolve_1x1_s8_fast"}


@pytest.mark.parametrize("isa", ISAS)
def test_depthwise_convolution(isa: Isa, library: ctypes.CDLL) -> None:
    functions = set()
    for seed in range(CASES):
        op, kernel = _select("DEPTHWISE_CONV_2D", seed, isa)
        assert isinstance(op, DepthwiseConv2D)
        functions.add(kernel.function)
        if isinstance(kernel, ConvolveS8):
            expected = _convolution(library, kernel, isa)
        elif isinstance(kernel, DepthwiseConvS8):
            expected = _depthwise(library, kernel, isa)
        assert kernel.scratch_bytes == expected, f"seed {seed}: {kernel.function}"
    assert functions >= {"arm_convolve_s8", "arm_depthwise_conv_s8", "arm_depthwise_conv_s8_opt"}


def _depthwise(library: ctypes.CDLL, kernel: DepthwiseConvS8, isa: Isa) -> int:
    dims = _dims(kernel.input_dims), _dims(kernel.filter_dims)
    params = DepthwiseC(
        ch_mult=kernel.ch_mult,
        stride=_tile(kernel.stride),
        padding=_tile(kernel.padding),
        dilation=_tile(kernel.dilation),
    )
    if kernel.function == "arm_depthwise_conv_s8_opt":
        return _getter(library, "arm_depthwise_conv_s8_opt_get_buffer_size", isa)(*dims)
    if kernel.input_dims.c == 1:
        return 0  # the MVE wrapper's getter also counts the convolution that the wrapper would make of it
    stem = "arm_depthwise_conv_wrapper_s8_get_buffer_size"
    return _getter(library, stem, isa)(ctypes.byref(params), *dims, _dims(kernel.output_dims))


@pytest.mark.parametrize("isa", ISAS)
def test_pooling(isa: Isa, library: ctypes.CDLL) -> None:
    getter = _getter(library, "arm_avgpool_s8_get_buffer_size", isa)
    for seed in range(20):
        _, average = _select("AVERAGE_POOL_2D", seed, isa)
        assert isinstance(average, PoolS8)
        assert average.scratch_bytes == getter(average.output_dims.w, average.input_dims.c)
        _, largest = _select("MAX_POOL_2D", seed, isa)
        assert largest.scratch_bytes == 0  # arm_max_pool_s8 has no getter and never reads its context


@pytest.mark.parametrize("isa", ISAS)
def test_fully_connected(isa: Isa, library: ctypes.CDLL) -> None:
    """What the library takes as scratch are constants here: kernel sums in flash."""
    getter = _getter(library, "arm_fully_connected_s8_get_buffer_size", isa)
    for seed in range(20):
        op, kernel = _select("FULLY_CONNECTED", seed, isa)
        assert isinstance(op, FullyConnected)
        sums = kernel.table("kernel_sums").values.nbytes if kernel.has_table("kernel_sums") else 0
        assert sums == getter(_dims(Dims(op.weights.shape[1], 1, 1, op.weights.shape[0])))
        assert kernel.scratch_bytes == 0


@pytest.mark.parametrize("isa", ISAS)
def test_batch_matmul(isa: Isa, library: ctypes.CDLL) -> None:
    """It has no getter of its own: users are told to take that of a fully connected layer of as many units."""
    getter = _getter(library, "arm_fully_connected_s8_get_buffer_size", isa)
    checked = 0
    for seed in range(40):
        _, kernel = _select("BATCH_MATMUL", seed, isa)
        if isinstance(kernel, BatchMatMulS8):
            checked += 1
            assert kernel.scratch_bytes == getter(_dims(Dims(1, 1, 1, kernel.second_dims.w)))
    assert checked > 5


@pytest.mark.parametrize("isa", ISAS)
def test_transposed_convolution(isa: Isa, library: ctypes.CDLL) -> None:
    """The getter answers for the wrapper, which chooses the function by the same rule."""
    getter = _getter(library, "arm_transpose_conv_s8_get_buffer_size", isa)
    functions = set()
    for seed in range(CASES):
        op, kernel = _select("TRANSPOSE_CONV", seed, isa)
        assert isinstance(op, TransposeConv2D)
        if not isinstance(kernel, (ConvolveUpscaledS8, TransposeConvS8)) or kernel.function.startswith("tg_"):
            continue
        functions.add(kernel.function)
        input_dims = Dims.nhwc(op.input.type)
        params = TransposeConvC(stride=TileC(op.stride.w, op.stride.h))
        asked = getter(ctypes.byref(params), _dims(input_dims), _dims(kernel.filter_dims), _dims(kernel.output_dims))
        if op.stride.w > max(op.kernel.w, op.stride.h) or op.kernel.w < op.stride.h:
            asked = _corrected(op) if kernel.function == "arm_transpose_conv_s8" else asked
        assert kernel.scratch_bytes == asked, f"seed {seed}: {kernel.function}"
    assert functions == {"arm_transpose_conv_s8", "arm_convolve_s8"}


def _corrected(op: TransposeConv2D) -> int:
    """What the kernel really uses where the getter takes the vertical stride for the horizontal one."""
    columns = (op.input.shape[2] - 1) * op.stride.w + max(op.kernel.w, op.stride.w)
    return columns * max(op.kernel.h, op.stride.h) * op.output.shape[3] * 4
