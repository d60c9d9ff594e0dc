"""The precision simulator: an int8 network on samples by its references, with what each operator loses.

The references are the integers of the generated C, so the outputs are those of the target, byte by byte.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Graph
from tinygen.ir.signs import unpack_signs
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.precision import conversion
from tinygen.ops.quantize import convert, dequantize
from tinygen.quant.calibrate import Progress
from tinygen.quant.forward import Forward, NumpyForward
from tinygen.quant.points import precision_points


@dataclass(frozen=True)
class TracedOp:
    """An operator, or a port of the model: its points, and what its result showed on the samples."""

    operator: str
    name: str
    engine: str | None  # None where the CPU alone computes, and of ports
    points: tuple[Point, ...]
    saturated: float  # share of results at an end of the stored range
    sqnr_db: float | None  # against the float network on the same samples; None where there is none, or no difference


@dataclass(frozen=True)
class Simulation:
    """What the simulator found."""

    outputs: tuple[Array, ...]  # as the application has them, the first axis counts samples
    trace: tuple[TracedOp, ...]


class _Tally:
    """Sums over batches for one tensor."""

    def __init__(self) -> None:
        self.signal = self.noise = 0.0
        self.ends = self.count = 0

    def add(self, stored: Array, tensor: Tensor, real: Array | None) -> None:
        type = tensor.type
        low = type.min if type.zero_point > type.min else type.max  # nothing is cut off below a zero
        self.ends += int(np.count_nonzero((stored == low) | (stored == type.max)))
        self.count += stored.size
        if real is not None:
            wanted = real.astype(np.float64).reshape(-1)
            self.signal += float(wanted @ wanted)
            found = dequantize(stored, tensor.type).astype(np.float64).reshape(-1)
            self.noise += float(np.sum((found - wanted) ** 2))


def simulate(
    graph: Graph,
    batches: Iterable[list[Array]],
    real: Forward | None = None,
    samples: int = 0,
    progress: Progress | None = None,
    engines: Mapping[str, str] = MappingProxyType({}),
) -> Simulation:
    """Run a quantized network; `real` is its float network with the same names of tensors; `engines` by operator."""
    tensors = {t.name: t for t in graph.tensors if not t.is_constant and t.type.quant is not None}
    depths = {op.output.name: op.input.shape[-1] for op in graph.ops if isinstance(op, PackSigns)}
    forward = NumpyForward(graph, [*tensors, *(port.tensor.name for port in graph.outputs)])
    tallies = {name: _Tally() for name in tensors}
    outputs: list[list[Array]] = [[] for _ in graph.outputs]
    done = 0
    for batch in batches:
        found = forward.run(batch)
        wanted = {} if real is None else real.run(batch)
        for name, tensor in tensors.items():
            stored = unpack_signs(found[name].astype(np.uint32), depths[name]) if name in depths else found[name]
            tallies[name].add(stored, tensor, wanted.get(name))
        for column, port in zip(outputs, graph.outputs, strict=True):
            column.append(convert(found[port.tensor.name], port.tensor.type, port.external))
        done += len(batch[0])
        if progress is not None:
            progress(done, samples)
    return Simulation(tuple(np.concatenate(column) for column in outputs), tuple(_trace(graph, tallies, real, engines)))


def sqnr_db(signal: float, noise: float) -> float:
    """Signal to quantization noise in dB; infinite without noise."""
    return math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal > 0 else -math.inf


def _trace(
    graph: Graph, tallies: Mapping[str, _Tally], real: Forward | None, engines: Mapping[str, str]
) -> Sequence[TracedOp]:
    inputs = [("INPUT", p.name, conversion(p.tensor, True), p.tensor) for p in graph.inputs]
    ops = [(op.source.spelling.split(" ")[0], op.name, precision_points(op), op.results[0]) for op in graph.ops]
    outputs = [("OUTPUT", p.name, conversion(p.tensor, False), p.tensor) for p in graph.outputs]
    return [
        TracedOp(operator, name, engines.get(name), points, *_found(tallies.get(tensor.name), real))
        for operator, name, points, tensor in (*inputs, *ops, *outputs)
    ]


def _found(tally: _Tally | None, real: Forward | None) -> tuple[float, float | None]:
    if tally is None or tally.count == 0:
        return 0.0, None
    ratio = sqnr_db(tally.signal, tally.noise) if real is not None else None
    return tally.ends / tally.count, ratio
