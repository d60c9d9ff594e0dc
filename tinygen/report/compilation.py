"""What was generated: the document of `tinygen compile`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from tinygen.option import Written
from tinygen.passes.shrinking.saving import NOTHING_SAVED, Saving
from tinygen.planner.joint import Joint
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import HotCode, Schedule
from tinygen.quant.accuracy import ScoredAccuracy
from tinygen.report.dynamic import DynamicSummary
from tinygen.report.engines import Explanation
from tinygen.report.hot_code import HotCodeSummary, hot_code_summary
from tinygen.report.operators import extra_macs, kernel_functions
from tinygen.report.picture import Picture
from tinygen.report.result import Result
from tinygen.report.saved import saved_rows
from tinygen.report.shares import Share, room_picture, shrunk_pictures
from tinygen.report.stream import StreamSummary, stream_rows, stream_summary
from tinygen.report.table import ShownTable, count, facts, listing, size


@dataclass(frozen=True, kw_only=True, repr=False)
class Folder(Result):
    """What is in an output folder, and what it needs."""

    name: str
    target: str
    files: tuple[str, ...]  # relative to the output folder
    arena_bytes: int
    arena_limit_bytes: int
    const_bytes: int
    macs: int
    extra_macs: int
    kernels: Mapping[str, str]  # function by operator; of several networks by network and operator

    @property
    def headers(self) -> tuple[str, ...]:
        """Those that users include."""
        return (f"{self.name}.h",)


@dataclass(frozen=True, kw_only=True, repr=False)
class Compilation(Folder):
    """A model's C and what it needs."""

    model: str  # file name
    library: str
    options: Mapping[str, Written]  # that were chosen, by keyword of `tinygen.compile`
    solver: str  # that placed the buffers
    stream: StreamSummary | None
    saved_macs: int  # by shrinking the graph
    saved_const_bytes: int
    engines: Explanation | None  # where it was asked for
    dynamic: DynamicSummary | None  # what is quantized at run time, where that was asked for
    accuracy: ScoredAccuracy | None  # of labelled samples that it was calibrated with
    hot_code: HotCodeSummary | None  # where a memory was named for it

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The summary, and the kernels."""
        return facts(f"{self.model} for {self.target}", _rows(self)), kernel_table(self)

    @property
    def room(self) -> tuple[Share, ...]:
        """Its memory beside that of the part."""
        return (Share("RAM: arena", self.arena_bytes, self.arena_limit_bytes, "bytes"),)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """What it takes of the part, and what shrinking has saved."""
        shrunk = shrunk_pictures(self.macs, self.const_bytes, self.saved_macs, self.saved_const_bytes)
        return room_picture(self.room), *shrunk


@dataclass(frozen=True, kw_only=True, repr=False)
class JointCompilation(Folder):
    """The C of several networks in one folder, and what they need together."""

    together: tuple[tuple[str, ...], ...]  # pairs of networks that may interrupt each other
    offsets: Mapping[str, Mapping[str, int]]  # of each network's arena, by memory
    networks: tuple[Compilation, ...]  # as each is alone, without hot code
    hot_code: HotCodeSummary | None  # of all networks, where a memory was named for it

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The summary, then each network alone."""
        return _joint_facts(self, ()), *(network.tables[0] for network in self.networks)

    @property
    def headers(self) -> tuple[str, ...]:
        """Those that users include."""
        return (f"{self.name}.h", *(f"{network.name}.h" for network in self.networks))


@dataclass(frozen=True, repr=False)
class CoresCompilation(Result):
    """The C for each core of a microcontroller in one folder."""

    name: str
    target: str  # as it was asked for
    files: tuple[str, ...]  # relative to the output folder
    cores: tuple[Compilation | JointCompilation, ...]  # as each is alone

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The summary of each core."""
        return tuple(core.tables[0] for core in self.cores)


def cores_table(compilation: CoresCompilation, folder: Path) -> ShownTable:
    """The summary of all cores, with the folder that was written."""
    rows = [
        ("name", compilation.name),
        *chain.from_iterable(_core_rows(core) for core in compilation.cores),
        ("files", f"{len(compilation.files)} in {folder}"),
    ]
    return facts(f"{compilation.name} for the {len(compilation.cores)} cores of {compilation.target}", rows)


def _core_rows(core: Compilation | JointCompilation) -> Iterator[tuple[str, str]]:
    yield core.target, f"arena {size(core.arena_bytes)}, constants {size(core.const_bytes)}"
    for name, text in _hot_code_rows(core.hot_code):
        yield f"{core.target}: {name}", text


def report_joint(
    name: str,
    joint: Joint,
    networks: tuple[Compilation, ...],
    files: Iterable[str],
    arena_limit_bytes: int,
    hot_code: HotCode | None = None,
) -> JointCompilation:
    """The report on several networks with the files of their folder."""
    offsets: dict[str, dict[str, int]] = {}
    for (network, memory), offset in joint.offsets.items():
        offsets.setdefault(network, {})[memory] = offset
    return JointCompilation(
        name=name,
        target=networks[0].target,
        files=tuple(sorted(files)),
        arena_bytes=joint.arena_bytes,
        arena_limit_bytes=arena_limit_bytes,
        const_bytes=sum(network.const_bytes for network in networks),
        macs=sum(network.macs for network in networks),
        extra_macs=sum(network.extra_macs for network in networks),
        kernels={f"{n.name}/{operator}": kernel for n in networks for operator, kernel in n.kernels.items()},
        together=tuple(tuple(sorted(pair)) for pair in sorted(joint.together, key=sorted)),
        offsets=offsets,
        networks=tuple(replace(network, hot_code=None) for network in networks),
        hot_code=hot_code_summary(hot_code),
    )


def joint_table(compilation: JointCompilation, folder: Path) -> ShownTable:
    """The summary of several networks, with the folder that was written."""
    return _joint_facts(compilation, [("files", f"{len(compilation.files)} in {folder}")])


def _joint_facts(compilation: JointCompilation, more: Iterable[tuple[str, str]]) -> ShownTable:
    alone = sum(network.arena_bytes for network in compilation.networks)
    rows = [
        ("name", compilation.name),
        *((each.name, f"{size(each.arena_bytes)} of memory, from {each.model}") for each in compilation.networks),
        ("arena", f"{size(compilation.arena_bytes)} for all, {size(alone)} side by side"),
        ("constants", f"{size(compilation.const_bytes)}, without layer parameters"),
        *_hot_code_rows(compilation.hot_code),
        *more,
    ]
    return facts(f"{len(compilation.networks)} networks for {compilation.target}", rows)


def report_compilation(
    schedule: Schedule,
    name: str,
    model: Path,
    library: str,
    files: Iterable[str],
    arena_limit_bytes: int,
    saved: Saving = NOTHING_SAVED,
    options: Mapping[str, Written] = MappingProxyType({}),
    hot_code: HotCode | None = None,
) -> Compilation:
    """The report on a compiled model with its files."""
    return Compilation(
        name=name,
        model=model.name,
        target=schedule.board.name,
        library=library,
        options=options,
        solver=schedule.solver.value,
        files=tuple(sorted(files)),
        arena_bytes=schedule.arena_bytes,
        arena_limit_bytes=arena_limit_bytes,
        const_bytes=const_bytes(schedule),
        macs=schedule.graph.macs,
        extra_macs=extra_macs(schedule),
        kernels=kernel_functions(schedule),
        stream=stream_summary(schedule),
        saved_macs=saved.macs,
        saved_const_bytes=saved.const_bytes,
        engines=None,
        dynamic=None,
        accuracy=None,
        hot_code=hot_code_summary(hot_code),
    )


def compilation_table(compilation: Compilation, folder: Path) -> ShownTable:
    """The summary, with the folder that was written."""
    rows = [*_rows(compilation), ("files", f"{len(compilation.files)} in {folder}")]
    return facts(f"{compilation.model} for {compilation.target}", rows)


def kernel_table(compilation: Compilation) -> ShownTable:
    """The function of each operator."""
    return listing(("operator", "kernel"), compilation.kernels.items(), "Kernels")


def _rows(compilation: Compilation) -> list[tuple[str, str]]:
    functions = len(set(compilation.kernels.values()))
    return [
        ("name", compilation.name),
        ("arena", f"{size(compilation.arena_bytes)}, fits into {count(compilation.arena_limit_bytes)}"),
        ("solver", compilation.solver),
        ("constants", f"{size(compilation.const_bytes)}, without layer parameters"),
        ("MACs", count(compilation.macs)),
        *saved_rows(compilation.saved_macs, compilation.saved_const_bytes),
        *stream_rows(compilation.stream),
        ("kernels", f"{compilation.library}, {len(compilation.kernels)} calls of {functions} functions"),
        *_hot_code_rows(compilation.hot_code),
    ]


def _hot_code_rows(found: HotCodeSummary | None) -> Iterable[tuple[str, str]]:
    return () if found is None else found.rows
