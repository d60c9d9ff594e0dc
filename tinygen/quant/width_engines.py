"""Operators on int8 and others on int16 activations, all on the CPU: as two engines, between which tensors are cast."""

from tinygen.ir.graph import Graph, Op
from tinygen.quant.ctable import Storage
from tinygen.quant.datapaths import CPU_ALONE, Assignment
from tinygen.quant.widths import Widths
from tinygen.targets.engine import INT8, Datapath, Engine, EngineKind, Number

INT8_KERNELS = Engine(name="int8", kind=EngineKind.TINYGEN, datapath=INT8)
INT16_KERNELS = Engine(name="int16", kind=EngineKind.TINYGEN, datapath=Datapath(activations=Number.INT16))

_BY_STORAGE = {Storage.INT8: INT8_KERNELS, Storage.INT16: INT16_KERNELS}


def assignment_of_widths(graph: Graph, widths: Widths) -> Assignment:
    """The kernels of each operator on real numbers; none where all have activations of the same type as the network."""
    found = {op.name: widths.activations_of(op) for op in graph.ops if _computes(op)}
    if set(found.values()) <= {widths.activations}:
        return CPU_ALONE
    engines = {name: _BY_STORAGE[storage] for name, storage in found.items()}
    return Assignment(engines, (INT8_KERNELS, INT16_KERNELS))


def _computes(op: Op) -> bool:
    return any(tensor.type.dtype.is_real for tensor in op.results)
