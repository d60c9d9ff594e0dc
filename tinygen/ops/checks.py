"""Checks that many operators share; each raises ValueError saying what is and what was expected."""

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant
from tinygen.ops.requantize import Multiplier


class NoIntegersError(ValueError):
    """What is asked of an operator has no arithmetic on integers, whatever their scales."""


_FILTERS = {
    DType.FLOAT32: ((DType.FLOAT32,), DType.FLOAT32),
    DType.INT8: ((DType.INT8, DType.INT4, DType.INT2, DType.INT1), DType.INT32),
    DType.INT16: ((DType.INT8, DType.INT16), DType.INT64),
}
"""Element types of weights and of the bias, by that of the output."""


def check_dtype(role: str, tensor: Tensor, *expected: DType) -> None:
    """The element type is one of `expected`."""
    if tensor.type.dtype not in expected:
        names = " or ".join(dtype.value for dtype in expected)
        raise ValueError(f"{role} '{tensor.name}' is {tensor.type.dtype.value}, {names} was expected")


def check_numbers(*operands: tuple[str, Tensor]) -> None:
    """The last operand is the result: all are int8 quantized per tensor, or all float32 like the result."""
    expected = DType.FLOAT32 if operands[-1][1].type.dtype.is_real else DType.INT8
    for role, tensor in operands:
        check_dtype(role, tensor, expected)
        if expected is DType.INT8:
            check_per_tensor(role, tensor)


def check_activations(*operands: tuple[str, Tensor]) -> None:
    """As `check_numbers`, or all are int16 with zero point 0: for operators that have kernels for those."""
    if operands[-1][1].type.dtype is not DType.INT16:
        check_numbers(*operands)
        return
    for role, tensor in operands:
        check_dtype(role, tensor, DType.INT16)
        check_per_tensor(role, tensor)
        if tensor.type.zero_point:
            raise ValueError(f"{role} '{tensor.name}' is i16 with zero point {tensor.type.zero_point}, 0 was expected")


def check_stored(role: str, tensor: Tensor) -> None:
    """The tensor is int8, or int16 with zero point 0, quantized per tensor."""
    check_dtype(role, tensor, DType.INT8, DType.INT16)
    check_activations((role, tensor))


def check_signs(role: str, tensor: Tensor) -> None:
    """Each sign stands for -1 or 1 minus a zero point of 0 or -1, times one scale."""
    check_per_tensor(role, tensor)
    zero_point = tensor.type.zero_point
    if zero_point not in (0, -1):
        raise ValueError(f"{role} '{tensor.name}' is signs with zero point {zero_point}, 0 or -1 was expected")


def check_rank(role: str, tensor: Tensor, rank: int) -> None:
    """The tensor has that many dimensions."""
    if len(tensor.shape) != rank:
        raise ValueError(f"{role} '{tensor.name}' has shape {list(tensor.shape)}, {rank} dimensions were expected")


def check_shape(role: str, tensor: Tensor, expected: tuple[int, ...]) -> None:
    """The tensor has exactly that shape."""
    if tensor.shape != expected:
        raise ValueError(f"{role} '{tensor.name}' has shape {list(tensor.shape)}, {list(expected)} was expected")


def check_per_tensor(role: str, tensor: Tensor) -> None:
    """The tensor has one scale and one zero point, the latter within its element type."""
    quant = tensor.type.quant
    if quant is None or not quant.is_per_tensor:
        raise ValueError(f"{role} '{tensor.name}' must be quantized per tensor")
    if not tensor.type.min <= quant.zero_point <= tensor.type.max:
        dtype = tensor.type.dtype
        raise ValueError(f"{role} '{tensor.name}' has zero point {quant.zero_point}, outside of {dtype.value}")


def check_quantization(role: str, tensor: Tensor, expected: Quant) -> None:
    """The tensor has exactly that scale, of which 1 is a multiple, and that zero point."""
    if tensor.type.quant != expected:
        raise ValueError(
            f"{role} '{tensor.name}' must have scale 1/{1 / expected.scale:.0f} and zero point {expected.zero_point}"
        )


def check_symmetric(role: str, tensor: Tensor, channels: int, axis: int) -> None:
    """Weights are quantized with zero point 0, those of ui8 with any, per tensor or per channel along `axis`."""
    quant = tensor.type.quant
    if quant is None:
        raise ValueError(f"{role} '{tensor.name}' has no quantization")
    largest = tensor.type.max if tensor.type.dtype is DType.UINT8 else 0
    if not all(0 <= zero_point <= largest for zero_point in quant.zero_points):
        raise ValueError(f"{role} '{tensor.name}' has a zero point other than 0{f' to {largest}' if largest else ''}")
    if not quant.is_per_tensor and (len(quant.scales) != channels or quant.axis != axis):
        raise ValueError(
            f"{role} '{tensor.name}' has {len(quant.scales)} scales along axis {quant.axis}, "
            f"{channels} along axis {axis} were expected"
        )


def check_filters(
    weights: Tensor, bias: Tensor | None, output: Tensor, channels: int, axis: int, takes_zero_points: bool = False
) -> None:
    """Weights and bias of `channels` output channels: those of `_FILTERS`, for others int8.

    Where an operator takes zero points of weights, those of int8 results may be ui8; or i32, where blocks of narrow
    weights have scales of their own (`ir.integer_form`), whose sums and bias have 64 bits.
    """
    if not channels:
        raise ValueError(f"weights '{weights.name}' have shape {list(weights.shape)}, at least one filter was expected")
    allowed, sums = _FILTERS.get(output.type.dtype, _FILTERS[DType.INT8])
    if takes_zero_points and output.type.dtype is DType.INT8:
        allowed = (*allowed, DType.UINT8, DType.INT32)
        sums = DType.INT64 if weights.type.dtype is DType.INT32 else sums
    check_dtype("weights", weights, *allowed)
    if not output.type.dtype.is_real:
        check_symmetric("weights", weights, channels, axis)
    if bias is not None:
        check_dtype("bias", bias, sums)
        check_shape("bias", bias, (channels,))


def check_same_quantization(first: Tensor, second: Tensor) -> None:
    """Two tensors have equal scale, zero point and element type."""
    if first.type.quant != second.type.quant or first.type.dtype != second.type.dtype:
        raise ValueError(f"'{first.name}' and '{second.name}' must have the same quantization")


def check_only_moved(input: Tensor, output: Tensor) -> None:
    """Stored values keep their meaning wherever they move: equal element types and quantization, one scale at most."""
    check_same_quantization(input, output)
    quant = input.type.quant
    if quant is not None and not quant.is_per_tensor:
        raise ValueError(f"'{input.name}' is quantized along axis {quant.axis}, one scale was expected")
    if 0 in output.shape:
        raise ValueError(f"'{output.name}' has shape {list(output.shape)}, at least one element was expected")


def check_scaling(role: str, scaling: Multiplier, max_shift: int) -> None:
    """A requantization cannot overflow 32 bits: its multiplier is below 2**max_shift."""
    if scaling.shift > max_shift:
        raise ValueError(
            f"the scale of the {role} is about {2**scaling.shift} times the output's, "
            f"below {2**max_shift} times was expected"
        )


def check_groups(channels: int, filters: int, depth: int) -> None:
    """Input channels in groups of `depth`, each with as many of the filters."""
    groups = channels // depth if depth else 0
    if not groups or channels % depth or filters % groups:
        raise ValueError(f"{channels} input channels and {filters} filters of depth {depth} form no groups")


def check_multiplier(weights: Tensor, channels: int) -> None:
    """Depthwise filters [1, KH, KW, C_OUT] with as many outputs for each input channel."""
    if channels == 0 or weights.shape[3] % channels or weights.shape[0] != 1:
        raise ValueError(
            f"weights {list(weights.shape)} do not fit {channels} input channels, "
            "[1, KH, KW, multiplier * channels] was expected"
        )
