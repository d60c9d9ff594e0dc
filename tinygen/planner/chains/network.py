"""A graph as the splitting planner sees it: calls in order, tensors by the memory they live in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tinygen.budget import ROWS
from tinygen.ir.graph import Graph, Op
from tinygen.ir.planes import Planes, input_planes, output_planes
from tinygen.ir.rows import Rows, has_rows
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel
from tinygen.ops.channel_sum import ChannelSum, channel_sum
from tinygen.ops.running_sum import RunningSum, running_sum
from tinygen.planner.chains.demand import RowDemand
from tinygen.planner.chains.leads import LeadCache
from tinygen.planner.chains.slices import TileCache
from tinygen.planner.chains.strips import RingCache
from tinygen.planner.memory.sharing import Sharing


class Derived:
    """What follows from calls and ports, found when it is first asked for; kernels change nothing of it."""

    def __init__(
        self,
        graph: Graph,
        calls: tuple[Op, ...],
        sharing: Sharing,
        fetched: frozenset[Tensor],
        stored: tuple[Tensor, ...],
        planes: Sequence[Planes],
    ) -> None:
        self.graph, self.calls, self.sharing = graph, calls, sharing
        self.fetched, self.stored = fetched, stored
        self.input_tensors = _with_pixels(graph.input_tensors, planes)
        self.output_tensors = _with_pixels(graph.output_tensors, planes)

    def root(self, tensor: Tensor) -> Tensor:
        """The tensor whose memory holds `tensor`."""
        return self.sharing.root(tensor)[0]

    @cached_property
    def inputs(self) -> frozenset[Tensor]:
        """Roots that hold an input of the model before the first call."""
        return frozenset(self.root(tensor) for tensor in self.input_tensors) - self.fetched

    @cached_property
    def outputs(self) -> frozenset[Tensor]:
        """Roots that hold an output of the model after the last call."""
        kept = (t for t in self.output_tensors if not t.is_constant and t not in self.stored)
        return frozenset(self.root(tensor) for tensor in kept)

    @cached_property
    def lifetimes(self) -> dict[Tensor, tuple[int, int]]:
        """First and last call that touches each root; resident inputs from call 0 on, outputs up to the last."""
        found: dict[Tensor, tuple[int, int]] = {}
        touched = [(0, root) for root in map(self.root, self.input_tensors) if root in self.inputs]
        for index, op in enumerate(self.calls):
            touched += [(index, self.root(tensor)) for tensor in (*op.variable_operands, *op.results)]
        touched += [(len(self.calls) - 1, root) for root in self.outputs]
        for index, root in touched:
            first, last = found.get(root, (index, index))
            found[root] = min(first, index), max(last, index)
        return found

    @cached_property
    def private(self) -> frozenset[Tensor]:
        """Roots that hold only themselves and are neither input nor output of the model."""
        ports = {self.root(tensor) for tensor in self.input_tensors} | self.outputs
        return frozenset(r for r in self.lifetimes if r not in ports and not self.sharing.is_shared(r))

    @cached_property
    def apart(self) -> frozenset[Op]:
        """The calls whose operands and results all have memory of their own."""
        return frozenset(c for c in self.calls if self.sharing.own_their_memory((*c.variable_operands, *c.results)))

    @cached_property
    def sums(self) -> dict[Op, RunningSum]:
        """The calls that are averages over whole images."""
        found = ((op, running_sum(op)) for op in self.calls)
        return {op: sum for op, sum in found if sum is not None and 1 < sum.rows <= ROWS.most}

    @cached_property
    def channel_sums(self) -> dict[Op, ChannelSum]:
        """The calls that are products with all channels of their input."""
        found = ((op, channel_sum(op)) for op in self.calls)
        return {op: sum for op, sum in found if sum is not None}

    @cached_property
    def row_wise(self) -> frozenset[Op]:
        """The calls that can run row by row."""
        return frozenset(op for op in self.calls if op in self.sums or _has_tiles(op))


@dataclass(frozen=True, eq=False)
class Network:
    """The calls of a graph in order. Views have no call; the tensors of a view live in one root tensor."""

    graph: Graph
    calls: tuple[Op, ...]
    kernels: Mapping[Op, Kernel]
    sharing: Sharing
    derived: Derived
    fetched: frozenset[Tensor] = frozenset()  # inputs that the application gives by rows, or the pixels of their planes
    rereads_input: bool = False  # it gives them as often as wanted, and just some columns
    stored: tuple[Tensor, ...] = ()  # outputs that the application takes by rows, or the pixels of their planes
    at_ports: Mapping[Tensor, Planes] = field(default_factory=dict)  # by such pixels
    demand: RowDemand = field(default_factory=RowDemand)  # which rows the operators need
    copies: RingCache = field(default_factory=RingCache)
    tiles: TileCache = field(default_factory=TileCache)
    leads: LeadCache = field(default_factory=LeadCache)

    @classmethod
    def of(
        cls,
        graph: Graph,
        kernels: Mapping[Op, Kernel],
        fetches_input: bool,
        rereads_input: bool = False,
        stores_output: bool = False,
    ) -> "Network":
        """The network of a graph.

        Inputs that nobody reads, or that lie inside of other tensors, are not fetched; outputs that nothing computes
        are not stored. Operators between planes and pixels of what is fetched or stored are no calls.
        """
        planes = [*(input_planes(graph) if fetches_input else ()), *(output_planes(graph) if stores_output else ())]
        while True:
            sharing = Sharing(graph)
            at_ports = {each.pixels: each for each in planes}
            skipped = {each.op for each in planes}
            calls = tuple(op for op in graph.ops if op not in skipped and not sharing.add_view(op))
            read = {tensor for op in calls for tensor in op.variable_operands}
            inputs = _with_pixels(graph.input_tensors, planes) if fetches_input else ()
            fetched = frozenset(t for t in inputs if t in read and sharing.root(t)[0] is t)
            written = {sharing.root(tensor)[0] for op in calls for tensor in op.results}
            outputs = dict.fromkeys(_with_pixels(graph.output_tensors, planes) if stores_output else ())
            stored = tuple(t for t in outputs if sharing.root(t)[0] in written)
            if at_ports.keys() <= fetched | {*stored}:
                break
            planes = [each for each in planes if each.pixels in fetched or each.pixels in stored]
        derived = Derived(graph, calls, sharing, fetched, stored, planes)
        return cls(graph, calls, kernels, sharing, derived, fetched, rereads_input, stored, at_ports)

    def with_kernels(self, kernels: Mapping[Op, Kernel]) -> "Network":
        """The same with other kernels for some operators; what is derived from the graph is shared, as tensors are
        compared by identity and those of running sums are made there."""
        return replace(self, kernels={**self.kernels, **kernels})

    def knowing(self, other: "Network") -> "Network":
        """The same with what is known of another one of this graph with these ports: of its operators, and all that is
        derived from it, where the order is the same, too."""
        if self.calls == other.calls and (self.fetched, self.stored) == (other.fetched, other.stored):
            return other.with_kernels(self.kernels)
        return replace(self, demand=other.demand, copies=other.copies, tiles=other.tiles, leads=other.leads)

    def completed_by(self, tensor: Tensor) -> int:
        """The call after which all of a tensor is there: the one that computes it, or the last of what it views."""
        own = [index for index, op in enumerate(self.calls) if tensor in op.results]
        root = self.root(tensor)
        return own[0] if own else max(i for i, op in enumerate(self.calls) if root in map(self.root, op.results))

    def root(self, tensor: Tensor) -> Tensor:
        """The tensor whose memory holds `tensor`."""
        return self.sharing.root(tensor)[0]

    def input_port(self, tensor: Tensor) -> int:
        """Which input a fetched tensor is."""
        return self.derived.input_tensors.index(tensor)

    def output_port(self, tensor: Tensor) -> int:
        """Which output a stored tensor is."""
        return self.derived.output_tensors.index(tensor)

    def line_bytes(self, touch_bytes: int, tensor: Tensor, rows: int) -> int:
        """Of a row of a plane, where so many rows of pixels come from planes or go there; 0 where none is gathered."""
        planes = self.at_ports.get(tensor)
        return 0 if planes is None or planes.keeps_order else touch_bytes // rows // planes.count

    @property
    def inputs(self) -> frozenset[Tensor]:
        """Roots that hold an input of the model before the first call."""
        return self.derived.inputs

    @property
    def outputs(self) -> frozenset[Tensor]:
        """Roots that hold an output of the model after the last call."""
        return self.derived.outputs

    @property
    def lifetimes(self) -> dict[Tensor, tuple[int, int]]:
        """First and last call that touches each root; resident inputs from call 0 on, outputs up to the last."""
        return self.derived.lifetimes

    @property
    def private(self) -> frozenset[Tensor]:
        """Roots that hold only themselves and are neither input nor output of the model."""
        return self.derived.private

    @property
    def sums(self) -> dict[Op, RunningSum]:
        """The calls that are averages over whole images."""
        return self.derived.sums

    @property
    def channel_sums(self) -> dict[Op, ChannelSum]:
        """The calls that are products with all channels of their input."""
        return self.derived.channel_sums

    @property
    def row_wise(self) -> frozenset[Op]:
        """The calls that can run row by row."""
        return self.derived.row_wise


def _with_pixels(ports: Sequence[Tensor], planes: Iterable[Planes]) -> tuple[Tensor, ...]:
    """Inputs or outputs in the form in which the network has them."""
    pixels = {each.planes: each.pixels for each in planes}
    return tuple(pixels.get(tensor, tensor) for tensor in ports)


def _has_tiles(op: Op) -> bool:
    """Whether each row of the result can be computed on its own."""
    result = op.results[0]
    if len(op.results) != 1 or not has_rows(result) or result.shape[1] > ROWS.most:
        return False
    return all(
        has_rows(operand) and all(op.rows_needed(operand, Rows(row, row + 1)) for row in range(result.shape[1]))
        for operand in op.divided_operands
    )
