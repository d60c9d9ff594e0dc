"""How the ADCs of analog engines are set: for each layer the step that takes least from the sums of some samples."""

import zlib
from collections.abc import Mapping
from dataclasses import replace
from itertools import count

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
    """The smallest step whose codes reach all sums, whatever the inputs; 0 where the ADC has a code for each sum."""
    assert op.analog is not None
    least, most = _extremes(op)
    wanted = next(bits for bits in count(2) if -1 << (bits - 1) <= least and most < 1 << (bits - 1))
    return max(0, wanted - op.analog.adc_bits)


def _extremes(op: EngineLayer) -> tuple[int, int]:
    """The least and the largest sum that stored inputs of any value make in one block of rows."""
    assert op.analog is not None
    filters, type, rows = op.filters_by_channel.reshape(op.channels, -1).astype(np.int64), op.input.type, op.analog.rows
    blocks = [filters[:, row : row + rows] for row in range(0, filters.shape[1], rows)]
    low, high = type.min - type.zero_point, type.max - type.zero_point  # 0, of padding, lies between
    least = min(int(np.where(block > 0, block * low, block * high).sum(axis=1).min()) for block in blocks)
    most = max(int(np.where(block > 0, block * high, block * low).sum(axis=1).max()) for block in blocks)
    return least, most


def _best(op: EngineLayer, values: Array) -> int:
    """The step with the smallest squared error over the sums that the samples make; none where no input needs one."""
    if _widest(op) == 0:
        return 0
    sums = op.block_sums(quantize(values, op.input.type))
    errors = [sum(_error(op, block, shift) for block in sums) for shift in range(_LARGEST_SHIFT + 1)]
    return int(np.argmin(errors))


def _error(op: EngineLayer, sums: Int64Array, shift: int) -> float:
    assert op.analog is not None
    lost = (digital(sums, replace(op.analog, adc_shift=shift)) - sums).astype(np.float64)
    return float((lost**2).sum())
