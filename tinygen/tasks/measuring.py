"""What a model costs: instructions, cycles, stack, code and constants."""

from dataclasses import dataclass, replace
from pathlib import Path

from tinygen.build.desk import Desk
from tinygen.errors import UsageError
from tinygen.kernels.base import Library
from tinygen.option import FLAG, TEXT, choice, option
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, without_hot_code
from tinygen.report.bench import Bench, bench, numbered, planned
from tinygen.report.counting import Counter, available_counter
from tinygen.report.desk import BoardCycles, on_desk
from tinygen.report.gain import operator_gains
from tinygen.report.hot_code import HotCodeGain, hot_code_gain
from tinygen.report.measurement import BenchReport
from tinygen.report.network import NetworkRow, network_rows
from tinygen.report.shares import Share
from tinygen.targets import Board
from tinygen.tasks.compiling import compiled_within
from tinygen.tasks.listener import SILENT, Listener
from tinygen.tasks.samples import seed_option


@dataclass(frozen=True)
class BenchRequest:
    """What is measured."""

    per_op: bool = option(False, FLAG, "--per-op", help="Count the instructions of each operator too.")
    compare: str | None = option(
        None, TEXT, "--compare", metavar="LIBRARY", help="Measure with these kernels too: cmsis-nn."
    )
    seed: int = seed_option()


def bench_model(
    model: Path, options: Options, asked: BenchRequest, desk: Desk | None = None, listener: Listener = SILENT
) -> BenchReport:
    """Measure one inference under QEMU; at a `desk` on its board too."""
    if desk is not None and asked.compare is not None:
        raise UsageError("--compare: is for QEMU, --port was not expected beside it. Leave one of them out.")
    library = None if asked.compare is None else choice(Library, "compare", asked.compare)
    compiled = compiled_within(model, options, listener)
    other = None
    if library is not None:
        other = compiled_within(model, replace(options, kernels=Kernels(library.value)), listener)
    with listener.progress(f"measuring {model.name}"):
        measured, board = _measured(compiled, asked, desk)
        reference = None if other is None else bench(other, asked.per_op, asked.seed)
        hot = _hot_code(compiled, measured, asked.seed)
    _say_how(measured, compiled.board, board, listener)
    return BenchReport(
        **vars(measured),
        model=compiled.source.name,
        target=compiled.board.name,
        kernels=compiled.kernels,
        opt=compiled.opt.value,
        board=board,
        compare=reference,
        reference=asked.compare or "",
        per_op_gain=() if reference is None else operator_gains(measured, reference),
        room=_room(compiled.board, measured),
        hot_code=hot,
        network=_network(compiled, measured),
    )


def _hot_code(compiled: Compiled, measured: Bench, seed: int) -> HotCodeGain | None:
    """What hot code gains over none, where a memory is named for it."""
    found = compiled.schedule.hot_code
    if found is None:
        return None
    before = None
    if found.files and compiled.board.flash is not None and measured.cycles_model is not None:
        before = bench(without_hot_code(compiled), seed=seed)
    return hot_code_gain(found, measured, before)


def _room(board: Board, measured: Bench) -> tuple[Share, ...]:
    """What was measured beside what the part has, where something was."""
    if measured.ram_bytes is None or measured.flash_bytes is None:
        return ()
    ram = sum(memory.usable_bytes for memory in board.rams)
    return (
        Share("RAM, with stack", measured.ram_bytes, ram, "bytes"),
        Share("flash", measured.flash_bytes, board.code_memory.usable_bytes, "bytes"),
    )


def _network(compiled: Compiled, measured: Bench) -> tuple[NetworkRow, ...]:
    """Its operators with what these take, where they were measured one by one."""
    if measured.instructions is None or not measured.per_op:
        return ()
    called = {call.whole for call in compiled.schedule.calls}
    ops = (op for op in numbered(compiled.schedule) if op in called)
    has_cycles = measured.cycles_model is not None
    taken = (each.cycles_model if has_cycles else each.instructions for each in measured.per_op)
    return network_rows(compiled.schedule, compiled.library, dict(zip(ops, taken, strict=True)))


def _measured(compiled: Compiled, asked: BenchRequest, desk: Desk | None) -> tuple[Bench, BoardCycles | None]:
    """On a board what it counts, and under QEMU where that has a machine for it."""
    if desk is None:
        return bench(compiled, asked.per_op, asked.seed), None
    is_modelled = compiled.board.qemu is not None and all(memory.emulated for memory in compiled.schedule.memories)
    modelled = bench(compiled, asked.per_op, asked.seed) if is_modelled else planned(compiled, asked.per_op)
    return on_desk(replace(compiled, desk=desk), modelled, asked.per_op, asked.seed)


def _say_how(measured: Bench, board: Board, on_board: BoardCycles | None, listener: Listener) -> None:
    if on_board is not None:
        return
    if measured.counted_by is not None:
        note_counter(board, listener)
    else:
        listener.note("Nothing is measured on the host: these bytes are planned. Name a board with -t.")


def note_counter(board: Board, listener: Listener) -> None:
    """Say so where something less than the plugin has counted."""
    counter, reason = available_counter(board)
    if counter is not Counter.PLUGIN:
        listener.note(f"Counted by {board.toolset.counter}, without cycles. {reason}")
