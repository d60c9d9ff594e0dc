"""Operators of a quantized network become layers of the engines that a table names."""

from tinygen.ir.graph import Graph, Op, recast
from tinygen.ir.text import mnemonic
from tinygen.ops.engine_layer import AnalogSums, Arithmetic, EngineLayer, noise_gain
from tinygen.ops.weighted import Weighted
from tinygen.quant.ctable import AnalogEntry, CTable, OpEntry
from tinygen.quant.errors import Code, CTableError
from tinygen.quant.widths import has_narrow_result, has_sign_form
from tinygen.targets.engine import Engine

_NO_ENTRY = OpEntry()


def refusal(engine: Engine, op: Op) -> str | None:
    """Why an engine cannot take an operator, in a few words; None where nothing but the CPU's kernels could say no."""
    name = mnemonic(op)
    if engine.operators and name not in engine.operators:
        return f"takes no {name}"
    has_form = has_sign_form if engine.path.is_binary else has_narrow_result
    if engine.path.activation_bits is not None and not has_form(op):
        return f"has no kernel for {name} with so few bits"
    if engine.kind.is_cpu:
        return None
    if not isinstance(op, Weighted) or op.layer_kind is None:
        return f"no engine of kind {engine.kind} takes {name}"
    return None if op.weights.is_constant else "weights are no constant"


def check_engines(graph: Graph, table: CTable) -> None:
    """Raise CTableError where the table names an engine or a cast that cannot be."""
    if not table.engines:
        return
    by_name, ops = {engine.label: engine for engine in table.engines}, {op.name: op for op in graph.ops}
    for name, entry in table.ops.items():
        engine, op = by_name.get(entry.engine), ops.get(name)
        if engine is None:
            raise _fault(table, f"operator '{name}'", f"has engine '{entry.engine}', one of {', '.join(by_name)}")
        reason = None if op is None else refusal(engine, op)
        if reason is not None:
            raise _fault(table, f"operator '{name}'", f"has engine '{entry.engine}', which {reason}; another one")
    known = {tensor.name for tensor in graph.tensors} | {cast.result for cast in table.casts}
    for cast in table.casts:
        missing = [name for name in cast.readers if name not in ops]
        if missing or cast.tensor not in known:
            what = f"operator '{missing[0]}'" if missing else "tensor"
            raise _fault(table, f"cast of '{cast.tensor}'", f"there is no such {what}, one of the model's")


def _fault(table: CTable, where: str, what: str) -> CTableError:
    return CTableError(
        Code.CONSTRAINT, f"{table.model.name}, {where}: {what} was expected. Correct it, or calibrate again."
    )


def engine_layer(op: Op, engine: Engine | None, table: CTable) -> Op:
    """The operator as its engine computes it; as it is where that is the CPU."""
    if engine is None or engine.kind.is_cpu or not isinstance(op, Weighted) or op.layer_kind is None:
        return op
    return recast(
        op,
        EngineLayer,
        layer=op.layer_kind,
        engine=engine.label,
        prefix=engine.prefix,
        arithmetic=Arithmetic(engine.path.bits, engine.path.overflow, engine.path.rounding),
        analog=_analog_sums(engine, table.ops.get(op.name, _NO_ENTRY).analog),
    )


def _analog_sums(engine: Engine, entry: AnalogEntry | None) -> AnalogSums | None:
    crossbar = engine.crossbar
    if crossbar is None:
        return None
    chosen = entry or AnalogEntry(adc_shift=0, seed=crossbar.seed)
    gain = noise_gain(crossbar.noise_sigma, chosen.adc_shift)
    return AnalogSums(crossbar.rows, crossbar.adc_bits, chosen.adc_shift, gain, chosen.seed)
