"""Additions by a factor for each operand: right for all pairs of stored values, up to the bounds of the constant."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.native_vectors import fenced_plan, run_fenced
from tests.support.tools import requires_arm_gcc, requires_host_cc, requires_qemu
from tinygen.ir.graph import Graph, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.native.addition import _SHIFT, LinearFactors, factors_of
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Int64Array
from tinygen.targets import load

SOURCE = Source("sums", 0, "ADD")
STORED = np.arange(-128, 128, dtype=np.int64)
FIRST, SECOND = (values.reshape(-1) for values in np.meshgrid(STORED, STORED))
ADDITIONS = 40
_MOST_STEPS = 300
FEWEST_LINEAR = 0.9  # of those whose scales are any, as networks have them


def _operand(name: str, scale: float, zero_point: int, size: int = FIRST.size) -> Tensor:
    quant = Quant((float(np.float32(scale)),), (zero_point,))
    return Tensor(name, TensorType(DType.INT8, (1, size), quant))


def _addition(seed: int) -> Add:
    """Any scales, or powers of two, where many sums lie halfway between two outputs; with a clamp or without."""
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.uniform(-1, 1, 3))
    scales[2] = max(scales[:2]) * np.exp(rng.uniform(-0.8, 0.8))
    if seed % 4 == 0:
        scales = 2.0 ** rng.integers(-3, 2, 3)
    zero_points = [int(zero_point) for zero_point in rng.integers(-128, 128, 3)]
    first, second, output = map(_operand, ("a", "b", "c"), scales.tolist(), zero_points)
    clamp = Clamp.none(output.type) if seed % 3 else Clamp(max(min(output.type.zero_point, 50), -100), 100)
    return Add(
        name=f"sum{seed}",
        source=SOURCE,
        first=first,
        second=second,
        output=output,
        clamp=clamp,
        sign=1 - 2 * (seed % 2),
    )


def _ports(tensors: Sequence[Tensor]) -> tuple[Port, ...]:
    return tuple(Port(tensor.name, tensor, tensor.type) for tensor in tensors)


def _right(op: Add) -> Int64Array:
    return op.combine(FIRST - op.first.type.zero_point, SECOND - op.second.type.zero_point)


def _found(factors: LinearFactors, op: Add) -> Int64Array:
    sums = FIRST * factors.first + SECOND * factors.second + factors.constant
    return op.clamp.apply(np.clip(sums >> _SHIFT, -128, 127))


@pytest.mark.parametrize("seed", range(ADDITIONS))
def test_all_pairs(seed: int) -> None:
    op = _addition(seed)
    factors = factors_of(op)
    if factors is not None:
        assert np.array_equal(_found(factors, op), _right(op))
        assert factors.largest < 1 << 31


def test_most_additions_have_factors() -> None:
    found = [factors_of(_addition(seed)) is not None for seed in range(ADDITIONS) if seed % 4]
    assert sum(found) >= FEWEST_LINEAR * len(found)


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_the_constant_is_right_up_to_its_bounds(seed: int) -> None:
    """It stands in their middle: as many steps on either side are right, one more is not."""
    op = _addition(seed)
    factors = factors_of(op)
    assert factors is not None
    right = {
        step: np.array_equal(_found(replace(factors, constant=factors.constant + step), op), _right(op))
        for step in range(-_MOST_STEPS, _MOST_STEPS + 1)
    }
    below = min(step for step, is_right in right.items() if is_right)
    above = max(step for step, is_right in right.items() if is_right)
    assert -_MOST_STEPS < below <= 0 <= above < _MOST_STEPS
    assert abs(below + above) <= 1 and all(right[step] for step in range(below, above + 1))


def test_sums_that_are_no_int32_are_refused() -> None:
    """Where a step of an operand is many of the output."""
    first, second, output = _operand("a", 512.0, 0), _operand("b", 512.0, 0), _operand("c", 1.0, 0)
    op = Add(name="large", source=SOURCE, first=first, second=second, output=output, clamp=Clamp.none(output.type))
    assert factors_of(op) is None


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("host", id="host", marks=requires_host_cc),
        pytest.param("mps2-an386", id="m4", marks=[requires_arm_gcc, requires_qemu, pytest.mark.qemu]),
        pytest.param("mps2-an385", id="m3", marks=[requires_arm_gcc, requires_qemu, pytest.mark.qemu]),
    ],
)
def test_all_pairs_as_c(target: str, tmp_path: Path) -> None:
    ops = tuple(_addition(seed) for seed in (1, 3))
    assert all(factors_of(op) is not None for op in ops)
    ops = tuple(
        replace(op, **{side: replace(getattr(op, side), name=f"{side}{n}") for side in ("first", "second", "output")})
        for n, op in enumerate(ops)
    )
    inputs = [tensor for op in ops for tensor in (op.first, op.second)]
    results = [op.output for op in ops]
    graph = Graph("sums", _ports(inputs), _ports(results), ops)
    board = load(target)
    toolbox = Toolbox(Library.PORTABLE, board.isa, has_thumb2=board.has_thumb2, has_native_kernels=True)
    schedule = fenced_plan(graph, target, toolbox)
    assert {call.kernel.function for call in schedule.calls} == {"tg_native_add_linear_s8"}
    values = [values.astype(np.int8).reshape(1, -1) for _ in ops for values in (FIRST, SECOND)]
    for op, output in zip(ops, run_fenced(schedule, values, tmp_path), strict=True):
        np.testing.assert_array_equal(output.reshape(-1), _right(op))
