"""From an ONNX file to a graph."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tinygen.budget import BudgetError
from tinygen.errors import IN_FLOAT, UnsupportedModelError, UnsupportedOperator, UnsupportedOperatorsError
from tinygen.frontends.ending import ends_before
from tinygen.frontends.foreign import check_has_scales, check_not_compiled
from tinygen.frontends.onnx.boundary import input_port, missing, output_port
from tinygen.frontends.onnx.builder import Builder, EarlierOperatorError, Spent
from tinygen.frontends.onnx.decode import read
from tinygen.frontends.onnx.ending import ending_at
from tinygen.frontends.onnx.fold import FOLDED, OF_SHAPES, fold
from tinygen.frontends.onnx.frozen import with_frozen
from tinygen.frontends.onnx.fusion import fused
from tinygen.frontends.onnx.narrow import without_zeros
from tinygen.frontends.onnx.node import Node, Reader
from tinygen.frontends.onnx.operators.recurrent import READERS as OF_SEQUENCES  # whose last states may be all
from tinygen.frontends.onnx.qoperator import expand
from tinygen.frontends.onnx.raw import ConsequenceError, RawModel, RawNode, UnsupportedError
from tinygen.frontends.onnx.registry import READERS
from tinygen.frontends.onnx.sizes import with_sizes
from tinygen.frontends.onnx.tables import with_real_tables
from tinygen.frontends.onnx.values import Known, Missing, Order, Value
from tinygen.frontends.spelling import AS_IN_FILE, Layout, Spelling
from tinygen.ir.graph import Graph, Port
from tinygen.ir.verify import verify

_NO_OPERATOR = "tinygen has no such operator"
_TOO_LONG = "hundreds of operators before it have no QuantizeLinear, one behind each was expected"
_AT_RUN_TIME = ("DynamicQuantizeLinear", "ConvInteger", "MatMulInteger")  # between which there are real numbers
_OF_SEVERAL = (*OF_SEQUENCES, "TopK")  # results, of which the first may be absent
_DECODING = ("DequantizeLinear", "Quant", "IntQuant", "BipolarQuant")
_QUANTIZING = ("QuantizeLinear", *_DECODING)  # behind which a model is quantized, had they been compiled


@dataclass(frozen=True)
class Imported:
    """A graph, and where the file's tensors are in it."""

    graph: Graph
    outputs: tuple[Order, ...]  # of the model
    layouts: Mapping[str, Order]  # by name: which axis of the file's tensor each axis of the graph's is
    decided: Mapping[str, str]  # by first output of an If that is none in the graph: the branch that always runs


@dataclass(frozen=True)
class _Fault:
    """Why a node cannot be compiled."""

    reason: str
    is_consequence: bool = False  # of another node's fault


def import_onnx(path: Path, spelling: Spelling = AS_IN_FILE) -> Graph:
    """The graph of an ONNX model: int8 operators of a quantized one, float32 of any other; NHWC inside.

    Inputs and outputs stand as in the file.

    Raises UnsupportedModelError for a damaged file, UnsupportedOperatorsError listing every operator that cannot be
    compiled, those that compute with float32 among them.
    """
    return import_with_layouts(path, spelling).graph


def import_with_layouts(path: Path, spelling: Spelling = AS_IN_FILE) -> Imported:
    """As `import_onnx`, with the order of axes of each tensor that the file has too.

    Where float32 is allowed, as in models that are quantized at run time, one that does not become integers as a whole
    computes with float32 between its quantizations.
    """
    model = with_frozen(with_sizes(read(path), spelling), spelling.frozen)
    model = fused(ending_at(model, spelling.stop_at))
    operators = [node.operator for node in model.nodes if isinstance(node.operator, str)]  # damaged names are bytes
    check_not_compiled(path.name, operators)
    check_has_scales(path.name, operators)
    nodes = with_real_tables(expand(model), model.constants, model.outputs)
    reading, is_real = _Reading(model, nodes, spelling), _is_real(model, nodes)
    allows_float = spelling.allows_float or any(node.operator in _AT_RUN_TIME for node in nodes)
    try:
        return reading.imported(is_real)
    except BudgetError:
        raise
    except UnsupportedModelError as refusal:
        if is_real:
            raise
        if not allows_float:
            raise _with_remedy(refusal, reading) from None
        return reading.imported(is_real=True)


def _with_remedy(refusal: UnsupportedModelError, reading: "_Reading") -> UnsupportedModelError:
    """The refusal of a quantized model, which says so where float32 between its quantizations would make it compile."""
    try:
        reading.imported(is_real=True)
    except UnsupportedModelError:
        return refusal
    if isinstance(refusal, UnsupportedOperatorsError):
        return refusal.advising(IN_FLOAT)
    return UnsupportedModelError(f"{refusal} {IN_FLOAT}")


@dataclass(frozen=True)
class _Reading:
    """A model that is read as integers, and perhaps as float32 then, from one budget."""

    model: RawModel
    nodes: tuple[RawNode, ...]
    spelling: Spelling
    spent: Spent = field(default_factory=Spent)

    def imported(self, is_real: bool) -> Imported:
        """The graph, which computes with float32 or with integers throughout."""
        has_channels_last = self.spelling.layout is Layout.NHWC
        names = _names(self.model, self.nodes)
        return _imported(
            self.model, self.nodes, Builder(self.model.path.name, names, has_channels_last, is_real, spent=self.spent)
        )


def _imported(model: RawModel, nodes: tuple[RawNode, ...], builder: Builder) -> Imported:
    path = model.path
    values: dict[str, Value] = {
        name: Known(array, without_zeros(array) if name in model.sparse else None)
        for name, array in model.constants.items()
    }
    inputs = []
    for input in model.inputs:
        port, values[input.name] = input_port(builder, model, input, nodes)
        inputs.append(port)
    faults: dict[RawNode, _Fault] = {}
    for node in nodes:
        _check_defined(model, node, values)
        values |= _read(model, node, values, builder, faults)
    outputs = _outputs(model, values, builder, faults)
    if faults:
        raise _refusal(model, nodes, faults)
    graph = Graph(path.stem, tuple(inputs), outputs, tuple(builder.ops))
    verify(graph, "import")
    orders = tuple(builder.port_order(len(port.external.shape)) for port in outputs)
    return Imported(graph, orders, builder.layouts, builder.decided)


def _is_real(model: RawModel, nodes: tuple[RawNode, ...]) -> bool:
    """Whether the model computes with float32: no operator of it quantizes anything but constants."""
    constants = set(model.constants)
    for node in nodes:
        if node.operator in FOLDED and constants.issuperset(filter(None, node.inputs)):
            constants.update(node.outputs)
    return not any(node.operator in (*_QUANTIZING, *_AT_RUN_TIME) and not _decodes(node, constants) for node in nodes)


def _decodes(node: RawNode, constants: Collection[str]) -> bool:
    """Whether a node does nothing but give the numbers that a constant stands for."""
    return node.operator in _DECODING and bool(node.inputs) and node.inputs[0] in constants


def _names(model: RawModel, nodes: tuple[RawNode, ...]) -> frozenset[str]:
    return frozenset((*model.constants, *(port.name for port in model.inputs), *(o for n in nodes for o in n.outputs)))


def _check_defined(model: RawModel, node: RawNode, values: Mapping[str, Value]) -> None:
    """Raise UnsupportedModelError unless inputs are defined before the node, and outputs only by it."""
    where = f"{model.path.name}, operator {node.index} ({node.spelling})"
    for name in node.inputs:
        if name and name not in values and name not in model.unreadable:
            raise UnsupportedModelError(
                f"{where}: reads '{name}', which nothing before it defines, an ONNX graph in order was expected. "
                "Export the model again."
            )
    for name in node.outputs:
        if name in values or name in model.unreadable:
            raise UnsupportedModelError(
                f"{where}: defines '{name}' a second time, once was expected. Export the model again."
            )


def _read(
    model: RawModel, node: RawNode, values: Mapping[str, Value], builder: Builder, faults: dict[RawNode, _Fault]
) -> Mapping[str, Value]:
    """The results of a node; stand-ins, with an entry in `faults`, where it cannot be compiled."""
    inputs = [values.get(name) for name in node.inputs if name]
    if any(isinstance(value, Missing) and not value.is_reported for value in inputs):
        return missing(node, is_reported=False)
    if node.operator == "QuantizeLinear" and isinstance(inputs[0] if inputs else None, Missing):
        return missing(node, is_reported=False)
    try:
        return _results(model, node, Node(node, values, builder, model.opset, partial(_enter, faults)))
    except EarlierOperatorError as fault:
        faults.setdefault(fault.node, _Fault(str(fault)))
        return missing(node, is_reported=False)
    except RecursionError:
        faults[node] = _Fault(_TOO_LONG)
        return missing(node, is_reported=False)
    except ValueError as error:
        faults[node] = _Fault(str(error), isinstance(error, ConsequenceError))
        return missing(node, is_reported=node.operator not in _QUANTIZING)


def _enter(
    faults: dict[RawNode, _Fault], graph: RawModel, given: Mapping[str, Value], builder: Builder
) -> tuple[Value, ...]:
    """What `Node.enter` says."""
    graph = fused(graph)
    constants = {
        name: Known(array, without_zeros(array) if name in graph.sparse else None)
        for name, array in graph.constants.items()
    }
    values: dict[str, Value] = {**given, **constants}
    for node in expand(graph):
        _check_defined(graph, node, values)
        values |= _read(graph, node, values, builder, faults)
    for output in graph.outputs:
        if output not in values:
            raise UnsupportedError(f"nothing defines '{output}', an output of a graph that it runs")
    return tuple(values[output] for output in graph.outputs)


def _results(model: RawModel, raw: RawNode, node: Node) -> Mapping[str, Value]:
    reader = None if raw.domain else READERS.get(raw.operator)
    if reader is None and (raw.domain or raw.operator not in (*FOLDED, *OF_SHAPES)):
        raise UnsupportedError(_NO_OPERATOR)
    for name in raw.inputs:
        if name in model.unreadable:
            raise UnsupportedError(model.unreadable[name])
    if raw.problem:
        raise UnsupportedError(raw.problem)
    if not any(raw.outputs) or (not raw.outputs[0] and raw.operator not in _OF_SEVERAL):
        raise UnsupportedError("has no output, one was expected")
    results = (fold(node) if not raw.domain else None) or _by_reader(node, reader)
    listed = results if isinstance(results, tuple) else (results,)
    return {name: value for name, value in zip(raw.outputs, listed, strict=False) if name}


def _by_reader(node: Node, reader: Reader | None) -> Value | tuple[Value, ...]:
    if reader is None:
        raise UnsupportedError(_NO_OPERATOR)
    return reader(node)


def _outputs(
    model: RawModel, values: Mapping[str, Value], builder: Builder, faults: dict[RawNode, _Fault]
) -> tuple[Port, ...]:
    """The ports of outputs; where operators are at fault those alone are reported."""
    ports = []
    for output in model.outputs:
        value = values.get(output)
        if value is None:
            raise UnsupportedModelError(
                f"{model.path.name}, output '{output}': nothing defines it, a result of an operator was expected. "
                "Export the model again."
            )
        if isinstance(value, Missing):
            continue
        try:
            ports.append(output_port(builder, model, output, value))
        except EarlierOperatorError as fault:
            faults.setdefault(fault.node, _Fault(str(fault)))
        except RecursionError:
            raise UnsupportedModelError(
                f"{model.path.name}, output '{output}': {_TOO_LONG}. Quantize the model."
            ) from None
        except ValueError as error:
            raise UnsupportedModelError(f"{model.path.name}, output '{output}': {error}. Quantize the model.") from None
    return tuple(ports)


def _refusal(
    model: RawModel, nodes: tuple[RawNode, ...], faults: Mapping[RawNode, _Fault]
) -> UnsupportedOperatorsError:
    """One entry per operator of the file, in its order."""
    first: dict[int, tuple[RawNode, _Fault]] = {}
    for node, fault in faults.items():
        first.setdefault(node.index, (node, fault))
    operators = tuple(
        UnsupportedOperator(node.kind, index, node.label, fault.reason)
        for index, (node, fault) in sorted(first.items())
    )
    consequences = frozenset(index for index, (_, fault) in first.items() if fault.is_consequence)
    inputs = (input.name for input in model.inputs)
    ends = ends_before(
        nodes,
        faults.__contains__,
        inputs,
        model.outputs,
        lambda node: filter(None, node.inputs),
        lambda node: filter(None, node.outputs),
    )
    return UnsupportedOperatorsError(model.path.name, operators, consequences=consequences, ends=ends)
