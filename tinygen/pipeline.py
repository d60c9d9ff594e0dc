"""From a model file to C, and to a program that runs: the stages in order."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tinygen import passes, paths
from tinygen.build import qemu
from tinygen.build.bundle import Contents, NetworkFiles, bundle
from tinygen.build.desk import Desk
from tinygen.build.execute import Execution, Sample, execute
from tinygen.build.firmware import Image, MemoryLimits, build_firmware
from tinygen.build.hot_code import hot_code, memory_for_code
from tinygen.build.kernel_sources import SourceTree, kernel_library, native, operators
from tinygen.build.toolchain import Opt, Sanitizer, for_board
from tinygen.calib.calibrator import Calibration
from tinygen.calib.follow import follow
from tinygen.calib.model import PREPARATION
from tinygen.codegen.c_text import checked_identifier, model_identifier
from tinygen.codegen.harness import Measure
from tinygen.codegen.model import Home
from tinygen.codegen.project import ProjectKind
from tinygen.codegen.render import render
from tinygen.codegen.selftest import render_selftest
from tinygen.errors import UsageError
from tinygen.frontends import import_model
from tinygen.frontends.doors import model_file
from tinygen.frontends.spelling import Spelling
from tinygen.ir.graph import Graph
from tinygen.ir.verify import verify
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.native.select import is_native
from tinygen.ops.dynamic_layer import quantizes_at_run_time
from tinygen.ops.port_states import PortState, states_of, with_states
from tinygen.options import Kernels, Options
from tinygen.passes.convert_boundaries import convert_boundaries
from tinygen.passes.copy_outputs import remove_copies
from tinygen.passes.fold_constants import fold_constants
from tinygen.passes.keep_in_rings import keep_in_rings
from tinygen.passes.keep_read_rows import keep_read_rows
from tinygen.passes.shrink import shrink
from tinygen.passes.shrinking.saving import NOTHING_SAVED, Saving, saving
from tinygen.passes.streaming import to_stream
from tinygen.passes.streaming.products import products, products_of_windows
from tinygen.passes.widen_halves import widen_halves
from tinygen.planner import fit
from tinygen.planner.cost.choice import instructions
from tinygen.planner.cost.code import beside_constants
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.cost.growth import TILES, exchanging, planned_within
from tinygen.planner.knee import FoundPlan, balanced_plan
from tinygen.planner.memory.spill import arena_room
from tinygen.planner.plan import CurvePoint, PlanRequest, curve, for_graph, plan, with_chosen
from tinygen.planner.schedule.constants import fit_within
from tinygen.planner.schedule.schedule import Arena, HotCode, Schedule
from tinygen.planner.schedule.solver import check_installed
from tinygen.planner.search.goals import Tradeoff, chosen_for_ram, room_bytes
from tinygen.planner.search.search_work import Watch
from tinygen.quant.dynamic.apply import Applied, apply
from tinygen.quant.errors import Code, DynamicError
from tinygen.system.work import work_folder
from tinygen.targets import Board, load
from tinygen.targets.isa import Isa
from tinygen.verify import reference
from tinygen.verify.samples import random_samples

_BOUNDARIES = (fold_constants, convert_boundaries)  # behind which ports stand for what is kept of them


@dataclass(frozen=True)
class Compiled:
    """A model with its plan and its C text."""

    source: Path
    name: str
    options: Options
    imported: Graph
    schedule: Schedule
    library: Library
    toolbox: Toolbox  # what its kernels were chosen from
    files: Mapping[str, str] = field(repr=False)  # the model's C, by file name
    calibration: Calibration | None = None  # that it follows, where the file holds a float model
    saved: Saving = NOTHING_SAVED  # by shrinking the graph
    dynamic: Applied | None = None  # what is quantized at run time, where that was asked for
    port_states: tuple[PortState, ...] = ()  # pairs of ports that the options make states
    desk: Desk | None = None  # where programs run that `build` makes; None: here, or under QEMU
    smaller: Tradeoff | None = None  # a plan of less RAM that was found on the way to a balanced one

    @property
    def spelling(self) -> Spelling:
        """What the user says about the model's inputs."""
        return self.options.read_spelling

    @property
    def is_calibrated(self) -> bool:
        """Whether the file holds a float model that became int8, before or at run time."""
        return self.calibration is not None or (self.dynamic is not None and self.dynamic.is_changed)

    @property
    def has_front_end(self) -> bool:
        """Whether calls take samples, of which a front end makes the network's input."""
        return self.options.front_end is not None

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
        return Kernels.NATIVE.value if self.has_native_kernels else self.library.value

    @property
    def has_native_kernels(self) -> bool:
        """Whether some of its kernels are, or were asked to be, tinygen's own."""
        found = any(is_native(call.kernel) for call in self.schedule.all_calls)
        return found or self.options.kernels is Kernels.NATIVE

    @property
    def arena_limit_bytes(self) -> int:
        """What the arena may take, or all arenas together where there are several."""
        room = fit.room_bytes(self.schedule)
        return room if self.options.ram_bytes is None else min(room, self.options.ram_bytes)

    def check_fits(self) -> None:
        """Raise DoesNotFitError where arena or constants exceed the target or the options; it says what would help."""
        request = _request(self.board, self.options, self.imported)
        remedies = fit.remedies(self.schedule, self.toolbox, request, self.imported.macs)
        fit.check_fits(self.schedule, self.arena_limit_bytes, self.const_limit_bytes, remedies)

    def curve(self, fetches_input: bool, rereads_input: bool = False) -> tuple[CurvePoint, ...]:
        """What less RAM costs: schedules from whole tensors down to the smallest arena.

        The one that is compiled is among them where the input comes as it does there.
        """
        request = _request(self.board, self.options, self.imported)
        asked = replace(request, fetches_input=fetches_input, rereads_input=rereads_input)
        points = curve(self.graph, self.board, self.toolbox, asked)
        return with_chosen(points, self.schedule, self.toolbox) if asked == request else points

    def planned_for(self, goal: Objective) -> tuple[Schedule, Library]:
        """The plan that another goal of -O would give the same graph, and whose kernels are in it."""
        options = replace(self.options, objective=goal)
        library = choose_library(options)
        found = _planned_over_libraries(self.graph, self.board, library, options, self.imported, None)
        return found.schedule, found.toolbox.library

    @property
    def const_limit_bytes(self) -> int:
        """What constants may take of flash."""
        return flash_limit_bytes(self.board, self.options)

    @property
    def trees(self) -> tuple[SourceTree, ...]:
        """Sources of the kernels and of tinygen's own operators."""
        trees = (kernel_library(self.library, self.options.cmsis_nn), operators())
        return (*trees, native()) if self.has_native_kernels else trees

    def network(self, home: Home | None = None) -> NetworkFiles:
        """What an output folder holds of it, with its self-test; `home`: its memory in a folder of several networks."""
        source = self.imported.file or self.source.name
        files = self.files if home is None else render(self.schedule, self.name, source, home)
        [inputs] = random_samples(self.graph.inputs, 1, seed=0)
        outputs = reference.outputs(self.graph, reference.evaluate(self.graph, inputs))
        test = render_selftest(self.schedule, self.name, source, inputs, outputs, home)
        return NetworkFiles(self.name, source, self.schedule, {**files, **test}, home)

    def folder_files(self, kind: ProjectKind) -> dict[str, str]:
        """All files of a self-contained output folder, by relative path."""
        network, arena_bytes = [self.network()], self.schedule.arena_bytes
        contents = Contents(self.name, network, self.trees, self.opt, arena_bytes, hot_code=self.schedule.hot_code)
        return bundle(contents, kind)

    def build(self, folder: Path, measure: Measure, sanitizers: Sequence[Sanitizer] = ()) -> Image:
        """A program in `folder` that runs the model on the samples that `execute` gives it; ToolError where nothing
        runs it."""
        if not (self.desk or self.board.is_host):
            qemu.known_machine(self.board)
            qemu.check_memories(self.board, self.schedule.memories)
        toolchain = for_board(self.board, opt=self.opt, sanitizers=sanitizers)
        limits = MemoryLimits(flash_bytes=self.options.flash_bytes)  # --ram limits the arena: planned, not linked
        model, desk = (self.schedule, self.name, self.files, self.trees), self.desk
        return build_firmware(*model, toolchain, folder, measure, limits, desk)

    def execute(self, inputs: Sequence[Sample], measure: Measure = Measure.INSTRUCTIONS) -> Execution:
        """Build and run the model on `inputs`, in a folder that is gone afterwards."""
        with work_folder() as folder:
            return execute(self.build(folder, measure), self.schedule, inputs)


Observer = Callable[[str, Graph], None]
AS_IN_FILE = "graph"  # what observers see first: before calibration and passes

_Made = TypeVar("_Made")


class Shared:
    """What compilations of one model find alike, whatever board and goal they are for: its graph as it is in the file,
    and what the passes make of that. Nothing in it is changed by those who use it."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What was made for `key`, or is made now."""
        if key not in self._made:
            self._made[key] = make()
        found: _Made = self._made[key]
        return found

    def clear(self) -> None:
        """Forget all, such as after something was stopped in its middle."""
        self._made.clear()


def compile_model(
    source: Path,
    options: Options,
    observe: Observer | None = None,
    shared: Shared | None = None,
    watch: Watch | None = None,
) -> Compiled:
    """Import, simplify, plan and print a model; `observe` sees the graph as it is in the file, then after each pass
    that changed it. `shared`: of earlier compilations of the same model. `watch` is told what planning searches, and
    the best so far."""
    planned = plan_model(source, options, observe, shared, watch)
    return rendered(planned)


def rendered(planned: Compiled) -> Compiled:
    """A planned model with its text."""
    files = render(planned.schedule, planned.name, planned.imported.file or planned.source.name)
    return replace(planned, files=files)


def _with_hot_code(compiled: Compiled, program_bytes: int = 0) -> Compiled:
    """The same plan with kernels in the memory that the options name for them."""
    hot = hot_code_of([compiled], compiled.trees, compiled.schedule.arenas, program_bytes)
    return compiled if hot is None else replace(compiled, schedule=replace(compiled.schedule, hot_code=hot))


def inside(compiled: Compiled, program_bytes: int) -> Compiled:
    """The same for a program that takes so many bytes of main RAM beside arena and stack: hot code leaves them."""
    found = _with_hot_code(compiled, program_bytes)
    return compiled if found is compiled else rendered(found)


def without_hot_code(compiled: Compiled) -> Compiled:
    """The same plan with all code where code is."""
    options, schedule = replace(compiled.options, hot_code=None), replace(compiled.schedule, hot_code=None)
    return rendered(replace(compiled, options=options, schedule=schedule))


def plan_model(
    source: Path,
    options: Options,
    observe: Observer | None = None,
    shared: Shared | None = None,
    watch: Watch | None = None,
) -> Compiled:
    """The same without its text: `files` is empty."""
    shared = Shared() if shared is None else shared
    board = load(options.target)
    if options.hot_code is not None:
        memory_for_code(board, options.hot_code)
    check_installed(options.solver)
    library = choose_library(options)
    name = checked_identifier(options.name) if options.name is not None else model_identifier(source.stem)
    source = model_file(source, options.trust)
    spelling = options.read_spelling
    as_in_file = shared.once((source, repr(spelling)), partial(import_model, source, spelling))
    imported = as_in_file
    if observe is not None:
        observe(AS_IN_FILE, imported)
    if options.dynamic.is_asked or options.objective is Objective.TIME:
        imported = widen_halves(imported)
    fit.check_tables(imported)
    named = board if options.names_target else None
    calibration = follow(source, imported, options.ctable, options.calibrate, named, options.widths, options.assigning)
    if calibration is not None:
        imported = calibration.graph
        if calibration.has_float_engines:
            options = replace(options, allow_float=True)
    dynamic = None
    if options.dynamic.is_asked:
        if calibration is not None:
            raise DynamicError(
                Code.CONTRADICTION,
                "--quant-dynamic: is given with --calibrate or --ctable, one of them was expected. Leave one out.",
            )
        plain = Toolbox(library, board.isa, has_thumb2=board.has_thumb2)
        price = partial(instructions, toolbox=plain)
        dynamic = apply(passes.run(imported, PREPARATION), options.dynamic, board, price)
        imported = dynamic.graph
        options = replace(options, allow_float=True)
    if quantizes_at_run_time(imported):
        options = replace(options, allow_float=True)  # between quantized layers there are real numbers
    port_states = states_of(imported, options.states)
    if port_states:
        imported = with_states(passes.run(imported, _BOUNDARIES), port_states)
        verify(imported, "states")
    if imported is as_in_file and observe is None:
        key = imported, options.allow_float, options.may_shrink
        graph, saved = shared.once(key, partial(_simplified, imported, options, None))
    else:
        graph, saved = _simplified(imported, options, observe)
    if graph.states:
        _check_has_no_memory(graph, options)
    if options.stream is not None:
        graph = _streamed(graph, options, observe)
    # CMSIS-NN's and tinygen's kernels for DSP and scalar cores take pixels in pairs; with MVE it is all the same
    if graph.states and library is Library.CMSIS_NN and board.isa is not Isa.MVE:
        graph = passes.run(graph, (products,), observe)
    if options.front_end is not None:
        graph = _with_front_end(graph, options, observe)
    graph = passes.run(graph, (keep_read_rows, keep_in_rings, remove_copies, products_of_windows), observe)
    if options.stores_output:
        _check_one_output(graph)
    toolbox, schedule, smaller = _planned_over_libraries(graph, board, library, options, imported, watch)
    if options.stores_output:
        _check_stored(schedule)
    compiled = Compiled(
        source,
        name,
        options,
        imported,
        schedule,
        toolbox.library,
        toolbox,
        {},
        calibration,
        saved,
        dynamic,
        port_states,
        smaller=smaller,
    )
    return _with_hot_code(compiled)


def _planned_over_libraries(
    graph: Graph, board: Board, library: Library, options: Options, imported: Graph, watch: Watch | None
) -> FoundPlan:
    """The plan, with portable kernels instead of those of CMSIS-NN where memory is the goal and that serves it better,
    or where a limit is not kept otherwise: the results of portable ones may lie over what they read."""
    found = _planned(graph, board, library, options, imported, watch)
    limit = options.ram_bytes
    is_too_large = limit is not None and found.schedule.arena_bytes > limit
    may_choose = library is Library.CMSIS_NN and options.kernels is Kernels.AUTO and not graph.states
    if not may_choose or not (options.objective is Objective.RAM or is_too_large):
        return found
    portable = _planned(graph, board, Library.PORTABLE, options, imported, watch)
    if not _fits_flash(portable, board, options):
        return found
    if options.objective is not Objective.RAM:
        return min(found, portable, key=lambda each: each.schedule.arena_bytes)
    plans = {_tradeoff(portable): portable, _tradeoff(found): found}
    smallest, chosen = min(plans, key=lambda plan: plan.bytes), chosen_for_ram(plans)
    if chosen.bytes > smallest.bytes:
        smallest_options = replace(options, slack=0.0)
        least = _planned(graph, board, Library.PORTABLE, smallest_options, imported, watch).schedule.arena_bytes
        chosen = chosen if chosen.bytes <= room_bytes(least, options.slack, limit) else smallest
    return plans[chosen]


def _tradeoff(found: FoundPlan) -> Tradeoff:
    schedule = found.schedule
    return Tradeoff(schedule.arena_bytes, estimated_instructions(schedule, found.toolbox.library))


def _fits_flash(found: FoundPlan, board: Board, options: Options) -> bool:
    beside = beside_constants(found.schedule, found.toolbox)
    return fit_within(found.schedule, flash_limit_bytes(board, options) - beside)


def _planned(
    graph: Graph, board: Board, library: Library, options: Options, imported: Graph, watch: Watch | None
) -> FoundPlan:
    """The plan with the weights that are fastest within the flash, and for what a percent of time may cost of it."""
    request = replace(_request(board, options, imported), watch=watch)
    toolbox = for_graph(graph, board, _toolbox(board, library, options), request.solver)
    exchanges = options.flash_per_percent is not None or options.flash_bytes is None
    if options.objective in (Objective.TIME, Objective.BALANCED) and exchanges:
        toolbox = exchanging(graph.ops, toolbox, options.flash_per_percent)
    balanced: FoundPlan | None = None
    if options.objective is Objective.BALANCED and not options.says_what_flash_costs:
        balanced = balanced_plan(graph, board, toolbox, request)
        toolbox = balanced.toolbox

    def planned(tools: Toolbox) -> Schedule:
        is_known = balanced is not None and tools == balanced.toolbox
        return balanced.schedule if balanced and is_known else plan(graph, board, tools, request)

    limit = flash_limit_bytes(board, options)
    found = planned_within(limit, graph.ops, toolbox, planned, counts_code=True)
    return FoundPlan(*found, balanced.smaller if balanced and found[1] is balanced.schedule else None)


def _simplified(imported: Graph, options: Options, observe: Observer | None) -> tuple[Graph, Saving]:
    """The graph after all passes, and what shrinking it has saved."""
    steps = passes.FLOAT_PASSES if options.allow_float else passes.PASSES
    at = steps.index(shrink)
    whole = passes.run(imported, steps[:at], observe)
    graph = passes.run(whole, steps[at:] if options.may_shrink else steps[at + 1 :], observe)
    return graph, saving(whole, graph)


def _streamed(graph: Graph, options: Options, observe: Observer | None) -> Graph:
    """The graph of one call of a stream."""
    assert options.stream is not None
    if options.fetches_input:
        raise UsageError(
            "--stream, --input streamed: are given both, one was expected. The input of one call is small: leave the "
            "latter out."
        )
    if options.stores_output:
        raise UsageError(
            "--stream, --results stored: are given both, one was expected. The output of one call is small: leave the "
            "latter out."
        )
    step = to_stream(graph, options.stream)
    if observe is not None:
        observe("stream", step)
    return step


def _with_front_end(graph: Graph, options: Options, observe: Observer | None) -> Graph:
    """The graph of one call that takes samples."""
    assert options.front_end is not None
    for option, is_given in {
        "--input streamed": options.fetches_input,
        "--results stored": options.stores_output,
    }.items():
        if is_given:
            raise UsageError(
                f"--front-end, {option}: are given both, one was expected. A call takes few samples, and states stay "
                "behind it: leave the latter out."
            )
    joined = options.front_end.before(graph)
    if observe is not None:
        observe("front_end", joined)
    return joined


def _check_has_no_memory(graph: Graph, options: Options) -> None:
    """Raise UsageError where options ask for what a network that keeps states cannot do."""
    asked = {
        f"--stream {options.stream}": options.stream is not None,
        "--input streamed": options.fetches_input,
        "--results stored": options.stores_output,
    }
    for option in (option for option, is_given in asked.items() if is_given):
        raise UsageError(
            f"{option}: {graph.name} keeps {len(graph.states)} states from call to call, a model without any was "
            "expected. Leave the option out."
        )


def _check_one_output(graph: Graph) -> None:
    """Raise UsageError where it is not clear which output the application takes by rows."""
    if len(graph.outputs) != 1:
        names = ", ".join(f"'{port.name}'" for port in graph.outputs)
        raise UsageError(
            f"--results stored: {graph.name} has {len(graph.outputs)} outputs ({names}), 1 was expected. "
            "Leave the option out."
        )


def _check_stored(schedule: Schedule) -> None:
    """Raise UsageError where the output is just an input or a constant."""
    if not schedule.stored:
        (port,) = schedule.graph.outputs
        raise UsageError(
            f"--results stored: nothing computes output '{port.name}' of {schedule.graph.name}, an operator that does "
            "was expected. Leave the option out."
        )


def choose_library(options: Options) -> Library:
    """The kernel library that the options and this machine give."""
    if options.kernels is Kernels.PORTABLE:
        return Library.PORTABLE
    if options.kernels is Kernels.CMSIS_NN or (options.cmsis_nn is not None and not options.leaves_out_cmsis_nn):
        kernel_library(Library.CMSIS_NN, options.cmsis_nn)  # what was asked for is there
    if options.kernels is Kernels.AUTO and options.objective is Objective.SIZE:
        return Library.PORTABLE  # its kernels share most of their code
    if options.kernels is Kernels.CMSIS_NN:
        return Library.CMSIS_NN
    return Library.CMSIS_NN if paths.cmsis_nn(options.cmsis_nn) else Library.PORTABLE


def hot_code_of(
    members: Sequence[Compiled], trees: Sequence[SourceTree], arenas: Sequence[Arena], program_bytes: int = 0
) -> HotCode | None:
    """Kernels of networks in one program, in whose memory are `arenas`, that lie in a memory of their own: the one that
    the options of the first name. `trees`: sources of all; `program_bytes`: see `hot_code`."""
    first = members[0]
    if first.options.hot_code is None:
        return None
    memory = memory_for_code(first.board, first.options.hot_code)
    schedules = [member.schedule for member in members]
    return hot_code(memory, schedules, first.toolbox, trees, arenas, first.opt, program_bytes)


def arena_limit_bytes(board: Board, options: Options) -> int:
    """What the arena may take: the room in main RAM, or less where the options say so."""
    room = arena_room(board)
    return room if options.ram_bytes is None else min(room, options.ram_bytes)


def flash_limit_bytes(board: Board, options: Options) -> int:
    """What code and constants may take: the board's flash, or less where the options say so."""
    return board.flash_bytes if options.flash_bytes is None else min(board.flash_bytes, options.flash_bytes)


def _toolbox(board: Board, library: Library, options: Options) -> Toolbox:
    """What kernels may be chosen from."""
    is_small, by_cost = options.objective is Objective.SIZE, options.kernels is Kernels.AUTO
    has_native = options.kernels is Kernels.NATIVE or (by_cost and not is_small and not board.is_host)
    plain = Toolbox(
        library, board.isa, options.objective, has_thumb2=board.has_thumb2, templates=_template_operators(board)
    )
    return replace(
        plain,
        has_native_kernels=has_native,
        chooses_by_cost=by_cost,
        tallest_tile=TILES[0] if has_native and not is_small else 0,
        packs_constants=options.packs_constants,
    )


def _template_operators(board: Board) -> frozenset[tuple[str, str]]:
    return frozenset((engine, operator) for engine, found in board.templates.items() for operator in found.operators)


def _request(board: Board, options: Options, imported: Graph) -> PlanRequest:
    return PlanRequest(
        limit_bytes=arena_limit_bytes(board, options),
        may_split=options.may_split,
        fetches_input=options.fetches_input,
        rereads_input=options.rereads_input,
        extra_macs=int(options.recompute * imported.macs),
        stores_output=options.stores_output,
        solver=options.solver,
        slack=options.slack,
    )
