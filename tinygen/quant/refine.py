"""Makes a table, such as one of quantization-aware training, legal for kernels; keeps ranges where it can."""

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, stored_limits
from tinygen.quant.agreement import entry_of, quant_of
from tinygen.quant.calibrate import with_controls
from tinygen.quant.coded_weights import POLICY as CODED
from tinygen.quant.constraints import Group, groups
from tinygen.quant.ctable import CTable, Storage, TensorEntry
from tinygen.quant.engines.datapaths import with_crossings
from tinygen.quant.errors import Code, CTableError
from tinygen.quant.scheme import RealRange, Scheme, affine, qm_n
from tinygen.quant.weight_scales import weight_quant
from tinygen.quant.widths import ACTIVATIONS, WEIGHTS, has_narrow_form

_STRICTNESS = (Scheme.ASYMMETRIC, Scheme.SYMMETRIC, Scheme.POW2)


def refine(graph: Graph, table: CTable, scheme: Scheme = Scheme.ASYMMETRIC) -> CTable:
    """The table with one quantization per group, the fixed ones of kernels, weights with zero point 0, and controls.

    A group whose entries agree and follow the scheme is not touched; another one takes the range that covers all.
    CTableError where a tensor is missing.
    """
    if table.engines:
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}: the CTable assigns operators to engines, one for the CPU alone was expected for "
            "refinement. Calibrate for the board instead.",
        )
    entries, ops = dict(table.tensors), dict(table.ops)
    for group in groups(with_crossings(graph, table.casts)):
        repaired = _repaired(group, table, scheme)
        if repaired is not None:
            entries |= {t.name: entry_of(table, t).model_copy(update=repaired) for t in group.tensors}
    for op in graph.ops:
        if op.filters is not None and (weights := op.filters.weights).data is not None:
            entries[weights.name] = _legal_weights(op, weights, entry_of(table, weights), scheme)
            if op.name in ops:
                ops[op.name] = ops[op.name].model_copy(update={"weights": entries[weights.name].dtype})
    steps = (*table.provenance, {"step": "refine", "scheme": scheme.value})
    return with_controls(graph, table.model_copy(update={"tensors": entries, "ops": ops, "provenance": steps}))


def _repaired(group: Group, table: CTable, scheme: Scheme) -> dict[str, object] | None:
    """The fields that all entries of a group must take; None where they are legal as they stand."""
    entries = [entry_of(table, tensor) for tensor in group.tensors]
    quants, storages = {quant_of(entry) for entry in entries}, {entry.dtype for entry in entries}
    storage = entries[0].dtype if len(storages) == 1 and entries[0].dtype in ACTIVATIONS else Storage.INT8
    dtype, used = storage.dtype, Scheme.ASYMMETRIC
    bits = storage.bits_in(dtype)
    fixed = group.fixed_as(dtype)
    if dtype is DType.INT16:
        used = scheme = max(scheme, Scheme.SYMMETRIC, key=_STRICTNESS.index)
    if fixed is not None and quants == {fixed}:
        return None
    if fixed is not None:
        quant = fixed
    elif len(quants) == 1 and all(_is_legal(entry, storage, scheme) for entry in entries):
        return None
    else:
        ranges = [_range(entry) for entry in entries]
        whole = RealRange(min(r.low for r in ranges), max(r.high for r in ranges))
        quant, used = affine(whole, dtype, scheme, bits), scheme
    low, high = (quant.scale * (bound - quant.zero_point) for bound in stored_limits(dtype, bits))
    return {
        "dtype": storage,
        "scheme": used,
        "axis": None,
        "scale": quant.scales,
        "zero_point": quant.zero_points,
        "range": (low, high),
        "qm_n": qm_n(quant, dtype),
    }


def _is_legal(entry: TensorEntry, storage: Storage, scheme: Scheme) -> bool:
    if entry.dtype is not storage or len(entry.scale) != 1:
        return False
    if scheme is Scheme.ASYMMETRIC:
        return True
    is_symmetric = entry.zero_point == (0,)
    return is_symmetric and (scheme is Scheme.SYMMETRIC or qm_n(quant_of(entry), storage.dtype) is not None)


def _range(entry: TensorEntry) -> RealRange:
    """The real values that an entry stores, over all its scales."""
    pairs = list(zip(entry.scale, entry.zero_point, strict=True))
    return RealRange(
        min(scale * (entry.dtype.min - zero_point) for scale, zero_point in pairs),
        max(scale * (entry.dtype.max - zero_point) for scale, zero_point in pairs),
    )


def _legal_weights(op: Op, weights: Tensor, entry: TensorEntry, scheme: Scheme) -> TensorEntry:
    assert weights.data is not None
    wanted = Scheme.POW2 if scheme is Scheme.POW2 else Scheme.SYMMETRIC
    allowed = WEIGHTS if has_narrow_form(op) else (Storage.INT8,)
    assert op.filters is not None
    axis = op.filters.channel_axis
    channels = weights.shape[axis]
    along = len(entry.scale) == 1 or (entry.axis == axis and len(entry.scale) == channels)
    if entry.dtype in allowed and not any(entry.zero_point) and along and wanted is not Scheme.POW2:
        return entry
    storage = entry.dtype if entry.dtype in allowed else Storage.INT8
    dtype = storage.weight_dtype
    quant = weight_quant(weights.data, dtype, axis, wanted, storage.bits_in(dtype))
    if entry.dtype is storage and entry.scale == quant.scales and not any(entry.zero_point):
        return entry
    update = {
        "dtype": storage,
        "scheme": wanted,
        "axis": None if quant.is_per_tensor else quant.axis,
        "scale": quant.scales,
        "zero_point": quant.zero_points,
        "block": None,
        "policy": None if entry.policy == CODED else entry.policy,
    }
    return entry.model_copy(update=update)
