"""A float network becomes the int8 network that a CTable describes."""

from dataclasses import fields, replace

import numpy as np

from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.signs import words_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ir.verify import verify
from tinygen.ops.accumulate import LARGEST_WIDE_BIAS
from tinygen.ops.arithmetic_unary import Negate
from tinygen.ops.checks import NoIntegersError
from tinygen.ops.clamp import Clamp, fused_clamp, with_clamp
from tinygen.ops.crossing import Crossing
from tinygen.ops.gather import Gather
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.pad import Pad
from tinygen.ops.quantize import Dequantize, Quantize, stored
from tinygen.ops.real_function import RealFunction, RealKind
from tinygen.ops.requantize import round_half_away
from tinygen.ops.rescale import Rescale
from tinygen.ops.table_rows import TableRows, large_tables
from tinygen.quant.agreement import check_agreement, entry_of, quant_of
from tinygen.quant.coded_weights import POLICY as CODED
from tinygen.quant.coded_weights import coded_weights, kept_mask
from tinygen.quant.constraints import groups, needs_rescale, real_operands
from tinygen.quant.control import control_of
from tinygen.quant.ctable import Control, CTable, OpEntry, Storage, TensorEntry
from tinygen.quant.engines.datapaths import assignment_of, with_crossings
from tinygen.quant.engines.layers import check_engines, engine_layer
from tinygen.quant.errors import Code, CTableError
from tinygen.quant.sign_layers import sign_layer
from tinygen.quant.stored_weights import stored_weights
from tinygen.quant.widths import WEIGHTS, has_narrow_form, listed
from tinygen.targets.engine import Engine

_NO_ENTRY = OpEntry()


def quantize_graph(graph: Graph, table: CTable) -> Graph:
    """The int8 network: every scale, zero point and clamp is the table's; CTableError where it cannot be so."""
    check_engines(graph, table)
    graph = with_crossings(graph, table.casts)
    check_agreement(groups(graph), table)
    assignment = assignment_of(table)
    large = large_tables(graph)
    mapping = {t: t if t in large else _quantized(t, table) for t in real_operands(graph)}
    rescaled, casts = _rescales(graph, mapping)
    ops: list[Op] = []
    for op in graph.ops:
        ops += [rescaled[op, operand] for operand in op.operands if (op, operand) in rescaled]
        tensors = mapping | casts.get(op, {}) | _filters(op, mapping, table) | _products(op, mapping, table)
        ops.append(_quantized_op(op, tensors, table, assignment.engine_of(op)))
        _check_op(ops[-1], table)
    result = Graph(
        graph.name,
        tuple(_port(port, mapping) for port in graph.inputs),
        tuple(_port(port, mapping) for port in graph.outputs),
        tuple(ops),
    )
    verify(result, "quantization")
    return result


def _quantized(tensor: Tensor, table: CTable) -> Tensor:
    entry = entry_of(table, tensor)
    quant, dtype = quant_of(entry), entry.element
    if dtype.is_real:
        return tensor
    if dtype is DType.SIGNS:
        return Tensor(tensor.name, TensorType(dtype, (*tensor.shape[:-1], words_of(tensor.shape[-1])), quant))
    data = None if tensor.data is None else stored(tensor.data, quant, dtype)
    return Tensor(tensor.name, TensorType(dtype, tensor.shape, quant), data)


def _filters(op: Op, mapping: dict[Tensor, Tensor], table: CTable) -> dict[Tensor, Tensor]:
    """Stored weights and bias of an operator that accumulates."""
    if op.filters is None or mapping[op.results[0]].type.dtype.is_real:
        return {}
    weights, bias = op.filters.weights, op.filters.bias
    if weights.data is None:
        return {}
    entry = entry_of(table, weights)
    if entry.policy == CODED:
        return _coded_filters(op, mapping[op.operands[0]], table)
    _check_weights(op, weights, entry, table)
    dtype = _weight_dtype(entry, mapping[op.results[0]].type.dtype)
    quant = replace(quant_of(entry), bits=entry.dtype.bits_in(dtype))
    data = _stored_weights(op, weights.data, quant, dtype, table)
    coding = kept_mask(weights.coding, data) if mapping[op.results[0]].type.dtype is DType.INT8 else None
    result = {weights: Tensor(weights.name, TensorType(dtype, weights.shape, quant), data, coding=coding)}
    if bias is not None and bias.data is not None:
        result[bias] = _stored_bias(op, bias, mapping[op.operands[0]], quant, table, dtype)
    return result


def _products(op: Op, mapping: dict[Tensor, Tensor], table: CTable) -> dict[Tensor, Tensor]:
    """Stored weights and biases of an operator with several sums; a scale for each of these."""
    found: dict[Tensor, Tensor] = {}
    for sums in op.products:
        input = mapping[sums.input]
        if input.type.dtype.is_real or sums.weights.data is None:
            continue
        entry = entry_of(table, sums.weights)
        quant = quant_of(entry)
        if entry.dtype is not Storage.INT8 or not quant.is_per_tensor or quant.zero_point:
            raise CTableError(
                Code.CONSTRAINT,
                f"{table.model.name}, weights '{sums.weights.name}': are {entry.dtype.value} with {len(quant.scales)} "
                "scales, int8 with one scale and zero point 0 was expected. Calibrate again.",
            )
        data = stored_weights(sums.weights.data, quant)
        found[sums.weights] = Tensor(sums.weights.name, TensorType(DType.INT8, sums.weights.shape, quant), data)
        if sums.bias is not None and sums.bias.data is not None:
            bias = _stored_bias(op, sums.bias, input, quant, table, DType.INT8)
            found[sums.bias] = replace(bias, name=f"{sums.bias.name}:stored")
    return found


def _coded_filters(op: Op, input: Tensor, table: CTable) -> dict[Tensor, Tensor]:
    """Weights that stay the codes of the model, and their bias."""
    assert op.filters is not None
    weights, bias = op.filters.weights, op.filters.bias
    coded = coded_weights(op)
    if coded is None or coded.entry().scale != entry_of(table, weights).scale or input.type.dtype is not DType.INT8:
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, weights '{weights.name}': are to stay as they are coded, which the scales of that "
            "coding and int8 activations were expected for. Calibrate again.",
        )
    result = {weights: coded.tensor(weights.name)}
    if bias is not None and bias.data is not None:
        result[bias] = _stored_bias(op, bias, input, coded.quant, table, coded.dtype)
    return result


def _weight_dtype(entry: TensorEntry, activations: DType) -> DType:
    """Of int16 activations, kernels have weights of whole bytes."""
    return DType.INT8 if activations is DType.INT16 and entry.element.is_narrow else entry.element


def _stored_weights(op: Op, weights: Array, quant: Quant, dtype: DType, table: CTable) -> Array:
    otherwise = table.ops.get(op.name, _NO_ENTRY).rounded_otherwise
    if otherwise and max(otherwise) >= weights.size:
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, operator '{op.name}': rounded_otherwise has {max(otherwise)}, less than "
            f"{weights.size} was expected. Calibrate again.",
        )
    return stored_weights(weights, quant, otherwise, dtype)


def _check_weights(op: Op, weights: Tensor, entry: TensorEntry, table: CTable) -> None:
    assert op.filters is not None
    axis, quant = op.filters.channel_axis, quant_of(entry)
    _check_weight_type(op, weights, entry, table)
    channels = weights.shape[axis]
    if any(quant.zero_points) or (not quant.is_per_tensor and (len(quant.scales), quant.axis) != (channels, axis)):
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, weights '{weights.name}': have {len(quant.scales)} scales along axis {quant.axis} "
            f"and zero points {sorted(set(quant.zero_points))}, one scale or {channels} along axis {axis} and zero "
            "points of 0 were expected. Calibrate again.",
        )


def _check_weight_type(op: Op, weights: Tensor, entry: TensorEntry, table: CTable) -> None:
    allowed = WEIGHTS if has_narrow_form(op) else (Storage.INT8,)
    where = f"{table.model.name}, weights '{weights.name}'"
    if entry.dtype not in allowed:
        raise CTableError(
            Code.CONSTRAINT,
            f"{where}: are {entry.dtype.value}, {listed(allowed)} was expected of the CPU's kernels. Calibrate again.",
        )
    said = table.ops.get(op.name, _NO_ENTRY).weights
    if said is not None and said is not entry.dtype:
        raise CTableError(
            Code.CONSTRAINT,
            f"{where}: are {entry.dtype.value}, {said.value} was expected by operator '{op.name}'. Make both the same.",
        )


def _stored_bias(op: Op, bias: Tensor, input: Tensor, weights: Quant, table: CTable, weight_dtype: DType) -> Tensor:
    """At the scale of the products, int64 for int16 layers and int32 weights; the table's correction comes first."""
    assert bias.data is not None
    correction = table.ops.get(op.name, _NO_ENTRY).bias_correction
    if correction is not None and len(correction) != bias.data.size:
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, operator '{op.name}': bias_correction has {len(correction)} values, "
            f"{bias.data.size} were expected, one for each channel. Calibrate again.",
        )
    real = bias.data.astype(np.float64) + (0 if correction is None else np.array(correction))
    scales = input.type.scale * np.array(weights.scales, np.float64)
    if scales.max() > np.finfo(np.float32).max:
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, operator '{op.name}': the scale of its products is {scales.max():.3g}, a float32 was "
            "expected. Correct the scales, or calibrate again.",
        )
    is_long = input.type.dtype is DType.INT16 or weight_dtype is DType.INT32
    dtype = DType.INT64 if is_long else DType.INT32
    limit = LARGEST_WIDE_BIAS if dtype is DType.INT64 else dtype.max
    with np.errstate(over="ignore"):  # what is infinite is clipped, too
        data = np.clip(np.rint(real / scales), -limit, limit).astype(dtype.numpy)
    quant = Quant(tuple(float(np.float32(s)) for s in scales), (0,) * len(scales), None if len(scales) == 1 else 0)
    return Tensor(f"{op.name}:bias", TensorType(dtype, bias.shape, quant), data)


def _check_op(op: Op, table: CTable) -> None:
    """Raise CTableError where no kernel computes with such scales, or with integers at all."""
    try:
        op.verify()
    except NoIntegersError as error:
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, operator '{op.name}': {error}. Export the model without it, or compile it with "
            "--allow-float.",
        ) from None
    except ValueError as error:
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, operator '{op.name}': {error}. Correct the scales, or calibrate again.",
        ) from None


def _quantized_op(op: Op, mapping: dict[Tensor, Tensor], table: CTable, engine: Engine | None) -> Op:
    quantized = op.replace_tensors(mapping)
    if op.takes_stored_numbers and quantized is not op:
        raise CTableError(
            Code.CONSTRAINT,
            f"{table.model.name}, operator '{op.name}': casts real numbers, which quantized ones are not. Quantize the "
            "model without it (--stop-at), or compile it with --allow-float.",
        )
    if isinstance(quantized, Crossing):
        return _crossed(quantized)
    if quantized.results[0].type.dtype.is_real:
        return quantized
    if isinstance(quantized, Gather) and quantized.input.type.dtype.is_real:
        return TableRows(**{field.name: getattr(quantized, field.name) for field in fields(quantized)})
    if isinstance(quantized, Negate):  # of stored values: asks for zero points of 0
        input, output = quantized.input, quantized.output
        return RealFunction(name=op.name, source=op.source, input=input, output=output, kind=RealKind.NEGATIVE)
    if isinstance(quantized, Pad):
        type = quantized.input.type
        value = type.zero_point + round_half_away(quantized.value / type.scale)
        quantized = replace(quantized, value=int(min(max(value, type.min), type.max)))
    quantized = sign_layer(op, quantized)
    clamp = fused_clamp(quantized)
    if clamp is not None:
        stored = stored_clamp(clamp, quantized.results[0].type)
        quantized = engine_layer(with_clamp(quantized, stored), engine, table)
        control = table.ops.get(op.name, _NO_ENTRY).control
        if control is not None:
            quantized = _controlled(quantized, control, table)
    return quantized


def _crossed(op: Crossing) -> Op:
    """From one engine's form of a tensor to another's."""
    before, after = (tensor.type.dtype.is_real for tensor in (op.input, op.output))
    kind: type[Quantize | Dequantize | Rescale | PackSigns] = Quantize if before else Dequantize if after else Rescale
    if op.output.type.dtype is DType.SIGNS:
        kind = PackSigns
    return kind(name=op.name, source=op.source, input=op.input, output=op.output)


def stored_clamp(clamp: Clamp, type: TensorType) -> Clamp:
    """The stored values that a real range leaves of an output."""
    low, high = (
        int(
            min(
                max(type.zero_point + round_half_away(min(max(bound / type.scale, -1e6), 1e6)), type.min),
                type.max,
            )
        )
        for bound in (clamp.min, clamp.max)
    )
    return Clamp(low, high)


def _controlled(op: Op, control: Control, table: CTable) -> Op:
    """The operator with the table's clamp; its other constants follow from scales, so they must agree with them."""
    clamp, type = fused_clamp(op), op.results[0].type
    assert clamp is not None
    low = clamp.min if control.act_min is None else control.act_min
    high = clamp.max if control.act_max is None else control.act_max
    where = f"{table.model.name}, operator '{op.name}'"
    if not type.min <= low <= high <= type.max:
        raise CTableError(
            Code.CONSTRAINT,
            f"{where}: the clamp is [{low}, {high}], a range within [{type.min}, {type.max}] was expected. "
            "Correct act_min and act_max.",
        )
    changed = with_clamp(op, Clamp(low, high))
    expected = control_of(changed)
    if expected is not None and control.model_copy(update={"registers": {}}) != _completed(control, expected):
        raise CTableError(
            Code.CONSTRAINT,
            f"{where}: multipliers, shifts or offsets do not follow from the scales, as was expected. "
            "Change scales, or calibrate again.",
        )
    return changed


def _completed(control: Control, expected: Control) -> Control:
    """The expected control, without what the table leaves open."""
    open_fields = {name: getattr(control, name) for name in ("act_min", "act_max") if getattr(control, name) is None}
    return expected.model_copy(update=open_fields)


def _rescales(
    graph: Graph, mapping: dict[Tensor, Tensor]
) -> tuple[dict[tuple[Op, Tensor], Op], dict[Op, dict[Tensor, Tensor]]]:
    """Requantizations of operands whose quantization their producer fixes, where an operator needs its own."""
    found: dict[tuple[Op, Tensor], Op] = {}
    casts: dict[Op, dict[Tensor, Tensor]] = {}
    by_tensor = {tensor: group for group in groups(graph) for tensor in group.tensors}
    for op in graph.ops:
        for operand in dict.fromkeys(op.operands):
            result = by_tensor.get(op.results[0])  # comparisons have real operands, and truth values as result
            if result is not None and operand in by_tensor and needs_rescale(op, operand, result):
                source, target = mapping[operand], mapping[op.results[0]]
                name = f"{op.name}:{operand.name}"
                output = Tensor(name, TensorType(source.type.dtype, source.shape, target.type.quant))
                found[op, operand] = Rescale(name=name, source=op.source, input=source, output=output)
                casts.setdefault(op, {})[operand] = output
    return found, casts


def _port(port: Port, mapping: dict[Tensor, Tensor]) -> Port:
    return replace(port, tensor=mapping.get(port.tensor, port.tensor))
