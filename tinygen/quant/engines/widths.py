"""Operators on activations of different widths, all on the CPU: as engines, between which tensors are cast."""

from tinygen.ir.graph import Graph
from tinygen.quant.ctable import Storage
from tinygen.quant.engines.datapaths import CPU_ALONE, Assignment
from tinygen.quant.widths import Widths, activation_types
from tinygen.targets.engine import INT8, Datapath, Engine, EngineKind, Number

INT8_KERNELS = Engine(name="int8", kind=EngineKind.TINYGEN, datapath=INT8)
INT16_KERNELS = Engine(name="int16", kind=EngineKind.TINYGEN, datapath=Datapath(activations=Number.INT16))

WHOLE_KERNELS = (INT8_KERNELS, INT16_KERNELS)

_WHOLE = {Storage.INT8: INT8_KERNELS, Storage.INT16: INT16_KERNELS}


def assignment_of_widths(graph: Graph, widths: Widths) -> Assignment:
    """The kernels of each operator on real numbers; none where all have activations of the same whole type."""
    found = activation_types(graph, widths)
    used = sorted(set(found.values()), key=lambda storage: storage.bits, reverse=True)
    if len(used) <= 1 and set(used) <= set(_WHOLE):
        return CPU_ALONE
    kernels = {storage: kernels_of(storage) for storage in used}
    narrow = tuple(engine for storage, engine in kernels.items() if storage not in _WHOLE)
    return Assignment({name: kernels[storage] for name, storage in found.items()}, (*WHOLE_KERNELS, *narrow))


def kernels_of(storage: Storage) -> Engine:
    """The kernels for activations of that type, of any weights but for single bits."""
    if storage in _WHOLE:
        return _WHOLE[storage]
    path = Datapath(
        weights=Number.INT1 if storage is Storage.INT1 else Number.INT8,
        activations=Number.INT8 if storage is Storage.INT1 else Number(storage.dtype.name.lower()),
        activation_bits=storage.bits,
    )
    return Engine(name=storage.value, kind=EngineKind.TINYGEN, datapath=path)
