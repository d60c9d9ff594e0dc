"""Operators whose results are known while compiling."""

from collections.abc import Collection, Iterable

import numpy as np

from tinygen.budget import LOOP_WORK, Account
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.shape_arithmetic import ShapeOf

MAX_FOLDED_BYTES = 1 << 20  # of one operator; a larger constant would not fit a microcontroller


def fold(
    ops: Iterable[Op],
    account: Account,
    only: Collection[DType] = tuple(DType),
    written: Collection[Tensor] = (),
    loops: Account | None = None,
) -> tuple[tuple[Op, ...], dict[Tensor, Tensor]]:
    """The operators that remain, and the results of the others as constants of the same names.

    `ops` stand in execution order; those with a result of an element type that is not in `only` remain, and those that
    make one of `written`, which must be there in each call. What the constants take is spent of `account`, what loops
    do for them of `loops`: `LOOP_WORK` for these operators, where none is given.
    """
    known: dict[Tensor, Tensor] = {}
    remaining: list[Op] = []
    loops = loops or Account(LOOP_WORK)
    for op in ops:
        replaced = op.replace_tensors(known)
        is_free = all(result.type.dtype in only and result not in written for result in replaced.results)
        if is_free and _is_known(replaced):
            account.spend(sum(result.type.bytes for result in op.results), str(op.source))
            known |= _constants(replaced, loops)
        else:
            remaining.append(replaced)
    return tuple(remaining), known


def _is_known(op: Op) -> bool:
    depends_on_values = op.variable_operands and not isinstance(op, ShapeOf)
    return not depends_on_values and sum(result.type.bytes for result in op.results) <= MAX_FOLDED_BYTES


def _constants(op: Op, loops: Account) -> dict[Tensor, Tensor]:
    with np.errstate(all="ignore"):  # float32 constants may be of any size
        arrays = op.evaluate(Values(_unknown, loops))
    return {result: _constant(result, array) for result, array in zip(op.results, arrays, strict=True)}


def _constant(result: Tensor, array: Array) -> Tensor:
    data = np.array(array, result.type.dtype.numpy)  # an array of its own, for results without axes too
    data.flags.writeable = False
    return Tensor(result.name, result.type, data)


def _unknown(tensor: Tensor) -> Array:
    raise ValueError(f"'{tensor.name}' is no constant")
