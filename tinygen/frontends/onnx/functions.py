"""Functions of a model: operators that the file itself defines by others."""

from collections.abc import Callable, Iterable, Mapping

from onnx import FunctionProto, ModelProto, NodeProto
from onnx.inliner import inline_local_functions

from tinygen.budget import CONSTANT_BYTES, NODES
from tinygen.frontends.onnx.raw import UnsupportedError

_MAX_DEPTH = 32

Key = tuple[str, str]  # domain and name


def inlined(model: ModelProto, name: str) -> ModelProto:
    """The model of a file with its functions' operators in the place of their calls.

    BudgetError for too many operators, or bytes of them; UnsupportedError where functions are wrong.
    """
    functions = {(function.domain, function.name): function for function in model.functions}
    where = f"{name}, its functions in the place of their calls"
    NODES.check(_sum(model.graph.node, functions, {}, lambda _: 1), where if functions else name)
    if not functions:
        return model
    CONSTANT_BYTES.check(_sum(model.graph.node, functions, {}, lambda node: int(node.ByteSize())), where)
    try:
        return inline_local_functions(model)
    except (RuntimeError, ValueError) as error:
        raise UnsupportedError(f"its functions cannot be inlined ({str(error).strip().splitlines()[0]})") from None


def _sum(
    nodes: Iterable[NodeProto],
    functions: Mapping[Key, FunctionProto],
    known: dict[Key, int],
    weigh: Callable[[NodeProto], int],
    depth: int = 0,
) -> int:
    """What the operators weigh that nodes stand for."""
    if depth > _MAX_DEPTH:
        raise UnsupportedError("its functions call each other without end")
    total = 0
    for node in nodes:
        key = (node.domain, node.op_type)
        if key not in functions:
            total += weigh(node)
            continue
        if key not in known:
            known[key] = _sum(functions[key].node, functions, known, weigh, depth + 1)
        total += known[key]
    return total
