"""The kernels of each operator: the tables that stand beside them, as one."""

from collections.abc import Callable, Sequence
from functools import partial

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels import engine
from tinygen.kernels.base import HUFFMAN, SHORTEST, SQUEEZED, Kernel, Lowering, Lowerings, Toolbox, united
from tinygen.kernels.cmsis_nn import (
    addition,
    batch_matmul,
    concatenation,
    convolution,
    copying,
    depthwise,
    extrema,
    fully_connected,
    lstm,
    multiplication,
    pad,
    pooling,
    softmax,
    svdf,
    transpose,
    transpose_conv,
)
from tinygen.kernels.float32.select import FLOAT_LOWERINGS
from tinygen.kernels.int16.select import INT16_LOWERINGS
from tinygen.kernels.native.select import is_plain_int8, native_kernels, told_by
from tinygen.kernels.prices import faster_or_smaller
from tinygen.kernels.tinygen_c import (
    choice,
    control,
    elementwise,
    gather,
    integer,
    log_mel,
    lookup,
    matmul,
    normalization,
    numbers,
    partial_products,
    recurrent,
    reduction,
    resize,
    ring,
    running_sum,
    signal,
    signs,
    strided_copy,
    unsigned_pooling,
)
from tinygen.kernels.tinygen_c.compact import can_be_compact
from tinygen.kernels.tinygen_c.huffman import huffman_layers
from tinygen.kernels.tinygen_c.squeezed import squeezed_layer
from tinygen.kernels.without_scratch import without_scratch
from tinygen.ops.rescale import Rescale

_HOMES = (
    addition,
    batch_matmul,
    concatenation,
    convolution,
    copying,
    depthwise,
    extrema,
    fully_connected,
    lstm,
    multiplication,
    pad,
    pooling,
    softmax,
    svdf,
    transpose,
    transpose_conv,
    choice,
    control,
    elementwise,
    gather,
    integer,
    log_mel,
    lookup,
    matmul,
    normalization,
    numbers,
    partial_products,
    recurrent,
    reduction,
    resize,
    ring,
    running_sum,
    signal,
    signs,
    strided_copy,
    unsigned_pooling,
    engine,
)
LOWERINGS: Lowerings = {**united(*(home.LOWERINGS for home in _HOMES)), Rescale: INT16_LOWERINGS[Rescale]}  # to int32


def has_kernel(op: Op) -> bool:
    """Whether a kernel runs `op`; others only move or rename memory."""
    return _lowering(op) is not None


def _lowering(op: Op) -> Lowering | None:
    dtypes = {tensor.type.dtype for tensor in (*op.operands, *op.results)}
    special = FLOAT_LOWERINGS if DType.FLOAT32 in dtypes else INT16_LOWERINGS if DType.INT16 in dtypes else LOWERINGS
    return special.get(type(op)) or LOWERINGS.get(type(op))


def can_pack(op: Op) -> bool:
    """Whether kernels unpack its weights, which no goal but little flash asks for."""
    return can_be_compact(op) and is_plain_int8(op)


def is_packed(op: Op, toolbox: Toolbox) -> bool:
    """Whether kernels unpack its weights where they are chosen from that toolbox."""
    return _packing(op, toolbox) is not None


def variants(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels that can run `op`, all of the same result: the fastest first, each further one with less scratch.

    KeyError for operators that only move or rename memory.
    """
    once = toolbox.listing_cache.once
    if packing := _packing(op, toolbox):
        return once((op, packing, toolbox.isa, toolbox.has_thumb2), partial(_PACKED_LAYERS[packing], op, toolbox))
    others = once((op, toolbox.of_library_depends_on), partial(_others, op, toolbox))
    if not toolbox.has_native_kernels:
        return others
    growth = toolbox.tallest_tile_of(told_by(op))
    native = once((op, growth, toolbox.native_depend_on), partial(native_kernels, op, toolbox))
    if not native:
        return others
    return (*native, *(kernel for kernel in others if kernel.scratch_bytes < native[-1].scratch_bytes))


def _others(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """Those that are not native."""
    lower = _lowering(op)
    if lower is None:
        raise KeyError(type(op).__name__)
    found = lower(op, toolbox)
    others = found if isinstance(found, tuple) else (found,)
    if toolbox.mixes_kernels and others[-1].scratch_bytes and (smallest := without_scratch(op, toolbox)):
        others = (*others, smallest)
    return others


_PACKED_LAYERS: dict[int, Callable[[Op, Toolbox], tuple[Kernel, ...]]] = {
    SQUEEZED: lambda op, _: (squeezed_layer(op),),
    HUFFMAN: lambda op, toolbox: faster_or_smaller(op, _huffman_layers(op, toolbox), toolbox),
    SHORTEST: lambda op, toolbox: _huffman_layers(op, toolbox),
}


def _huffman_layers(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """Whose codes are found once for both ways to list them."""
    return toolbox.listing_cache.once((op, huffman_layers), partial(huffman_layers, op))


def _packing(op: Op, toolbox: Toolbox) -> int | None:
    """How its weights are packed, if they are."""
    growths = (toolbox.tallest_tile_of(operand) for operand in op.operands)
    packing = next((growth for growth in growths if growth in _PACKED_LAYERS), None)
    return packing if packing and can_pack(op) else None


def select(op: Op, toolbox: Toolbox, scratch_bytes: int | None = None) -> Kernel:
    """The fastest kernel that makes do with that much scratch; without a limit the fastest."""
    return first_within(variants(op, toolbox), scratch_bytes)


def first_within(found: Sequence[Kernel], scratch_bytes: int | None) -> Kernel:
    """Of kernels with less and less scratch the first that makes do with that much; the last where none does, and the
    first of all without a limit."""
    if scratch_bytes is None:
        return found[0]
    return next((kernel for kernel in found if kernel.scratch_bytes <= scratch_bytes), found[-1])
