"""Which engines of a board can compute an operator: tried out, with its kernels."""

import numpy as np

from tinygen import passes
from tinygen.errors import TinygenError
from tinygen.ir.graph import Graph, Op, Port
from tinygen.kernels.select import has_kernel
from tinygen.ops.table_rows import TableRows
from tinygen.quant.calibrate import Identity, Settings, make_ctable
from tinygen.quant.ctable import ModelIdentity
from tinygen.quant.engines.datapaths import Assignment
from tinygen.quant.engines.layers import refusal
from tinygen.quant.engines.widths import WHOLE_KERNELS
from tinygen.quant.quantize import quantize_graph
from tinygen.quant.statistics import Statistics
from tinygen.targets.engine import Engine

_ANY_MODEL = Identity(ModelIdentity(name="model", sha256="0" * 64, frontend="none"))


def why_not(op: Op, engine: Engine, settings: Settings) -> str | None:
    """Why an engine cannot compute a float operator, in a few words; None where it can."""
    said = refusal(engine, op)
    if said is not None:
        return said
    alone = _alone(op)
    others = () if engine.path.activation_bits is None else WHOLE_KERNELS  # for what comes in with all bits
    assignment = Assignment({op.name: engine}, (*others, engine))
    own = Settings(scheme=settings.scheme, corrects_bias=False, engines=assignment)
    statistics = {tensor.name: _statistics() for tensor in alone.tensors if tensor.type.dtype.is_real}
    try:
        graph = quantize_graph(alone, make_ctable(alone, statistics, own, _ANY_MODEL))
        lowered = passes.run(graph, passes.FLOAT_PASSES)
    except (TinygenError, ValueError):
        return f"has no {engine.path} kernel"
    is_done = all(has_kernel(found) or found.aliases() or isinstance(found, TableRows) for found in lowered.ops)
    return None if is_done else f"has no {engine.path} kernel"


def _alone(op: Op) -> Graph:
    """A network of this operator."""
    inputs = tuple(Port(tensor.name, tensor, tensor.type) for tensor in op.variable_operands)
    outputs = tuple(Port(tensor.name, tensor, tensor.type) for tensor in op.results)
    return Graph("operator", inputs, outputs, (op,))


def _statistics() -> Statistics:
    found = Statistics()
    found.add(np.array([-1.0, 1.0], np.float32))
    return found
