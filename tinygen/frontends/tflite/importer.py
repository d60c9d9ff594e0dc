"""From a TFLite file to a graph."""

from collections.abc import Iterator
from pathlib import Path

from tinygen.errors import UnsupportedModelError, UnsupportedOperator, UnsupportedOperatorsError
from tinygen.frontends.tflite.node import Node, Readers, Unsupported, to_tensor
from tinygen.frontends.tflite.operators import convolution, elementwise, normalization, pooling, shape
from tinygen.frontends.tflite.raw import RawModel, RawOperator, RawSubgraph
from tinygen.frontends.tflite.schema import read
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.verify import verify

READERS: Readers = {
    **convolution.READERS,
    **elementwise.READERS,
    **normalization.READERS,
    **pooling.READERS,
    **shape.READERS,
}


def import_tflite(path: Path) -> Graph:
    """The graph of a TFLite file.

    Raises UnsupportedModelError for a damaged file, UnsupportedOperatorsError listing every operator that cannot be
    compiled.
    """
    model = read(path)
    subgraph = model.subgraphs[0]
    tensors, problems = _tensors(subgraph)
    ops: list[Op] = []
    faults: list[UnsupportedOperator] = []
    for raw in subgraph.operators:
        try:
            ops.append(_read_operator(raw, tensors, problems, path.name))
        except ValueError as error:
            faults.append(UnsupportedOperator(raw.name, raw.index, _name(raw, subgraph), str(error)))
    if faults:
        raise UnsupportedOperatorsError(path.name, tuple(faults))
    graph = Graph(
        path.stem,
        tuple(_ports(model, subgraph.inputs, tensors, problems)),
        tuple(_ports(model, subgraph.outputs, tensors, problems)),
        tuple(ops),
    )
    verify(graph, "import")
    return graph


def _tensors(subgraph: RawSubgraph) -> tuple[dict[int, Tensor], dict[int, str]]:
    """The tensors that the IR can hold, and for the others the reason why not."""
    tensors: dict[int, Tensor] = {}
    problems: dict[int, str] = {}
    for raw in subgraph.tensors:
        try:
            tensors[raw.index] = to_tensor(raw)
        except Unsupported as error:
            problems[raw.index] = str(error)
    return tensors, problems


def _read_operator(raw: RawOperator, tensors: dict[int, Tensor], problems: dict[int, str], file: str) -> Op:
    reader = READERS.get(raw.name)
    if reader is None:
        raise Unsupported("tinygen has no such operator")
    for index in (*raw.inputs, *raw.outputs):
        if index in problems:
            raise Unsupported(problems[index])
    op = reader(Node(raw, tensors, file))
    op.verify()
    return op


def _ports(
    model: RawModel, indices: tuple[int, ...], tensors: dict[int, Tensor], problems: dict[int, str]
) -> Iterator[Port]:
    for index in indices:
        if index in problems:
            raise UnsupportedModelError(
                f"{model.path.name}: {problems[index]}, as an input or output of the model."
            )
        yield Port(tensors[index].name, tensors[index], tensors[index].type)


def _name(raw: RawOperator, subgraph: RawSubgraph) -> str:
    return subgraph.tensors[raw.outputs[0]].name if raw.outputs else ""
