"""What of a network on a window can be kept from one window to the next."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import lcm

from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Graph, Op
from tinygen.ir.rows import Rows, all_rows
from tinygen.ir.tensor import Tensor
from tinygen.passes.streaming.reach import Reach, reaches


@dataclass(frozen=True, eq=False)
class Flow:
    """How values of a window move on when the window does.

    When the window moves by `columns`, row j of a streamed tensor becomes row j - columns / rate. Whatever is not
    streamed is computed anew from all rows that it reads.
    """

    graph: Graph
    reaches: Mapping[Op, Mapping[Tensor, Reach]]  # of the operators whose results are streamed
    rates: Mapping[Tensor, int]  # input columns per row, of streamed tensors
    columns: int

    @classmethod
    def of(cls, graph: Graph) -> "Flow":
        """The flow of a graph whose inputs all have rows; as few columns a call as the strides allow."""
        found: dict[Op, Mapping[Tensor, Reach]] = {}
        rates = dict.fromkeys(graph.input_tensors, 1)
        window = min(tensor.shape[1] for tensor in graph.input_tensors)
        for op in graph.ops:
            into = reaches(op)
            rate = _rate(op.results[0], into, rates) if into else None
            if into is not None and rate is not None and rate <= window:
                found[op] = into
                rates[op.results[0]] = rate
        if not found:
            raise UnsupportedModelError(
                f"{graph.name}: none of its operators works column by column along the axis of --stream, one was "
                "expected. Nothing could be kept from window to window: leave --stream out."
            )
        columns = lcm(*rates.values())
        if columns > window:
            raise UnsupportedModelError(
                f"{graph.name}: its strides fit {columns} columns a call, at most the {window} of its input were "
                "expected. Use strides that divide one another, or leave --stream out."
            )
        return cls(graph, found, rates, columns)

    def rows_per_call(self, tensor: Tensor) -> int:
        """By how many rows a streamed tensor moves on."""
        return self.columns // self.rates[tensor]

    def demand(self) -> dict[Tensor, Rows]:
        """The rows of streamed tensors that outputs depend on: of a streamed output, only those that are new.

        Raises UnsupportedModelError where they depend on padding.
        """
        needed: dict[Tensor, list[Rows]] = {tensor: [] for tensor in self.rates}
        for tensor in self.graph.output_tensors:
            if tensor in self.rates:
                needed[tensor].append(newest(all_rows(tensor), self.rows_per_call(tensor)))
        demands: dict[Tensor, Rows] = {}
        refused: list[str] = []
        for op in reversed(self.graph.ops):
            result = op.results[0]
            if op not in self.reaches:
                for operand in op.variable_operands:
                    if operand in needed:
                        needed[operand].append(all_rows(operand))
            elif needed[result]:
                demands[result] = _hull(needed[result])
                for operand, reach in self.reaches[op].items():
                    rows = reach.of(demands[result])
                    refused += _padding(op, operand, rows)
                    needed[operand].append(Rows(max(rows.first, 0), min(rows.end, operand.shape[1])))
        if refused:
            raise UnsupportedModelError(refused[-1])  # the first in execution order
        return demands | {t: _hull(needed[t]) for t in self.graph.input_tensors if needed[t]}


def newest(rows: Rows, count: int) -> Rows:
    """The last rows, all of them where there are fewer."""
    return Rows(max(rows.first, rows.end - count), rows.end)


def _rate(result: Tensor, into: Mapping[Tensor, Reach], rates: Mapping[Tensor, int]) -> int | None:
    """Input columns per row of a result; None where its operands are not streamed, or move at different rates.

    A single row is made anew by every call, so that it does not matter how its operator would go on.
    """
    if not all(operand in rates for operand in into):
        return None
    if result.shape[1] == 1:
        return max(rates[operand] for operand in into)
    found = {rates[operand] * reach.stride for operand, reach in into.items()}
    return found.pop() if len(found) == 1 else None


def _hull(rows: list[Rows]) -> Rows:
    return Rows(min(span.first for span in rows), max(span.end for span in rows))


def _padding(op: Op, operand: Tensor, rows: Rows) -> list[str]:
    """What is wrong with rows of an operand: nothing where none of them is padding."""
    before, after = max(0, -rows.first), max(0, rows.end - operand.shape[1])
    if not before and not after:
        return []
    return [
        f"{op.source}: its result depends on {before} rows of padding before and {after} behind its input, along the "
        "axis of --stream; none was expected. In a stream the signal itself stands there, so that results would not "
        "be those of the window. Train the model with VALID padding along that axis, or leave --stream out."
    ]
