"""Functions of a model: operators that the file itself defines by others."""

from collections.abc import Iterable, Mapping

from onnx import FunctionProto, ModelProto, NodeProto
from onnx.inliner import inline_local_functions

from tinygen.frontends.onnx.raw import UnsupportedError

_MAX_NODES = 100_000  # functions that call others could ask for any number of them
_MAX_DEPTH = 32

Key = tuple[str, str]  # domain and name


def inlined(model: ModelProto) -> ModelProto:
    """The model with its functions' operators in the place of their calls; UnsupportedError for too many of them."""
    if not model.functions:
        return model
    functions = {(function.domain, function.name): function for function in model.functions}
    if _size(model.graph.node, functions, {}, 0) > _MAX_NODES:
        raise UnsupportedError(f"its functions stand for over {_MAX_NODES} operators")
    try:
        return inline_local_functions(model)
    except (RuntimeError, ValueError) as error:
        raise UnsupportedError(f"its functions cannot be inlined ({str(error).strip().splitlines()[0]})") from None


def _size(nodes: Iterable[NodeProto], functions: Mapping[Key, FunctionProto], known: dict[Key, int], depth: int) -> int:
    """How many operators nodes stand for."""
    if depth > _MAX_DEPTH:
        raise UnsupportedError("its functions call each other without end")
    total = 0
    for node in nodes:
        key = (node.domain, node.op_type)
        if key not in functions:
            total += 1
            continue
        if key not in known:
            known[key] = min(_size(functions[key].node, functions, known, depth + 1), _MAX_NODES + 1)
        total += known[key]
    return total
