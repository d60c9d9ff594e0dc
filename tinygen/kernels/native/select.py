"""Which operators have native kernels."""

from tinygen.ir.graph import Op, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.kernels.base import PACKED, PLAIN, Kernel, Lowerings, Toolbox, united
from tinygen.kernels.cmsis_nn.depthwise_as_convolution import unless_alone
from tinygen.kernels.native import (
    addition,
    addition_mve,
    convolution_mve,
    convolution_rvv,
    depthwise,
    depthwise_lanes_mve,
    fully_connected,
    fully_connected_mve,
    multiplication_mve,
    pooling,
    pooling_mve,
    winograd,
)
from tinygen.kernels.native.convolution import without_twins
from tinygen.kernels.native.expanded import can_expand, expanded, widened
from tinygen.kernels.native.native import NativeKernel
from tinygen.kernels.prices import faster_or_smaller
from tinygen.kernels.tinygen_c.asymmetric import has_zero_points
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.weighted import Weighted
from tinygen.targets.isa import Isa

LOWERINGS = united(*(home.LOWERINGS for home in (addition, depthwise, fully_connected, pooling, winograd)))
_MVE_HOMES = (addition_mve, convolution_mve, depthwise_lanes_mve, fully_connected_mve, multiplication_mve, pooling_mve)
MVE_LOWERINGS = united(*(home.LOWERINGS for home in _MVE_HOMES))
RVV_LOWERINGS = {**LOWERINGS, **convolution_rvv.LOWERINGS}  # the others have no vectors
_LOWERINGS_OF = {Isa.MVE: MVE_LOWERINGS, Isa.ZVE32X: RVV_LOWERINGS}


def is_native(kernel: Kernel) -> bool:
    """Whether the kernel is one of tinygen's own."""
    return isinstance(kernel, NativeKernel)


def native_kernels(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The native kernels for `op`: the fastest first, each further one with less scratch."""
    if _stays_plain(op, toolbox):
        return ()
    if can_expand(op):
        return _expanding(op, toolbox)
    return _listed(_LOWERINGS_OF.get(toolbox.isa, LOWERINGS), unless_alone(op), toolbox) if is_plain_int8(op) else ()


def _listed(table: Lowerings, op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """Those of one table."""
    lower = table.get(type(op))
    kernels = () if lower is None else lower(op, toolbox)
    return kernels if isinstance(kernels, tuple) else (kernels,)


def _expanding(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """Those that expand narrow weights first; filters that are transformed or stand in words of other forms do not."""
    wide = unless_alone(widened(op))
    if not is_plain_int8(wide):
        return ()
    tables = [_LOWERINGS_OF.get(toolbox.isa, LOWERINGS)]
    if toolbox.isa is Isa.ZVE32X:
        tables.append(LOWERINGS)  # beside vectors they have no use as int8, but less of a stream in scratch
    kernels = [kernel for table in tables for kernel in _listed(table, wide, toolbox.without_growth)]
    if toolbox.isa is not Isa.MVE:
        kernels += without_twins(wide, toolbox.isa)
    native = [kernel for kernel in kernels if isinstance(kernel, NativeKernel)]
    return faster_or_smaller(op, expanded(op, native), toolbox)


def in_orders(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """Native kernels for `op` whose weights stand in every order that there is, where there are several; none where the
    toolbox has no native kernels."""
    if not toolbox.has_native_kernels or not is_plain_int8(op) or _stays_plain(op, toolbox):
        return ()
    op = unless_alone(op)
    if not isinstance(op, DepthwiseConv2D):
        return ()
    home = depthwise_lanes_mve if toolbox.isa is Isa.MVE else depthwise
    return tuple(home.in_orders(op, toolbox))


def told_by(op: Op) -> Tensor | Source:
    """What says how an operator grows in flash, in `Toolbox.growths`: its constant weights, or where it stands."""
    return op.weights if isinstance(op, Weighted) and op.weights.is_constant else op.source


def may_be_tiled(op: Op) -> bool:
    """Whether the tiles of `Toolbox.growths` are of any matter for `op`."""
    return winograd.may_be_tiled(unless_alone(op))


def _stays_plain(op: Op, toolbox: Toolbox) -> bool:
    """Whether the library's kernels run it, as these read its weights in flash."""
    return bool(toolbox.growths) and toolbox.tallest_tile_of(told_by(op)) in {PLAIN, *PACKED}


def is_plain_int8(op: Op) -> bool:
    """Whether all that `op` computes with is int8, and no operand is narrower, coded or with zero points of weights.

    Operands of int32 say where others lie: no sums are multiplied.
    """
    operands = (tensor for tensor in op.variable_operands if tensor.type.dtype is not DType.INT32)
    return all(tensor.type.dtype is DType.INT8 for tensor in (*operands, *op.results)) and not any(
        tensor.type.dtype.is_narrow or has_zero_points(tensor) or tensor.coding for tensor in op.operands
    )
