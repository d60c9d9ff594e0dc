"""Shared libraries of int8 kernels on the host, called through ctypes: the portable ones and CMSIS-NN's own."""

import ctypes
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.support.symbols import KernelLibrary
from tinygen.build.kernel_sources import kernel_library
from tinygen.kernels.base import Library
from tinygen.paths import RUNTIME_C

PORTABLE = RUNTIME_C / "portable"
INCLUDE = kernel_library(Library.PORTABLE, None).include
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Werror")
UNDEFINED = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")
SUCCESS, ARGUMENT_ERROR = 0, -1
NO_STATUS = ("arm_softmax_s8", "arm_reshape_s8", *(f"arm_concatenation_s8_{axis}" for axis in "xyzw"))
SCRATCH_BYTES = 1 << 20
GUARD = 16
GUARD_VALUE = 0x5A

Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]


class Dims(ctypes.Structure):
    """cmsis_nn_dims."""

    _fields_ = tuple((name, ctypes.c_int32) for name in "nhwc")


class Tile(ctypes.Structure):
    """cmsis_nn_tile."""

    _fields_ = (("w", ctypes.c_int32), ("h", ctypes.c_int32))


class Activation(ctypes.Structure):
    """cmsis_nn_activation."""

    _fields_ = (("min", ctypes.c_int32), ("max", ctypes.c_int32))


class Context(ctypes.Structure):
    """cmsis_nn_context."""

    _fields_ = (("buf", ctypes.c_void_p), ("size", ctypes.c_int32))


class ChannelQuant(ctypes.Structure):
    """cmsis_nn_per_channel_quant_params."""

    _fields_ = (("multiplier", ctypes.POINTER(ctypes.c_int32)), ("shift", ctypes.POINTER(ctypes.c_int32)))


class TensorQuant(ctypes.Structure):
    """cmsis_nn_per_tensor_quant_params."""

    _fields_ = (("multiplier", ctypes.c_int32), ("shift", ctypes.c_int32))


class EitherQuant(ctypes.Structure):
    """cmsis_nn_quant_params."""

    _fields_ = (*ChannelQuant._fields_, ("is_per_channel", ctypes.c_int32))


_OFFSETS = (("input_offset", ctypes.c_int32), ("output_offset", ctypes.c_int32))
_WINDOW = (("stride", Tile), ("padding", Tile))


class ConvParams(ctypes.Structure):
    """cmsis_nn_conv_params."""

    _fields_ = (*_OFFSETS, *_WINDOW, ("dilation", Tile), ("activation", Activation))


class TransposeConvParams(ctypes.Structure):
    """cmsis_nn_transpose_conv_params."""

    _fields_ = (
        *_OFFSETS,
        *_WINDOW,
        ("padding_offsets", Tile),
        ("dilation", Tile),
        ("activation", Activation),
    )


class DepthwiseParams(ctypes.Structure):
    """cmsis_nn_dw_conv_params."""

    _fields_ = (
        *_OFFSETS,
        ("ch_mult", ctypes.c_int32),
        *_WINDOW,
        ("dilation", Tile),
        ("activation", Activation),
    )


class PoolParams(ctypes.Structure):
    """cmsis_nn_pool_params."""

    _fields_ = (*_WINDOW, ("activation", Activation))


class FullyConnectedParams(ctypes.Structure):
    """cmsis_nn_fc_params."""

    _fields_ = (
        ("input_offset", ctypes.c_int32),
        ("filter_offset", ctypes.c_int32),
        ("output_offset", ctypes.c_int32),
        ("activation", Activation),
    )


class BatchMatmulParams(ctypes.Structure):
    """cmsis_nn_bmm_params."""

    _fields_ = (("adj_x", ctypes.c_bool), ("adj_y", ctypes.c_bool), ("fc_params", FullyConnectedParams))


class TransposeParams(ctypes.Structure):
    """cmsis_nn_transpose_params."""

    _fields_ = (("num_dims", ctypes.c_int32), ("permutations", ctypes.POINTER(ctypes.c_uint32)))


@dataclass(frozen=True)
class Output:
    """Stands in an argument list for the output pointer."""

    size: int


@dataclass(frozen=True)
class InOutput:
    """Stands in an argument list for an input that lies where the output will, or so many bytes behind its begin."""

    values: Int8
    lead: int = 0


@dataclass(frozen=True)
class Scratch:
    """Stands in an argument list for a context: NULL for the portable kernels, ample for CMSIS-NN."""


Argument = ctypes.Structure | Int8 | Int32 | int | Output | InOutput | Scratch | None


@dataclass(frozen=True)
class Kernels:
    """A loaded library and what its contexts hold."""

    name: str
    library: ctypes.CDLL
    scratch: bool

    def call(self, function: str, *arguments: Argument) -> tuple[int, Int8]:
        """Status and output of a call; the output stands at an odd address between guards, which must survive."""
        keep: list[object] = []
        size = next(argument.size for argument in arguments if isinstance(argument, Output))
        over = next((each.lead + each.values.size for each in arguments if isinstance(each, InOutput)), 0)
        memory = np.full(max(size, over) + 2 * GUARD + 1, GUARD_VALUE, np.int8)
        start = GUARD + 1 - memory.ctypes.data % 2
        passed = [self._pass(argument, memory[start:], keep) for argument in arguments]
        behind = memory[start + size :].copy()
        entry = getattr(self.library, function)
        entry.restype = None if function in NO_STATUS else ctypes.c_int32
        status = entry(*passed) or SUCCESS
        assert (memory[:start] == GUARD_VALUE).all(), f"{self.name}: {function} wrote before its output"
        assert (memory[start + size :] == behind).all(), f"{self.name}: {function} wrote behind its output"
        return status, memory[start : start + size]

    def _pass(self, argument: Argument, output: Int8, keep: list[object]) -> object:
        if isinstance(argument, Output):
            return ctypes.c_void_p(output.ctypes.data)
        if isinstance(argument, InOutput):
            output[argument.lead : argument.lead + argument.values.size] = argument.values.reshape(-1)
            return ctypes.c_void_p(output.ctypes.data + argument.lead)
        if isinstance(argument, Scratch):
            memory = np.zeros(SCRATCH_BYTES, np.int8)
            context = Context(memory.ctypes.data, SCRATCH_BYTES) if self.scratch else Context(None, 0)
            keep += [memory, context]
            return ctypes.byref(context)
        if isinstance(argument, ctypes.Structure):
            return ctypes.byref(argument)
        if isinstance(argument, np.ndarray):
            placed = _at_odd_address(argument) if argument.dtype == np.int8 else argument
            keep.append(placed)
            return ctypes.c_void_p(placed.ctypes.data)
        return argument


def _at_odd_address(values: Int8 | Int32) -> NDArray[np.int8]:
    memory = np.zeros(values.size + 2, np.int8)
    start = 1 - memory.ctypes.data % 2
    placed = memory[start : start + values.size]
    placed[:] = values.reshape(-1)
    return placed


def pointer(values: Int32) -> "ctypes._Pointer[ctypes.c_int32]":
    """The array as `int32_t *`; the caller keeps the array."""
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))


def build_portable(folder: Path, name: str, flags: tuple[str, ...]) -> Kernels:
    """Compile the portable kernels with `flags` into a library in `folder` and load it."""
    sources = sorted(str(path) for path in (PORTABLE / "source").glob("*.c"))
    command = ["gcc", *WARNINGS, *flags, *(f"-I{folder}" for folder in INCLUDE), *sources]
    return Kernels(name, _load(folder / f"portable_{name}.so", command), scratch=False)


def build_cmsis(folder: Path, cmsis: Path) -> Kernels:
    """Compile CMSIS-NN's scalar int8 kernels into a library in `folder` and load it."""
    sources = [
        str(path)
        for path in sorted((cmsis / "Source").glob("*/*.c"))
        if ("s8" in path.stem or path.stem == "arm_q7_to_q15_with_offset")
        and not any(word in path.stem for word in ("lstm", "svdf"))
    ]
    command = ["gcc", "-w", "-O1", "-fwrapv", f"-I{cmsis / 'Include'}", *sources]
    return Kernels("cmsis-nn", _load(folder / "cmsis_nn.so", command), scratch=True)


def _load(library: Path, command: list[str]) -> ctypes.CDLL:
    subprocess.run(
        [*command, "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", str(library)], check=True, capture_output=True
    )
    return KernelLibrary(str(library))
