"""How an operator runs: which C function, with which constants and how much scratch."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from math import inf
from typing import ClassVar, Protocol

from tinygen.ir.graph import Graph, Op, Source, Subgraph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.kernels.diagonal import Diagonal
from tinygen.kernels.packing import Packing
from tinygen.kernels.work import PLAIN_LOOPS, Loops, Work, elements, products
from tinygen.targets.isa import Isa


class Library(Enum):
    """Where the C functions come from."""

    CMSIS_NN = "cmsis-nn"
    PORTABLE = "portable"


class Objective(Enum):
    """What a plan is chosen for."""

    TIME = "time"
    RAM = "ram"
    SIZE = "size"
    BALANCED = "balanced"


PLAIN = -1  # growth of weights that stand in flash as the library's kernels read them
SQUEEZED = -2  # of those that stand there in the bits that blocks of them need
HUFFMAN = -3  # of those that stand there in the Huffman code that is decoded fastest
SHORTEST = -4  # of those that stand there in the shortest one
PACKED = frozenset({SQUEEZED, HUFFMAN, SHORTEST})  # of those that kernels unpack
IN_CALL = -5  # of filters that stand there as they are, and are transformed for tiles of Winograd's method in the call


class Planned(Protocol):
    """The plan of a subgraph: calls one after the other, in memory of its own."""

    @property
    def graph(self) -> Graph:
        """What was planned."""

    @property
    def arena_bytes(self) -> int:
        """Memory that it takes."""

    @property
    def arena_align(self) -> int:
        """Alignment of that memory."""

    def address(self, tensor: Tensor) -> int:
        """Where a value lies there."""


class ListingCache:
    """Kernels that can run operators, by what these depend on of a toolbox: the same for many that are made of one."""

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[Kernel, ...]] = {}

    def once(self, key: Hashable, listed: "Callable[[], tuple[Kernel, ...]]") -> "tuple[Kernel, ...]":
        """What was listed for `key`, or is now."""
        if key not in self._found:
            self._found[key] = listed()
        return self._found[key]


@dataclass(frozen=True)
class Toolbox:
    """What kernels may be chosen from."""

    library: Library
    isa: Isa
    objective: Objective = Objective.TIME
    has_native_kernels: bool = False  # tinygen's own, which `library` backs
    chooses_by_cost: bool = False  # native kernels only where they are cheaper than the library's
    tallest_tile: int = 0  # rows of outputs for Winograd's method; tall ones take more flash, 0 is without
    growths: tuple[
        tuple[Tensor | Source, int], ...
    ] = ()  # by the weights of layers, or where others stand, that have their own, which may be none of a tile's
    flash_price: float = 0.0  # instructions that a byte of flash is worth; 0: flash is not exchanged for time
    most_constants: int | None = None  # bytes, for which plans exchange more time where there is a price
    packs_constants: bool = False  # weights may be packed where they do not fit the flash otherwise
    works_in_place: bool = False  # results take the memory of operands where they can, even if that takes longer
    has_thumb2: bool = True  # Armv6-M has not: other costs, as native kernels are C there and CMSIS-NN lacks products
    templates: frozenset[tuple[str, str]] = frozenset()  # engines and their operators whose C the board's own print
    plans: frozenset[tuple[Graph, Planned]] = frozenset()  # of subgraphs
    uncertain: float = inf  # instructions, by which the estimate of a call may be off: what saves more than that pays
    listing_cache: ListingCache = field(default_factory=ListingCache, compare=False, repr=False)

    @property
    def mixes_kernels(self) -> bool:
        """Whether kernels of tinygen's own stand beside the library's wherever that helps."""
        return self.has_native_kernels or self.chooses_by_cost

    @property
    def is_only_portable(self) -> bool:
        """Whether the library's kernels are tinygen's portable ones, and parts of operators have no others."""
        return self.library is Library.PORTABLE and not self.mixes_kernels

    @property
    def of_library(self) -> "Toolbox":
        """Without kernels of tinygen's own, but for those of packed weights: a choice among fewer."""
        packed = tuple(growth for growth in self.growths if growth[1] in PACKED)
        return replace(self, has_native_kernels=False, chooses_by_cost=False, tallest_tile=0, growths=packed)

    @property
    def without_growth(self) -> "Toolbox":
        """With filters that stand in flash as native kernels without tiles read them."""
        return replace(self, tallest_tile=0, growths=())

    def tallest_tile_of(self, weights: Tensor | Source) -> int:
        """Rows of outputs for Winograd's method with these weights, or of what stands there without any; `PLAIN` for
        the library's kernels alone, one of `PACKED` for those that unpack them, `IN_CALL` for those that transform
        them."""
        return self._tallest_tiles.get(weights, self.tallest_tile)

    @cached_property
    def _tallest_tiles(self) -> Mapping[Tensor | Source, int]:
        return dict(self.growths)

    @property
    def native_depend_on(self) -> tuple[Hashable, ...]:
        """What native kernels depend on, beside `tallest_tile_of` an operator's weights."""
        return self.library, self.isa, self.has_thumb2

    @property
    def of_library_depends_on(self) -> tuple[Hashable, ...]:
        """What the library's kernels, and tinygen's own of other operators, depend on."""
        return *self.native_depend_on, self.mixes_kernels, self.works_in_place, self.templates, self.plans

    @property
    def has_dsp_kernels(self) -> bool:
        """Whether CMSIS-NN's variants for the DSP extension (without MVE) run."""
        return self.library is Library.CMSIS_NN and self.isa is Isa.DSP

    @property
    def has_mve_kernels(self) -> bool:
        """Whether CMSIS-NN's variants for MVE run."""
        return self.library is Library.CMSIS_NN and self.isa is Isa.MVE

    def plan_of(self, subgraph: Subgraph) -> Planned:
        """The plan of a subgraph; KeyError where it was not planned before the operator that runs it."""
        return dict(self.plans)[subgraph.graph]


@dataclass(frozen=True, eq=False)
class Table:
    """A constant array in flash; `name` is unique among the tables of one kernel."""

    name: str
    data: Array | Packing  # packed only where the elements are asked for
    whole: "Table | None" = None  # of several equal parts, one behind the other, where it is one of them
    part: int = 0  # which one

    @property
    def values(self) -> Array:
        """The elements: packed now, if they were not before."""
        return self.data.words if isinstance(self.data, Packing) else self.data

    @property
    def dtype(self) -> DType:
        """Element type."""
        return DType.INT32 if isinstance(self.data, Packing) else DType.of(self.data.dtype)

    @property
    def elements(self) -> int:
        """How many there are."""
        return self.data.elements if isinstance(self.data, Packing) else self.data.size

    @property
    def bytes(self) -> int:
        """What it takes of the flash."""
        return self.elements * self.dtype.bytes

    @property
    def stored(self) -> "Table":
        """The array that holds it."""
        return self.whole or self

    @property
    def first(self) -> int:
        """Its first element, in the array that holds it."""
        return self.part * self.elements


_LIBRARY_HEADER = "arm_nnfunctions.h"


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel:
    """One operator on one target: a candidate until a plan has it, so its tables are packed when they are first read.
    Subclasses add the parameters that their template prints.

    The template's runner takes pointers to `reads`, then to `writes`, then to scratch (NULL where `scratch_bytes` is 0)
    if it `takes_scratch`. Where their number varies, `reads_as_array` makes one array of the first ones, and
    `writes_as_array` of the second ones.
    """

    template: ClassVar[str]  # stem of the file in templates/ops
    header: ClassVar[str] = _LIBRARY_HEADER  # that declares the function
    other_headers: ClassVar[tuple[str, ...]] = ()  # that declare what else its template needs
    takes_scratch: ClassVar[bool] = False
    reads_as_array: ClassVar[bool] = False
    writes_as_array: ClassVar[bool] = False
    generated: ClassVar[tuple[str, ...]] = ()  # functions of the model's own file for `plans`, behind the layer's name
    takes_parts: ClassVar[bool] = False  # whether its template has runners for tables that are parts of others
    has_plain_runner: ClassVar[bool] = False  # that does no more than to call the function

    function: str
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    tables: tuple[Table, ...] = ()
    scratch_bytes: int = 0
    scratch_align: int = 4
    updates: tuple[Tensor, ...] = ()  # operands read through the pointers to the first results, which must lie there
    in_place: tuple[Tensor, ...] = ()  # operands whose memory the (single) result may take over, element by element
    diagonal: Diagonal | None = None  # how the result may lie over the first operand, where it is not in its place
    loops: Loops = PLAIN_LOOPS  # how it multiplies, where `work` is not its own
    plans: tuple[Planned, ...] = ()  # of the subgraphs that it runs in its scratch

    @property
    def is_own(self) -> bool:
        """Whether its C function is tinygen's, whichever library is linked."""
        return self.header != _LIBRARY_HEADER

    @property
    def gives_way(self) -> tuple[Tensor, ...]:
        """Operands whose memory the result may take over, all of it or in part."""
        return self.reads[:1] if self.diagonal else self.in_place

    @property
    def is_priced_by_cycles(self) -> bool:
        """Whether instructions would mislead: its price is that of as many as take its modelled cycles elsewhere."""
        return False

    @property
    def runner(self) -> str:
        """The generated function that makes the call: another one for each way to call the same function."""
        return f"run_{self.function}"

    @property
    def runs(self) -> tuple[float, ...]:
        """About how often a call runs each of the `plans`."""
        return ()

    @property
    def layout(self) -> str | None:
        """What its first table holds, in order, for a comment; None where the table's name says it."""
        return None

    @property
    def callees(self) -> tuple[str, ...]:
        """C functions that it needs besides `function`."""
        return ()

    @property
    def templates(self) -> tuple[str, ...]:
        """Its template, and those of kernels whose descriptions its own holds."""
        return (self.template,)

    @property
    def priced_as(self) -> str:
        """Whose prices its work has: the function's, or those of one of its ways."""
        return self.function

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """What a call does that computes rows of the result of `op`, or some columns of them; without numbers all."""
        if op.macs:
            return products(self.priced_as, op, self.loops, rows, columns)
        return elements(self.priced_as, op, rows, columns)

    def works(self, op: Op, rows: int | None = None, columns: int | None = None) -> tuple[Work, ...]:
        """The same, of all ways among which its lowering takes the cheapest for so many rows and columns."""
        return (self.work(op, rows, columns),)

    def table(self, name: str) -> Table:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)

    def has_table(self, name: str) -> bool:
        """Whether there is a table of that name."""
        return any(table.name == name for table in self.tables)


def constant_tables(*operands: Tensor) -> tuple[Table, ...]:
    """Tables of those operands that are constants, for kernels that read them as any other operand."""
    return tuple(Table(f"operand_{n}", tensor.data) for n, tensor in enumerate(operands) if tensor.data is not None)


Lowering = Callable[[Op, Toolbox], Kernel | tuple[Kernel, ...]]  # several: see `select.variants`
Lowerings = Mapping[type[Op], Lowering]


def united(*tables: Lowerings) -> dict[type[Op], Lowering]:
    """One table of several; ValueError where two of them have the same operator."""
    found: dict[type[Op], Lowering] = {}
    for table in tables:
        twice = found.keys() & table.keys()
        if twice:
            raise ValueError(f"{', '.join(sorted(kind.__name__ for kind in twice))}: lowered twice, once was expected")
        found |= table
    return found
