"""How the ADCs of analog engines are set: for each layer the step that takes least from the sums of some samples."""

import zlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tinygen.ir.graph import Graph
from tinygen.ir.types import Array
from tinygen.ops.engine_layer import EngineLayer, digital
from tinygen.ops.quantize import quantize
from tinygen.ops.requantize import Int64Array
from tinygen.quant.ctable import AnalogEntry, CTable, OpEntry
from tinygen.quant.quantize import quantize_graph

_LARGEST_SHIFT = 24


def with_analog(graph: Graph, table: CTable, seen: Mapping[str, Array]) -> CTable:
    """The table with the settings of all layers on analog engines; `seen` are real values of the tensors they read.

    Without such values, no sum that can be is cut off.
    """
    if not any(engine.crossbar for engine in table.engines):
        return table
    crossbars = {engine.label: engine.crossbar for engine in table.engines}
    origins = {cast.result: cast.tensor for cast in table.casts}
    found: dict[str, OpEntry] = {}
    for op in quantize_graph(graph, table).ops:
        if isinstance(op, EngineLayer) and op.analog is not None:
            crossbar = crossbars[op.engine]
            assert crossbar is not None
            seed = zlib.crc32(op.name.encode(), crossbar.seed)
            values = seen.get(origins.get(op.input.name, op.input.name))
            entry = AnalogEntry(adc_shift=_widest(op) if values is None else _best(op, values), seed=seed)
            found[op.name] = table.ops[op.name].model_copy(update={"analog": entry})
    return table.model_copy(update={"ops": table.ops | found})


def _widest(op: EngineLayer) -> int:
    """The smallest step at which no sum is cut off, whatever the inputs."""
    assert op.analog is not None
    filters = np.abs(op.filters.reshape(op.channels, -1).astype(np.int64))
    blocks = [filters[:, row : row + op.analog.rows].sum(axis=1) for row in range(0, filters.shape[1], op.analog.rows)]
    type = op.input.type
    largest = max(type.zero_point - type.min, type.max - type.zero_point) * int(np.max(blocks))
    return max(0, largest.bit_length() + 1 - op.analog.adc_bits)


def _best(op: EngineLayer, values: Array) -> int:
    """The step with the smallest squared error over the sums that the samples make."""
    sums = op.block_sums(quantize(values, op.input.type))
    errors = [sum(_error(op, block, shift) for block in sums) for shift in range(_LARGEST_SHIFT + 1)]
    return int(np.argmin(errors))


def _error(op: EngineLayer, sums: Int64Array, shift: int) -> float:
    assert op.analog is not None
    lost = (digital(sums, replace(op.analog, adc_shift=shift)) - sums).astype(np.float64)
    return float((lost**2).sum())
