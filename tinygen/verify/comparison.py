"""Differences between what is and what should be, stage by stage of a network."""

from dataclasses import dataclass
from enum import Enum, StrEnum

import numpy as np

from tinygen.ir.graph import Port
from tinygen.ir.types import Array, DType

REAL_TOLERANCE = 1e-5  # of float32 tensors, relative to the largest number that is expected in them


class Side(Enum):
    """What was compared at a stage."""

    TARGET = "target"  # the program on the target with the numpy references, from the same input of the model
    ORACLE = "oracle"  # the numpy reference with the oracle, from the oracle's own inputs of the operator


class Rounding(StrEnum):
    """Why an oracle's results may differ from what CMSIS-NN, and tinygen, compute."""

    ONCE = "rounded once"  # LiteRT requantizes fully connected layers so, tinygen as TFLM: twice
    IN_FLOAT = "requantized in float32"  # as onnxruntime does
    IN_DOUBLE = "scaled in double precision"  # by TFLM's multipliers that LiteRT, and tinygen, make in float32
    FOR_HOSTS = "that of kernels for hosts"  # of LiteRT, where its reference kernels lack an operator


@dataclass(frozen=True)
class Permission:
    """What an oracle's integers may differ by."""

    lsb: int
    rounding: Rounding


@dataclass(frozen=True)
class ComparedTensor:
    """One tensor of one sample."""

    stage: int
    side: Side
    tensor: str
    max_abs_diff: float  # LSB of stored integers, a whole number; of float32 the difference itself
    mismatches: int  # elements that differ by more than is allowed
    permitted: int = 0  # elements that differ, but by a rounding that is allowed
    rounding: Rounding | None = None  # which one, where there are such elements


def compare(
    stage: int,
    side: Side,
    tensor: str,
    actual: Array,
    expected: Array,
    permission: Permission | None = None,
    tolerance: Array | None = None,
    is_moved: bool = False,
) -> ComparedTensor:
    """Compare stored integers, of which those within the permission are no mismatch, or float32.

    Each element of float32 may differ by its `tolerance`, and by REAL_TOLERANCE; not at all where numbers have only
    been moved.
    """
    if np.issubdtype(expected.dtype, np.floating):
        share = 0.0 if is_moved else REAL_TOLERANCE
        return _compare_real(stage, side, tensor, actual, expected, share, tolerance)
    difference = np.abs(actual.astype(np.int64) - expected.astype(np.int64))
    is_wrong = difference > (permission.lsb if permission else 0)
    return _judged(stage, side, tensor, int(difference.max(initial=0)), difference != 0, is_wrong, permission)


def compare_port(
    stage: int, side: Side, port: Port, actual: Array, expected: Array, permission: Permission | None = None
) -> ComparedTensor:
    """Compare an output as the application has it: floats too must be equal, or within the permission.

    Beside that, each element may differ by what rounds the two products of integers and scale to float32: half a unit
    in the last place each. An oracle that leaves its result as it is has no steps.
    """
    if port.external.dtype is not DType.FLOAT32 or port.tensor.type.dtype is DType.FLOAT32:
        return compare(stage, side, port.name, actual, expected, permission)
    lsb, is_wrong = port.tensor.type.scale, actual != expected
    is_other = is_wrong
    with np.errstate(invalid="ignore"):
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        if permission is not None and permission.lsb:
            rounding = np.spacing(np.maximum(np.abs(actual), np.abs(expected)))
            is_wrong = is_other & ~(difference <= permission.lsb * lsb + rounding)
    largest = round(float(difference[np.isfinite(difference)].max(initial=0.0)) / lsb)
    return _judged(stage, side, port.name, largest, is_other, is_wrong, permission)


def _judged(
    stage: int, side: Side, tensor: str, largest: int, is_other: Array, is_wrong: Array, permission: Permission | None
) -> ComparedTensor:
    mismatches = int(np.count_nonzero(is_wrong))
    permitted = int(np.count_nonzero(is_other)) - mismatches
    rounding = permission.rounding if permission and permitted else None
    return ComparedTensor(stage, side, tensor, largest, mismatches, permitted, rounding)


def _compare_real(
    stage: int, side: Side, tensor: str, actual: Array, expected: Array, share: float, tolerance: Array | None
) -> ComparedTensor:
    """Compare numbers that were computed with float32: infinities and NaN must be the same."""
    found, wanted = actual.astype(np.float64), expected.astype(np.float64)
    is_same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        difference = np.where(is_same, 0.0, np.abs(found - wanted))
    largest = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0))
    allowed = share * largest + (0.0 if tolerance is None else tolerance.astype(np.float64))
    mismatches = int(np.count_nonzero(~(difference <= allowed)))
    return ComparedTensor(stage, side, tensor, float(np.nan_to_num(difference).max(initial=0.0)), mismatches)
