"""Which engine computes each operator of a network, and the tensors that cross between engines."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tinygen.ir.graph import Graph, Op, Source
from tinygen.ir.tensor import Tensor
from tinygen.ops.crossing import Crossing
from tinygen.quant.constraints import Group, groups, real_operands
from tinygen.quant.ctable import CTable, EngineCast, Storage
from tinygen.quant.scheme import Scheme
from tinygen.targets.engine import Datapath, Engine, Requantization


@dataclass(frozen=True)
class Assignment:
    """An engine for each operator, by name; empty where the CPU computes everything in one type."""

    engines: Mapping[str, Engine] = field(default_factory=lambda: MappingProxyType({}))
    board: tuple[Engine, ...] = ()  # all engines that there are

    def engine_of(self, op: Op) -> Engine | None:
        """The engine of an operator."""
        return self.engines.get(op.name)

    def storage_of(self, op: Op) -> Storage | None:
        """The element type of its activations; None where it has no engine."""
        engine = self.engines.get(op.name)
        return None if engine is None else Storage(engine.path.stored)


CPU_ALONE = Assignment()


def assignment_of(table: CTable) -> Assignment:
    """The engines that a table names."""
    by_name = {engine.label: engine for engine in table.engines}
    found = {name: by_name[entry.engine] for name, entry in table.ops.items() if entry.engine in by_name}
    return Assignment(found, table.engines)


def engine_names(table: CTable) -> Mapping[str, str]:
    """The engine of each operator and cast by name; empty where the table has no engines."""
    if not table.engines:
        return {}
    converts = first_on_cpu(table.engines).label
    return {name: entry.engine for name, entry in table.ops.items()} | {c.result: converts for c in table.casts}


def casts(graph: Graph, assignment: Assignment) -> tuple[EngineCast, ...]:
    """The tensors that must change their form between engines, in execution order of their first readers.

    An input or constant has the form that its first reader wants.
    """
    if not assignment.engines:
        return ()
    by_width = tuple(_collected(_mismatches(graph, assignment)))
    crossed = with_crossings(graph, by_width)
    return by_width + tuple(_collected(_conflicts(crossed, assignment)))


@dataclass(frozen=True)
class _Mismatch:
    tensor: str
    suffix: str  # of the result's name
    source: str
    destination: str
    reader: str


def _mismatches(graph: Graph, assignment: Assignment) -> Iterator[_Mismatch]:
    """Operands of another element type than their readers'."""
    homes = _homes(graph, assignment)
    for op in graph.ops:
        wanted, engine = assignment.storage_of(op), assignment.engine_of(op)
        for operand in _real(op):
            source = homes[operand]
            if engine is not None and wanted is not None and source.path.stored != engine.path.stored:
                yield _Mismatch(operand.name, wanted.value, source.label, engine.label, op.name)


def _conflicts(graph: Graph, assignment: Assignment) -> Iterator[_Mismatch]:
    """Operands whose kernel fixes a zero point that their reader's engine cannot have."""
    homes, of_tensor = _homes(graph, assignment), {t: group for group in groups(graph) for t in group.tensors}
    for op in graph.ops:
        engine = assignment.engine_of(op)
        if engine is None or not engine.path.is_symmetric:
            continue
        for operand in _real(op):
            storage = Storage(homes[operand].path.stored)
            fixed = of_tensor[operand].fixed_as(storage.dtype)
            if fixed is not None and fixed.zero_point and not storage.dtype.is_real:
                yield _Mismatch(operand.name, engine.label, homes[operand].label, engine.label, op.name)


def _collected(mismatches: Iterable[_Mismatch]) -> Iterator[EngineCast]:
    """One cast for all readers that want the same."""
    found: dict[tuple[str, str], list[_Mismatch]] = {}
    for mismatch in mismatches:
        found.setdefault((mismatch.tensor, mismatch.suffix), []).append(mismatch)
    for (tensor, suffix), alike in found.items():
        readers = tuple(dict.fromkeys(mismatch.reader for mismatch in alike))
        first = alike[0]
        yield EngineCast(
            tensor=tensor,
            result=f"{tensor}:{suffix}",
            source=first.source,
            destination=first.destination,
            readers=readers,
        )


def with_crossings(graph: Graph, casts: Iterable[EngineCast]) -> Graph:
    """The float network with the crossings of tensors made explicit, each before its first reader."""
    by_reader: dict[str, list[EngineCast]] = {}
    for cast in casts:
        for reader in cast.readers:
            by_reader.setdefault(reader, []).append(cast)
    if not by_reader:
        return graph
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    crossings: dict[str, Crossing] = {}
    ops: list[Op] = []
    for op in graph.ops:
        mapping = {}
        for cast in by_reader.get(op.name, ()):
            if cast.result not in crossings:
                crossings[cast.result] = _crossing(cast, tensors[cast.tensor], op)
                tensors[cast.result] = crossings[cast.result].output
                ops.append(crossings[cast.result])
            mapping[tensors[cast.tensor]] = crossings[cast.result].output
        ops.append(op.replace_tensors(mapping))
    return replace(graph, ops=tuple(ops))


def _crossing(cast: EngineCast, tensor: Tensor, reader: Op) -> Crossing:
    source = Source(reader.source.file, reader.source.index, f"CAST '{cast.result}'")
    return Crossing(name=cast.result, source=source, input=tensor, output=Tensor(cast.result, tensor.type))


def storages(graph: Graph, assignment: Assignment, default: Storage) -> Mapping[Tensor, Storage]:
    """The element type of every real tensor, of a network with its crossings; `default` where there is no engine."""
    if not assignment.engines:
        return dict.fromkeys(real_operands(graph), default)
    homes = _homes(graph, assignment)
    return {tensor: Storage(engine.path.stored) for tensor, engine in homes.items()}


def _homes(graph: Graph, assignment: Assignment) -> Mapping[Tensor, Engine]:
    """The engine in whose form each real tensor stands."""
    homes: dict[Tensor, Engine] = {}
    for op in graph.ops:
        engine = assignment.engine_of(op)
        if engine is None:
            continue
        for tensor in _real(op):
            is_whole = tensor in graph.input_tensors or (tensor.is_constant and engine.path.is_binary)
            homes.setdefault(tensor, _whole(engine, assignment.board) if is_whole else engine)
        for tensor in op.results:
            if tensor.type.dtype.is_real:
                homes.setdefault(tensor, _whole(engine, assignment.board) if engine.path.is_binary else engine)
    for tensor in graph.input_tensors:
        if tensor not in homes:  # nothing reads it, or casts alone
            readers = (
                op for cast in graph.consumers.get(tensor, ()) for op in graph.consumers.get(cast.results[0], ())
            )
            engines = (assignment.engine_of(op) for op in readers)
            first = next((engine for engine in engines if engine is not None), first_on_cpu(assignment.board))
            homes[tensor] = _whole(first, assignment.board)
    return homes


def _whole(engine: Engine, board: Iterable[Engine]) -> Engine:
    """The engine itself, or one on the CPU whose activations have all bits of its element type."""
    if engine.path.activation_bits is None:
        return engine
    whole = engine.path.activations.value
    return next(other for other in board if other.kind.is_cpu and other.path.stored == whole)


def first_on_cpu(board: Iterable[Engine]) -> Engine:
    """The first engine of a board on its core, which converts tensors that cross."""
    return next(engine for engine in board if engine.kind.is_cpu)


def _real(op: Op) -> tuple[Tensor, ...]:
    """Operands on real numbers, without weights and biases."""
    constants = op.constants_of_sums
    return tuple(t for t in dict.fromkeys(op.operands) if t.type.dtype.is_real and t not in constants)


def schemes(graph: Graph, assignment: Assignment, found: Iterable[Group], default: Scheme) -> Mapping[Group, Scheme]:
    """The scheme of each group: the strictest that an engine asks for whose operators touch one of its tensors."""
    strict: dict[Tensor, Scheme] = {}
    for op in graph.ops:
        engine = assignment.engine_of(op)
        if engine is not None:
            for tensor in (*_real(op), *op.results):
                strict[tensor] = _stricter(strict.get(tensor, default), scheme_of(engine.path, default))
    return {group: _strictest((strict.get(tensor, default) for tensor in group.tensors), default) for group in found}


def scheme_of(path: Datapath, default: Scheme) -> Scheme:
    """What a datapath asks of scales and zero points."""
    if path.rounding is Requantization.SHIFT:
        return Scheme.POW2
    return _stricter(default, Scheme.SYMMETRIC) if path.is_symmetric else default


def _strictest(found: Iterable[Scheme], default: Scheme) -> Scheme:
    for scheme in found:
        default = _stricter(default, scheme)
    return default


def _stricter(first: Scheme, second: Scheme) -> Scheme:
    order = (Scheme.ASYMMETRIC, Scheme.SYMMETRIC, Scheme.POW2)
    return max(first, second, key=order.index)
