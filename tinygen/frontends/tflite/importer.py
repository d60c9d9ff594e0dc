"""From a TFLite file to a graph."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tinygen.budget import FOLDED_BYTES, Account
from tinygen.errors import UnsupportedModelError, UnsupportedOperator, UnsupportedOperatorsError
from tinygen.frontends.foreign import check_is_real, check_not_compiled
from tinygen.frontends.tflite.dilation import dilated_convolutions
from tinygen.frontends.tflite.ending import ending_at
from tinygen.frontends.tflite.memory import KeptVariables
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError, to_tensor
from tinygen.frontends.tflite.operators import (
    activation,
    composite,
    convolution,
    elementwise,
    logic,
    matmul,
    movement,
    normalization,
    pooling,
    recurrent,
    reduction,
    resize,
    shape,
    slicing,
    variables,
)
from tinygen.frontends.tflite.raw import CUSTOM, RawModel, RawOperator, RawSubgraph
from tinygen.frontends.tflite.restored import restored
from tinygen.frontends.tflite.schema import read
from tinygen.frontends.tflite.sizes import UnknownSizeError, check_sizes, fixed, inferred, with_sizes
from tinygen.frontends.tflite.unsigned import as_signed, unsigned_tensors
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.limits import check_op, check_results
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ir.verify import verify
from tinygen.ops.fold import fold
from tinygen.ops.kept import keep

READERS: Readers = {
    **activation.READERS,
    **composite.READERS,
    **convolution.READERS,
    **elementwise.READERS,
    **logic.READERS,
    **matmul.READERS,
    **movement.READERS,
    **normalization.READERS,
    **pooling.READERS,
    **recurrent.READERS,
    **reduction.READERS,
    **resize.READERS,
    **shape.READERS,
    **slicing.READERS,
    **variables.READERS,
}
INTEGER_READERS: Readers = shape.INTEGER_READERS

_SHAPE_TYPES = (DType.INT32, DType.INT64)
_FOLDED_TYPES = (*_SHAPE_TYPES, DType.BOOL)  # while reading, since other readers ask for their values


def import_tflite(
    path: Path, stop_at: Sequence[str] = (), shapes: Mapping[str, tuple[int, ...]] | None = None
) -> Graph:
    """The graph of a TFLite file, up to the tensors `stop_at` where there are any.

    `shapes` are those of inputs whose sizes the file leaves open, by name: all shapes behind are inferred from them.

    Raises UnsupportedModelError for a damaged file, UnsupportedOperatorsError listing every operator that cannot be
    compiled.
    """
    model = read(path)
    subgraph = ending_at(path, with_sizes(path.name, model.subgraphs[0], shapes or {}), stop_at)
    _check_ours(path.name, subgraph)
    check_sizes(path.name, subgraph)
    tensors, problems = _tensors(subgraph, has_sizes=bool(shapes))
    types = {index: tensor.type for index, tensor in tensors.items()}  # as the application sees them
    unsigned = unsigned_tensors(subgraph, tensors)
    tensors |= {index: as_signed(tensors[index]) for index in unsigned}
    names = frozenset(raw.name for raw in subgraph.tensors)
    memory = KeptVariables.of(subgraph)
    ops: list[Op] = []
    folded = Account(FOLDED_BYTES)
    faults: list[UnsupportedOperator] = []
    dilated, removed = dilated_convolutions(subgraph, tensors)
    for raw in subgraph.operators:
        if raw.index in removed:
            continue
        try:
            around = dilated.get(raw.index)
            node = Node(around.of(raw) if around else raw, tensors, path.name, names, model, memory, unsigned, around)
            if shapes:
                results = inferred(node, model.subgraphs[0])
                tensors |= results
                types |= {index: replace(types[index], shape=result.shape) for index, result in results.items()}
            constant = restored(node, folded)
            if constant is not None:
                tensors[raw.outputs[0]] = constant
                continue
            remaining, known = fold(_read_operator(node, problems), folded, only=_FOLDED_TYPES)
            ops += remaining
            known |= node.same
            tensors |= {index: known[tensors[index]] for index in raw.outputs if tensors.get(index) in known}
        except UnknownSizeError as error:
            faults.append(UnsupportedOperator(raw.name, raw.index, _name(raw, subgraph), str(error)))
            break
        except ValueError as error:
            faults.append(UnsupportedOperator(raw.name, raw.index, _name(raw, subgraph), str(error)))
    if faults:
        raise UnsupportedOperatorsError(path.name, tuple(faults))
    with_states, states = keep(ops, memory.kept(), set(names))
    graph = Graph(
        path.stem,
        _inputs(model, subgraph.inputs, tensors, problems, types),
        tuple(_ports(model, subgraph.outputs, tensors, problems, types)),
        with_states,
        states=(*states, *(State(*pair) for op in ops for pair in op.carried)),
    )
    verify(graph, "import")
    return graph


def _check_ours(file: str, subgraph: RawSubgraph) -> None:
    custom = (raw.name.removeprefix(CUSTOM) for raw in subgraph.operators if raw.name.startswith(CUSTOM))
    check_not_compiled(file, custom)
    for index in (index for raw in subgraph.operators for index in (*raw.inputs, *raw.outputs) if index >= 0):
        check_is_real(file, subgraph.tensors[index].name, subgraph.tensors[index].type)


def _tensors(subgraph: RawSubgraph, has_sizes: bool) -> tuple[dict[int, Tensor], dict[int, str]]:
    """The tensors that the IR can hold, and for the others the reason why not; `has_sizes`: open sizes follow."""
    tensors: dict[int, Tensor] = {}
    problems: dict[int, str] = {}
    for raw in subgraph.tensors:
        try:
            tensors[raw.index] = to_tensor(fixed(raw) if has_sizes else raw)
        except UnsupportedError as error:
            problems[raw.index] = str(error)
    return tensors, problems


def _read_operator(node: Node, problems: dict[int, str]) -> tuple[Op, ...]:
    raw = node.raw
    if raw.name not in READERS and raw.name not in INTEGER_READERS:
        raise UnsupportedError("tinygen has no such operator")
    for index in (*raw.inputs, *raw.outputs):
        if index in problems and not (raw.name in variables.READERS and index in node.memory.handles):
            raise UnsupportedError(problems[index])
    computes_shape = raw.name in INTEGER_READERS and node.output().type.dtype in _SHAPE_TYPES
    reader = INTEGER_READERS[raw.name] if computes_shape else READERS.get(raw.name)
    if reader is None:
        raise UnsupportedError(f"output '{node.name}' is {node.output().type.dtype.value}, i32 or i64 was expected")
    read_ops = reader(node)
    ops = read_ops if isinstance(read_ops, tuple) else (read_ops,)
    for op in ops:
        check_results(op)
        op.verify()
        check_op(op)
    return ops


def _inputs(
    model: RawModel,
    indices: tuple[int, ...],
    tensors: dict[int, Tensor],
    problems: dict[int, str],
    types: dict[int, TensorType],
) -> tuple[Port, ...]:
    ports = tuple(_ports(model, indices, tensors, problems, types))
    for port in ports:
        if port.tensor.is_constant:
            raise UnsupportedModelError(
                f"{model.path.name}, input '{port.name}': is a constant, a tensor without data was expected. "
                "Convert the model again."
            )
    return ports


def _ports(
    model: RawModel,
    indices: tuple[int, ...],
    tensors: dict[int, Tensor],
    problems: dict[int, str],
    types: dict[int, TensorType],
) -> Iterator[Port]:
    for index in indices:
        if index in problems:
            raise UnsupportedModelError(f"{model.path.name}: {problems[index]}, as an input or output of the model.")
        yield Port(tensors[index].name, tensors[index], types[index])


def _name(raw: RawOperator, subgraph: RawSubgraph) -> str:
    return subgraph.tensors[raw.outputs[0]].name if raw.outputs else ""
