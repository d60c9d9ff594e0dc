"""Calling kernels from Python: the C functions that `Kernel`s name, built for this machine as a shared library.

Scratch has exactly the bytes that the kernel asks for; bytes behind scratch and outputs are checked for damage.
"""

import ctypes
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from tests.support.symbols import KernelLibrary
from tinygen.build.kernel_sources import SourceTree
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel
from tinygen.kernels.cmsis_nn.batch_matmul import BatchMatMulS8
from tinygen.kernels.cmsis_nn.convolution import Convolve1x1S8, ConvolveS8
from tinygen.kernels.cmsis_nn.depthwise import DepthwiseConvS8
from tinygen.kernels.cmsis_nn.fully_connected import FullyConnectedPerChannelS8, FullyConnectedS8
from tinygen.kernels.cmsis_nn.pooling import PoolS8
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets, TileStruct
from tinygen.kernels.cmsis_nn.softmax import LongSoftmaxS8, SoftmaxS8
from tinygen.kernels.cmsis_nn.transpose_conv import ConvolveUpscaledS8, TransposeConvS8
from tinygen.ops.clamp import Clamp
from tinygen.targets.isa import Isa

_GUARD_BYTES = 1 << 14  # before and behind each buffer
_GUARD_VALUE = 0x5A
_INT32 = ctypes.POINTER(ctypes.c_int32)


def _struct(name: str, *members: tuple[str, type]) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(members)})


_I = ctypes.c_int32
DimsC = _struct("cmsis_nn_dims", ("n", _I), ("h", _I), ("w", _I), ("c", _I))
TileC = _struct("cmsis_nn_tile", ("w", _I), ("h", _I))
ContextC = _struct("cmsis_nn_context", ("buf", ctypes.c_void_p), ("size", _I))
ActivationC = _struct("cmsis_nn_activation", ("min", _I), ("max", _I))
PerChannelC = _struct("cmsis_nn_per_channel_quant_params", ("multiplier", _INT32), ("shift", _INT32))
PerTensorC = _struct("cmsis_nn_per_tensor_quant_params", ("multiplier", _I), ("shift", _I))
ConvC = _struct(
    "cmsis_nn_conv_params",
    ("input_offset", _I),
    ("output_offset", _I),
    ("stride", TileC),
    ("padding", TileC),
    ("dilation", TileC),
    ("activation", ActivationC),
)
TransposeConvC = _struct(
    "cmsis_nn_transpose_conv_params",
    ("input_offset", _I),
    ("output_offset", _I),
    ("stride", TileC),
    ("padding", TileC),
    ("padding_offsets", TileC),
    ("dilation", TileC),
    ("activation", ActivationC),
)
DepthwiseC = _struct(
    "cmsis_nn_dw_conv_params",
    ("input_offset", _I),
    ("output_offset", _I),
    ("ch_mult", _I),
    ("stride", TileC),
    ("padding", TileC),
    ("dilation", TileC),
    ("activation", ActivationC),
)
PoolC = _struct("cmsis_nn_pool_params", ("stride", TileC), ("padding", TileC), ("activation", ActivationC))
FullyConnectedC = _struct(
    "cmsis_nn_fc_params",
    ("input_offset", _I),
    ("filter_offset", _I),
    ("output_offset", _I),
    ("activation", ActivationC),
)
BatchMatMulC = _struct(
    "cmsis_nn_bmm_params", ("adj_x", ctypes.c_bool), ("adj_y", ctypes.c_bool), ("fc_params", FullyConnectedC)
)


def build_library(trees: Sequence[SourceTree], functions: Iterable[str], folder: Path) -> ctypes.CDLL:
    """The functions, and all that they use, as a shared library for this machine."""
    wanted = list(functions)
    sources = [str(source.placed(folder)) for tree in trees for source in tree.needed(wanted, Isa.HOST)]
    include = [f"-I{path}" for tree in trees for path in tree.include]
    library = folder / "kernels.so"
    command = ["gcc", "-std=c11", "-O1", "-shared", "-fPIC", *include, *sources, "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    return KernelLibrary(str(library))


class Buffer:
    """Bytes with guard zones on both sides."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._zone = np.full(count + 2 * _GUARD_BYTES, _GUARD_VALUE, np.int8)
        self.bytes = self._zone[_GUARD_BYTES : _GUARD_BYTES + count]
        self.bytes[:] = ~_GUARD_VALUE

    def check(self, what: str) -> None:
        """AssertionError where a guard zone was written."""
        assert (self._zone[:_GUARD_BYTES] == _GUARD_VALUE).all(), f"bytes before the {what} were written"
        assert (self._zone[_GUARD_BYTES + self._count :] == _GUARD_VALUE).all(), f"bytes behind the {what} were written"


class Call:
    """One call of a kernel: keeps what the pointers point to, and checks what lies around it."""

    def __init__(self, library: ctypes.CDLL, kernel: Kernel, inputs: Sequence[Array]) -> None:
        self._library = library
        self._kernel = kernel
        self._inputs = [np.ascontiguousarray(array) for array in inputs]
        self._tables = {table.name: np.ascontiguousarray(table.values) for table in kernel.tables}
        self._scratch = Buffer(kernel.scratch_bytes)
        self._output = Buffer(kernel.writes[0].type.bytes)

    def run(self) -> Array:
        """The output; AssertionError for a refusal or damage around a buffer."""
        status = _CALLS[type(self._kernel)](self, self._kernel)
        assert status == 0, f"{self._kernel.function} refused with {status}"
        self._scratch.check("scratch")
        self._output.check("output")
        result = self._kernel.writes[0]
        return self._output.bytes.view(result.type.dtype.numpy).reshape(result.shape)

    def function(self, *arguments: object) -> int:
        """Call the kernel's function; int arguments are passed as int32."""
        function = getattr(self._library, self._kernel.function)
        function.restype = None if isinstance(self._kernel, SoftmaxS8) else ctypes.c_int
        return function(*arguments) or 0

    @property
    def context(self) -> object:
        """The scratch as context."""
        return _ref(ContextC(self._scratch.bytes.ctypes.data if self._kernel.scratch_bytes else None, 0))

    @property
    def input(self) -> object:
        """Address of the first input."""
        return _address(self._inputs[0])

    @property
    def second_input(self) -> object:
        """Address of the second input."""
        return _address(self._inputs[1])

    @property
    def output(self) -> object:
        """Address of the output."""
        return _address(self._output.bytes)

    def table(self, name: str) -> object:
        """Address of a table, NULL where it is absent."""
        return _address(self._tables[name]) if name in self._tables else None

    @property
    def per_channel(self) -> object:
        """Multipliers and shifts of the channels."""
        pointers = [self._tables[name].ctypes.data_as(_INT32) for name in ("multiplier", "shift")]
        return _ref(PerChannelC(*pointers))


def _address(array: Array) -> object:
    return ctypes.c_void_p(array.ctypes.data)


def _ref(structure: ctypes.Structure) -> object:
    return ctypes.byref(structure)


def _dims(dims: Dims) -> object:
    return _ref(DimsC(dims.n, dims.h, dims.w, dims.c))


def _tile(tile: TileStruct) -> ctypes.Structure:
    return TileC(tile.w, tile.h)


def _activation(clamp: Clamp) -> ctypes.Structure:
    return ActivationC(clamp.min, clamp.max)


def _fc_params(offsets: Offsets, filter_offset: int, clamp: Clamp) -> ctypes.Structure:
    return FullyConnectedC(offsets.input, filter_offset, offsets.output, _activation(clamp))


def _convolve(call: Call, kernel: ConvolveS8, upscale: object = None) -> int:
    params = ConvC(
        kernel.offsets.input,
        kernel.offsets.output,
        _tile(kernel.stride),
        _tile(kernel.padding),
        _tile(kernel.dilation),
        _activation(kernel.activation),
    )
    extra = () if isinstance(kernel, Convolve1x1S8) else (upscale,)
    return call.function(
        call.context,
        _ref(params),
        call.per_channel,
        _dims(kernel.input_dims),
        call.input,
        _dims(kernel.filter_dims),
        call.table("turned_weights" if isinstance(kernel, ConvolveUpscaledS8) else "weights"),
        _dims(kernel.output_dims),
        call.table("bias"),
        *extra,
        _dims(kernel.output_dims),
        call.output,
    )


def _convolve_upscaled(call: Call, kernel: ConvolveUpscaledS8) -> int:
    return _convolve(call, kernel, _dims(kernel.upscale_dims))


def _transpose_conv(call: Call, kernel: TransposeConvS8) -> int:
    params = TransposeConvC(
        kernel.offsets.input,
        kernel.offsets.output,
        _tile(kernel.stride),
        _tile(kernel.padding),
        TileC(0, 0),
        TileC(1, 1),
        _activation(kernel.activation),
    )
    return call.function(
        call.context,
        _ref(ContextC(None, 0)),
        _ref(params),
        call.per_channel,
        _dims(kernel.input_dims),
        call.input,
        _dims(kernel.filter_dims),
        call.table("weights"),
        _dims(kernel.output_dims),
        call.table("bias"),
        _dims(kernel.output_dims),
        call.output,
    )


def _depthwise(call: Call, kernel: DepthwiseConvS8) -> int:
    params = DepthwiseC(
        kernel.offsets.input,
        kernel.offsets.output,
        kernel.ch_mult,
        _tile(kernel.stride),
        _tile(kernel.padding),
        _tile(kernel.dilation),
        _activation(kernel.activation),
    )
    return call.function(
        call.context,
        _ref(params),
        call.per_channel,
        _dims(kernel.input_dims),
        call.input,
        _dims(kernel.filter_dims),
        call.table("weights"),
        _dims(kernel.output_dims),
        call.table("bias"),
        _dims(kernel.output_dims),
        call.output,
    )


def _fully_connected(call: Call, kernel: FullyConnectedS8 | FullyConnectedPerChannelS8) -> int:
    if isinstance(kernel, FullyConnectedS8):
        requantize = _ref(PerTensorC(kernel.requantize.multiplier, kernel.requantize.shift))
    else:
        requantize = call.per_channel
    return call.function(
        _ref(ContextC(None, 0)),
        _ref(_fc_params(kernel.offsets, 0, kernel.activation)),
        requantize,
        _dims(kernel.input_dims),
        call.input,
        _dims(kernel.filter_dims),
        call.table("weights"),
        _dims(kernel.output_dims),
        call.table("bias"),
        _dims(kernel.output_dims),
        call.output,
    )


def _batch_matmul(call: Call, kernel: BatchMatMulS8) -> int:
    params = BatchMatMulC(False, True, _fc_params(kernel.offsets, kernel.second_offset, kernel.activation))
    return call.function(
        call.context,
        _ref(params),
        _ref(PerTensorC(kernel.requantize.multiplier, kernel.requantize.shift)),
        _dims(kernel.first_dims),
        call.input,
        _dims(kernel.second_dims),
        call.second_input,
        _dims(kernel.output_dims),
        call.output,
    )


def _pool(call: Call, kernel: PoolS8) -> int:
    params = PoolC(_tile(kernel.stride), _tile(kernel.padding), _activation(kernel.activation))
    return call.function(
        call.context,
        _ref(params),
        _dims(kernel.input_dims),
        call.input,
        _dims(kernel.filter_dims),
        _dims(kernel.output_dims),
        call.output,
    )


def _softmax(call: Call, kernel: SoftmaxS8) -> int:
    return call.function(
        call.input,
        kernel.num_rows,
        kernel.row_size,
        kernel.scaling.multiplier,
        kernel.scaling.shift,
        kernel.diff_min,
        call.output,
    )


_CALLS: dict[type[Kernel], Callable[..., int]] = {
    BatchMatMulS8: _batch_matmul,
    Convolve1x1S8: _convolve,
    ConvolveS8: _convolve,
    ConvolveUpscaledS8: _convolve_upscaled,
    DepthwiseConvS8: _depthwise,
    FullyConnectedPerChannelS8: _fully_connected,
    FullyConnectedS8: _fully_connected,
    PoolS8: _pool,
    LongSoftmaxS8: _softmax,
    SoftmaxS8: _softmax,
    TransposeConvS8: _transpose_conv,
}

CALLABLE = frozenset(_CALLS)
"""Kernel classes that `Call` knows how to call."""
