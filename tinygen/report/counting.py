"""Instructions and modelled cycles of an inference: from the counting plugin, else from a counter of the board.

The plugin counts each instruction of the model and nothing else. Where it cannot be built, or QEMU refuses it, SysTick
counts under `-icount shift=0`, without cycles: on boards that clock it at 25 MHz in steps of 40 instructions, at 32 MHz
of 31.25. RISC-V counts them one by one in minstret.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tinygen.build.counting_plugin import counting_plugin
from tinygen.build.execute import execute
from tinygen.build.firmware import Image
from tinygen.build.instruction_counts import Profile, profiles
from tinygen.build.sizes import Sizes
from tinygen.codegen.harness import Measure
from tinygen.cycles.kind import Kind
from tinygen.cycles.model import band, cycles, data_fetches, histogram, instruction_fetches, instructions
from tinygen.cycles.timing import TIMINGS
from tinygen.errors import ToolError
from tinygen.planner.schedule.schedule import Schedule
from tinygen.system.work import work_folder
from tinygen.targets import Board
from tinygen.verify.program import Program
from tinygen.verify.samples import Samples


class Counter(StrEnum):
    """What has counted."""

    PLUGIN = "plugin"
    SYSTICK = "systick"


@dataclass(frozen=True)
class Count:
    """What executing took."""

    instructions: int | None  # None where nothing has counted
    cycles: int | None  # modelled; None where the plugin has not counted
    band: float | None  # how far silicon may be from them, as a share
    instruction_fetches: int | None  # reads of flash that no cache spared; None where the board has no flash table
    data_fetches: int | None
    histogram: Mapping[Kind, int]  # instructions by kind; empty where the plugin has not counted

    @property
    def fetches(self) -> int | None:
        """Reads of flash for instructions and data."""
        parts = (self.instruction_fetches, self.data_fetches)
        return None if parts[0] is None or parts[1] is None else parts[0] + parts[1]


def available_counter(board: Board) -> tuple[Counter, str]:
    """The best counter of this machine for `board`; where it is not the plugin, the reason."""
    try:
        counting_plugin(board.toolset)
    except ToolError as error:
        return Counter.SYSTICK, str(error)
    return Counter.PLUGIN, ""


def count(compiled: Program, samples: Samples, counter: Counter) -> tuple[Count, Sizes]:
    """One inference each on `samples`, and the sizes of the program."""
    with work_folder() as folder:
        image = compiled.build(folder, Measure.INSTRUCTIONS)
        return _total(image, compiled.schedule, samples, counter), image.sizes()


def _total(image: Image, schedule: Schedule, samples: Samples, counter: Counter) -> Count:
    if counter is Counter.SYSTICK:
        return _by_systick(execute(image, schedule, samples).outcome.values["instructions"])
    return _count(profiles(image, schedule, samples)[0], schedule)


def count_operators(compiled: Program, samples: Samples, counter: Counter) -> Mapping[int, Count]:
    """The same by the operators' places in execution order, from 1, with the few instructions that call the harness."""
    with work_folder() as folder:
        schedule = compiled.schedule
        image = compiled.build(folder, Measure.INSTRUCTIONS_PER_OPERATOR)
        if counter is Counter.PLUGIN:
            return {number: _count(found, schedule) for number, found in profiles(image, schedule, samples).items()}
        values = execute(image, schedule, samples).outcome.values
    counts = {int(key.removeprefix("operator_")): value for key, value in values.items() if key.startswith("operator_")}
    return {number: _by_systick(value) for number, value in counts.items()}


def _count(profile: Profile, schedule: Schedule) -> Count:
    timing, flash = TIMINGS[schedule.board.cpu], schedule.board.flash
    return Count(
        instructions=instructions(profile),
        cycles=cycles(profile, timing, flash),
        band=band(profile, timing, flash),
        instruction_fetches=None if flash is None else instruction_fetches(profile),
        data_fetches=None if flash is None else data_fetches(profile),
        histogram=histogram(profile),
    )


def _by_systick(instructions: int) -> Count:
    return Count(instructions, None, None, None, None, {})
