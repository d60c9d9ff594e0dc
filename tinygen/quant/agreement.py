"""What a CTable says of tensors, and where that breaks a constraint of the operators."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant
from tinygen.quant.constraints import Group
from tinygen.quant.ctable import CTable, Storage, TensorEntry
from tinygen.quant.errors import Code, CTableError

_STORED = tuple(storage for storage in Storage if 1 < storage.bits <= DType.INT16.bits)


@dataclass(frozen=True)
class Fault:
    """A tensor whose entry no operator can follow."""

    name: str
    reason: str  # in a sentence that begins with the tensor


def entry_of(table: CTable, tensor: Tensor) -> TensorEntry:
    """The table's entry of a tensor; CTableError where there is none."""
    entry = table.tensors.get(tensor.name)
    if entry is None:
        raise CTableError(
            Code.MISSING_TENSOR,
            f"{table.model.name}: the CTable has no tensor '{tensor.name}', an entry for every tensor was expected. "
            "Calibrate again.",
        )
    return entry


def quant_of(entry: TensorEntry) -> Quant:
    """Scales, zero points and bits of an entry."""
    return Quant(entry.scale, entry.zero_point, entry.axis, entry.dtype.bits_in(entry.element))


def check_agreement(groups: Iterable[Group], table: CTable) -> None:
    """Raise CTableError at the first fault."""
    for fault in faults(groups, table):
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, tensor '{fault.name}': {fault.reason}. Correct it, or calibrate again.",
        )


def faults(groups: Iterable[Group], table: CTable) -> Iterator[Fault]:
    """Entries that have not at most 16 bits and one scale, that differ within a group, or from what a kernel fixes.

    Single bits are for casts, which layers read.
    """
    reals = any(entry.activations is Storage.FLOAT32 for entry in table.ops.values())
    allowed = (*_STORED, Storage.FLOAT32) if reals else _STORED
    casts = {cast.result for cast in table.casts}
    for group in groups:
        first = entry_of(table, group.tensors[0])
        for tensor in group.tensors:
            types = (*allowed, Storage.INT1) if tensor.name in casts else allowed
            reason = _fault(entry_of(table, tensor), first, group, types)
            if reason is not None:
                yield Fault(tensor.name, reason)


def _fault(entry: TensorEntry, first: TensorEntry, group: Group, allowed: Sequence[Storage]) -> str | None:
    if entry.dtype not in allowed:
        return f"is {entry.dtype.value}, int16 or fewer bits were expected of the CPU's kernels"
    if entry.dtype is not first.dtype:
        return f"is {entry.dtype.value}, {first.dtype.value} was expected, as '{group.name}' is"
    if len(entry.scale) != 1:
        return f"has {len(entry.scale)} scales, one was expected for an activation"
    if entry.dtype is Storage.FLOAT32:
        return None
    fixed = group.fixed_as(entry.dtype.dtype)
    if fixed is not None and quant_of(entry) != fixed:
        scale, zero_point = fixed.scale, fixed.zero_point
        return f"must have scale {scale:g} and zero point {zero_point}, which its kernel gives it"
    return None if quant_of(entry) == quant_of(first) else f"must have the quantization of '{group.name}'"
