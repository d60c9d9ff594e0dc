"""From a model file to C, and to a program that runs: the stages in order."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tinygen import passes, paths
from tinygen.build.bundle import bundle
from tinygen.build.execute import Execution, Sample, execute
from tinygen.build.firmware import Image, Limits, build_firmware
from tinygen.build.kernel_sources import SourceTree, kernel_library, native, operators
from tinygen.build.toolchain import Opt, Sanitizer, for_board
from tinygen.codegen.c_text import checked_identifier, model_identifier
from tinygen.codegen.harness import Measure
from tinygen.codegen.project import ProjectKind
from tinygen.codegen.render import render
from tinygen.errors import UsageError
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.planner import fit
from tinygen.planner.plan import CurvePoint, Request, curve, plan
from tinygen.planner.schedule import Schedule
from tinygen.planner.spill import rooms
from tinygen.targets import Board, load


class Kernels(Enum):
    """What the option --kernels asks for."""

    AUTO = "auto"
    CMSIS_NN = "cmsis-nn"
    PORTABLE = "portable"
    NATIVE = "native"


@dataclass(frozen=True)
class Options:
    """Everything that decides what is generated."""

    target: str = "host"
    name: str | None = None
    ram_bytes: int | None = None  # that the arena may take
    flash_bytes: int | None = None
    objective: Objective = Objective.TIME
    may_split: bool = True
    fetches_input: bool = False
    kernels: Kernels = Kernels.AUTO
    cmsis_nn: Path | None = None
    opt: Opt | None = None


@dataclass(frozen=True)
class Compiled:
    """A model with its plan and its C text."""

    source: Path
    name: str
    options: Options
    imported: Graph
    schedule: Schedule
    library: Library
    files: dict[str, str] = field(repr=False)  # the model's C, by file name

    @property
    def graph(self) -> Graph:
        """The network after all passes."""
        return self.schedule.graph

    @property
    def board(self) -> Board:
        """The target."""
        return self.schedule.board

    @property
    def opt(self) -> Opt:
        """The C compiler's optimisation level."""
        default = Opt.SIZE if self.options.objective is Objective.SIZE else Opt.TWO
        return self.options.opt or default

    @property
    def kernels(self) -> str:
        """What its kernels are, as messages and reports name it."""
        return Kernels.NATIVE.value if self.toolbox.has_native_kernels else self.library.value

    @property
    def toolbox(self) -> Toolbox:
        """What its kernels are chosen from."""
        return _toolbox(self.board, self.library, self.options)

    @property
    def arena_limit_bytes(self) -> int:
        """What the arena may take, or all arenas together where there are several."""
        room = fit.room_bytes(self.schedule)
        return room if self.options.ram_bytes is None else min(room, self.options.ram_bytes)

    def check_fits(self) -> None:
        """Raise DoesNotFitError where arena or constants exceed the target or the options; it says what would help."""
        remedies = fit.remedies(self.schedule, self.toolbox, _request(self.board, self.options))
        fit.check_fits(self.schedule, self.arena_limit_bytes, flash_limit_bytes(self.board, self.options), remedies)

    def curve(self, fetches_input: bool) -> tuple[CurvePoint, ...]:
        """What less RAM costs: schedules from whole tensors down to the smallest arena."""
        return curve(self.graph, self.board, self.toolbox, fetches_input)

    @property
    def trees(self) -> tuple[SourceTree, ...]:
        """Sources of the kernels and of tinygen's own operators."""
        trees = (kernel_library(self.library, self.options.cmsis_nn), operators())
        return (*trees, native()) if self.toolbox.has_native_kernels else trees

    def folder_files(self, kind: ProjectKind) -> dict[str, str]:
        """All files of a self-contained output folder, by relative path."""
        return bundle(self.schedule, self.name, self.files, self.trees, kind, self.opt)

    def build(self, folder: Path, measure: Measure, sanitizers: Sequence[Sanitizer] = ()) -> Image:
        """A program in `folder` that runs the model on the samples that `execute` gives it."""
        toolchain = for_board(self.board, opt=self.opt, sanitizers=sanitizers)
        limits = Limits(flash_bytes=self.options.flash_bytes)  # --ram limits the arena: planned, not linked
        return build_firmware(self.schedule, self.name, self.files, self.trees, toolchain, folder, measure, limits)

    def execute(self, inputs: Sequence[Sample], measure: Measure = Measure.INSTRUCTIONS) -> Execution:
        """Build and run the model on `inputs`, in a folder that is gone afterwards."""
        with work_folder() as folder:
            return execute(self.build(folder, measure), self.schedule, inputs)


Observer = Callable[[str, Graph], None]


def compile_model(source: Path, options: Options, observe: Observer | None = None) -> Compiled:
    """Import, simplify, plan and print a model; `observe` sees the graph after each pass that changed it."""
    board = load(options.target)
    library = choose_library(options)
    name = checked_identifier(options.name) if options.name else model_identifier(source.stem)
    imported = import_model(source)
    graph = passes.run(imported, observe=observe)
    if options.fetches_input:
        _check_one_input(graph)
    schedule = plan(graph, board, _toolbox(board, library, options), _request(board, options))
    files = render(schedule, name, source.name)
    return Compiled(source, name, options, imported, schedule, library, files)


def _check_one_input(graph: Graph) -> None:
    """Raise UsageError where it is not clear which input the application gives by rows."""
    if len(graph.inputs) != 1:
        names = ", ".join(f"'{port.name}'" for port in graph.inputs)
        raise UsageError(
            f"--input streamed: {graph.name} has {len(graph.inputs)} inputs ({names}), 1 was expected. "
            "Leave the option out."
        )


def choose_library(options: Options) -> Library:
    """The kernel library that the options and this machine give."""
    if options.kernels is Kernels.PORTABLE:
        return Library.PORTABLE
    if options.kernels is Kernels.CMSIS_NN or options.cmsis_nn is not None:
        kernel_library(Library.CMSIS_NN, options.cmsis_nn)
        return Library.CMSIS_NN
    return Library.CMSIS_NN if paths.cmsis_nn() else Library.PORTABLE


def arena_limit_bytes(board: Board, options: Options) -> int:
    """What the arena may take: main RAM without the stack, or less where the options say so."""
    room = fit.arena_room(board)
    return room if options.ram_bytes is None else min(room, options.ram_bytes)


def flash_limit_bytes(board: Board, options: Options) -> int:
    """What code and constants may take: the board's flash, or less where the options say so."""
    return board.flash_bytes if options.flash_bytes is None else min(board.flash_bytes, options.flash_bytes)


def _toolbox(board: Board, library: Library, options: Options) -> Toolbox:
    return Toolbox(library, board.isa, options.objective, options.kernels is Kernels.NATIVE)


def _request(board: Board, options: Options) -> Request:
    room = rooms(board)[board.main_ram]  # a plan that takes all of main RAM leaves the program nothing for its data
    limit = room if options.ram_bytes is None else min(room, options.ram_bytes)
    return Request(limit, options.may_split, options.fetches_input)


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder for a build, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="tinygen-") as folder:
        yield Path(folder)
