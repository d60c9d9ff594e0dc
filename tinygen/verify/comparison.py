"""Differences between what is and what should be, stage by stage of a network."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinygen.ir.graph import Port
from tinygen.ir.types import Array, DType

REAL_TOLERANCE = 1e-5  # of float32 tensors, relative to the largest number that is expected in them
_FLOAT_ROUNDING = 1 + 1e-5  # what products with a float32 scale add to a difference in LSB


class Side(Enum):
    """What was compared at a stage."""

    TARGET = "target"  # the program on the target with the numpy references, from the same input of the model
    ORACLE = "oracle"  # the numpy reference with the oracle, from the oracle's own inputs of the operator


@dataclass(frozen=True)
class Comparison:
    """One tensor of one sample."""

    stage: int
    side: Side
    tensor: str
    max_abs_diff: float  # LSB of stored integers, a whole number; of float32 the difference itself
    mismatches: int  # elements that differ by more than is allowed


def compare(stage: int, side: Side, tensor: str, actual: Array, expected: Array, allowed: int = 0) -> Comparison:
    """Compare stored integers, of which `allowed` LSB are no mismatch, or float32."""
    if np.issubdtype(expected.dtype, np.floating):
        return _compare_real(stage, side, tensor, actual, expected)
    difference = np.abs(actual.astype(np.int64) - expected.astype(np.int64))
    return Comparison(stage, side, tensor, int(difference.max(initial=0)), int(np.count_nonzero(difference > allowed)))


def compare_port(stage: int, side: Side, port: Port, actual: Array, expected: Array, allowed: int = 0) -> Comparison:
    """Compare an output as the application has it: floats too must be equal, or within the `allowed` LSB."""
    if port.external.dtype is not DType.FLOAT32 or port.tensor.type.dtype is DType.FLOAT32:
        return compare(stage, side, port.name, actual, expected, allowed)
    lsb = port.tensor.type.scale
    difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    mismatches = int(np.count_nonzero(~(difference <= allowed * lsb * _FLOAT_ROUNDING)))
    return Comparison(stage, side, port.name, round(float(difference.max(initial=0)) / lsb), mismatches)


def _compare_real(stage: int, side: Side, tensor: str, actual: Array, expected: Array) -> Comparison:
    """Compare numbers that were computed with float32: infinities and NaN must be the same."""
    found, wanted = actual.astype(np.float64), expected.astype(np.float64)
    is_same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        difference = np.where(is_same, 0.0, np.abs(found - wanted))
    largest = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0))
    mismatches = int(np.count_nonzero(~(difference <= REAL_TOLERANCE * largest)))
    return Comparison(stage, side, tensor, float(np.nan_to_num(difference).max(initial=0.0)), mismatches)
