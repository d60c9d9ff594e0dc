"""What a measurement found: the document and tables of `tinygen bench`."""

from collections.abc import Iterable
from dataclasses import dataclass

from tinygen.report.bench import Bench, ComparedOutputs, OperatorBench
from tinygen.report.desk import BoardCycles, desk_tables
from tinygen.report.flash import flash_picture, symbol_leaves
from tinygen.report.gain import OperatorGain, gain_table
from tinygen.report.hot_code import HotCodeGain
from tinygen.report.network import NetworkRow, network_picture
from tinygen.report.picture import Picture
from tinygen.report.result import Result
from tinygen.report.shares import Share, cost_picture, room_picture
from tinygen.report.table import ShownTable, count, cycles, facts, listing, modelled, short_name, size

_SHOWN_KINDS = 3


@dataclass(frozen=True, repr=False, kw_only=True)
class BenchReport(Result, Bench):
    """The result of `tinygen bench`."""

    model: str  # file name
    target: str
    kernels: str
    opt: str  # optimisation level of the C compiler
    board: BoardCycles | None = None  # what a board on the desk has counted
    compare: Bench | None = None  # the same with other kernels
    reference: str = ""  # whose these are
    per_op_gain: tuple[OperatorGain, ...] = ()  # over these, where operators were measured
    room: tuple[Share, ...] = ()  # RAM with the stack, and flash, of the part's
    hot_code: HotCodeGain | None = None  # where a memory was named for it
    network: tuple[NetworkRow, ...] = ()  # with operators; its costs are cycles, or instructions without a model

    @property
    def title(self) -> str:
        """What was measured."""
        return f"{self.model} on {self.target}, {self.kernels} kernels, -O{self.opt}"

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The totals, those of a board first; the operators, and other kernels, where they were asked for."""
        on_desk = [] if self.board is None else desk_tables(self.title, self.board, self)
        hot = () if self.hot_code is None else self.hot_code.rows
        made = [*on_desk, bench_table(self.title, self, hot)]
        if self.per_op and self.board is None:
            made.append(operator_bench_table(self.per_op))
        if self.per_op_gain:
            made.append(gain_table(self.per_op_gain, self.reference))
        if self.compare is not None:
            made.append(comparison_table(f"Reference: {self.reference}", self, self.compare))
        return tuple(made)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The network, time by operator and what is in flash, where operators were measured; the part's room."""
        room = (room_picture(self.room),) if self.room else ()
        if not self.network:
            return room
        unit = "instructions" if self.cycles_model is None else modelled(self.cycles_band)
        explains = f"Constants of the network and functions, as they are linked: {size(self.flash_bytes)}."
        return (
            network_picture(self.network, unit),
            cost_picture(self.network, unit),
            *([flash_picture(symbol_leaves(self.symbols), explains)] if self.symbols else []),
            *room,
        )


def bench_table(title: str, measured: Bench, more: Iterable[tuple[str, str]] = ()) -> ShownTable:
    """The numbers of one model on one target, and what else is to be said."""
    reads = (("flash reads", measured.flash_fetches, _fetches(measured)),) if measured.flash_fetches is not None else ()
    rows = (
        ("instructions", measured.instructions, f"{count(measured.instructions)} per inference"),
        ("modelled cycles", measured.cycles_model, f"{_cycles(measured)} (docs/cycles.md)"),
        *reads,
        ("arena", measured.arena_bytes, size(measured.arena_bytes)),
        ("stack", measured.stack_bytes, size(measured.stack_bytes)),
        ("RAM", measured.ram_bytes, size(measured.ram_bytes)),
        ("code", measured.code_bytes, size(measured.code_bytes)),
        ("constants", measured.const_bytes, _constants(measured)),
        ("flash", measured.flash_bytes, size(measured.flash_bytes)),
    )
    outputs = [] if measured.outputs is None else [("outputs", _compared(measured.outputs))]
    is_host = measured.counted_by is None
    shown = (row for row in rows if row[1] is not None or not is_host)
    return facts(title, [*((name, _measured(number, text)) for name, number, text in shown), *more, *outputs])


def operator_bench_table(operators: tuple[OperatorBench, ...]) -> ShownTable:
    """Instructions and cycles of each operator, and the kinds of instructions that take most of its time."""
    rows = (
        (
            operator.operator,
            short_name(operator.name),
            operator.kernel,
            "" if operator.instructions is None else operator.instructions,
            "" if operator.cycles_model is None else cycles(operator.cycles_model, operator.cycles_band),
            operator.macs,
            "" if not operator.instructions or not operator.macs else f"{operator.instructions / operator.macs:.2f}",
            _most_frequent(operator),
        )
        for operator in operators
    )
    titles = ("operator", "name", "kernel", "instructions", "cycles", "MACs", "per MAC", "most frequent")
    return listing(titles, rows, "Operators")


def _most_frequent(operator: OperatorBench) -> str:
    """The kinds that make most instructions, with their shares."""
    most = sorted(operator.histogram.items(), key=lambda item: -item[1])[:_SHOWN_KINDS]
    return ", ".join(f"{kind} {number / (operator.instructions or 1):.0%}" for kind, number in most)


def comparison_table(title: str, measured: Bench, reference: Bench) -> ShownTable:
    """The same numbers with the other kernels, and the ratio to them."""
    numbers = (
        ("instructions", measured.instructions, reference.instructions),
        ("stack", measured.stack_bytes, reference.stack_bytes),
        ("code", measured.code_bytes, reference.code_bytes),
    )
    rows = [(name, count(own), count(other), _ratio(own, other)) for name, own, other in numbers]
    ratio = _ratio(measured.cycles_model, reference.cycles_model)
    rows.insert(1, ("modelled cycles", _cycles(measured), _cycles(reference), ratio))
    return listing(("", "this", "reference", "ratio"), rows, title)


def _cycles(measured: Bench) -> str:
    return cycles(measured.cycles_model, measured.cycles_band)


def _fetches(measured: Bench) -> str:
    return f"{count(measured.flash_fetches)} that miss the caches, {count(measured.flash_data_fetches)} of data"


def _compared(outputs: ComparedOutputs) -> str:
    found = "equal to" if not outputs.mismatches else f"{count(outputs.mismatches)} of them not within the tolerance of"
    return f"{count(outputs.elements)} values, {count(outputs.distinct)} distinct, {found} the references'"


def _constants(measured: Bench) -> str:
    """The tables are what `tinygen compile` and `inspect` show; structs of parameters are known to a compiler only."""
    if measured.code_bytes is None:
        return f"{size(measured.table_bytes)}, without layer parameters"
    parameters = measured.const_bytes - measured.table_bytes
    return f"{size(measured.const_bytes)}: {count(measured.table_bytes)} tables, {count(parameters)} layer parameters"


def _measured(number: int | None, text: str) -> str:
    return "not measured on this target" if number is None else text


def _ratio(own: int | None, other: int | None) -> str:
    return f"{own / other:.2f}" if own is not None and other else "-"
