"""Selection from a table that is too large to be stored as a whole: its rows are quantized as they are chosen."""

from dataclasses import dataclass

from tinygen.ir.graph import Graph, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_stored
from tinygen.ops.gather import Gather
from tinygen.ops.quantize import stored

MOST_STORED = 1 << 26  # elements of all tables of a network that are stored as a whole


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRows(Gather):
    """output = stored(input[indices]): the input is a float32 constant, the output int8 or int16.

    The same values, to the bit, as a Gather from the stored table. For the simulator: no C has such a table.
    """

    def check_types(self) -> None:
        check_dtype("input", self.input, DType.FLOAT32)
        check_stored("output", self.output)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        (rows,) = super().evaluate(values)
        assert self.output.type.quant is not None
        return (stored(rows, self.output.type.quant, self.output.type.dtype),)


def large_tables(graph: Graph) -> frozenset[Tensor]:
    """The float32 constants that are only ever selected from, where together they have over MOST_STORED elements."""
    found = {op.input for op in graph.ops if isinstance(op, Gather) and op.input.is_constant and _is_real(op.input)}
    others = {
        tensor for op in graph.ops for tensor in op.operands if not isinstance(op, Gather) or tensor is op.indices
    }
    tables = found - others - set(graph.output_tensors)
    return frozenset(tables) if sum(table.type.elements for table in tables) > MOST_STORED else frozenset()


def _is_real(tensor: Tensor) -> bool:
    return tensor.type.dtype.is_real
