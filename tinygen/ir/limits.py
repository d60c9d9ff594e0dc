"""What graphs may hold: by the budget, and something in each tensor."""

import numpy as np

from tinygen.budget import ACTIVATION_BYTES, OPERATORS, TENSOR_BYTES, WORKING_ELEMENTS
from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Graph, Op


def check_results(op: Op) -> None:
    """Raise BudgetError where results of an operator are too large, whether it is well formed or not."""
    for result in op.results:
        TENSOR_BYTES.check(result.type.bytes, str(op.source))


def check_op(op: Op) -> None:
    """Raise BudgetError where results of a well-formed operator, or what its reference holds, are too large."""
    check_results(op)
    WORKING_ELEMENTS.check(op.working_elements, str(op.source))


def check_read(op: Op) -> None:
    """Raise ValueError where an operator of a file is not well formed, BudgetError where it is too large.

    Quotients of scales that no float32 holds are infinite, without a warning: operators refuse them.
    """
    check_results(op)
    with np.errstate(all="ignore"):
        op.verify()
    check_op(op)


def check_graph(graph: Graph) -> None:
    """Raise BudgetError where there are too many operators, or too large tensors, one by one or together.

    UnsupportedModelError where a tensor that is computed or given has no elements. Subgraphs count with the graph.
    """
    OPERATORS.check(graph.operators_in_all, graph.name)
    for port in (*graph.inputs, *graph.outputs):
        where = f"{graph.name}, input or output '{port.name}'"
        TENSOR_BYTES.check(port.external.bytes, where)
        _check_elements(port.external.shape, where)
    for op in graph.ops:
        check_results(op)
        for result in op.results if op.variable_operands else ():  # of constants alone they become a constant
            _check_elements(result.shape, str(op.source))
    ACTIVATION_BYTES.check(graph.activation_bytes_in_all, graph.name)


def _check_elements(shape: tuple[int, ...], where: str) -> None:
    if 0 in shape:
        raise UnsupportedModelError(
            f"{where}: has shape {list(shape)}, at least one element was expected. Make the model for other sizes."
        )
