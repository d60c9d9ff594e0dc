"""What decides the C of a model: all options of the commands that plan, and the keywords of `tinygen.compile`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from pathlib import Path

from tinygen import targets
from tinygen.audio.description import front_end_of
from tinygen.audio.front_end import FrontEnd
from tinygen.build.toolchain import Opt
from tinygen.calib.engines import BY_DEFAULT, Assigning
from tinygen.errors import UsageError
from tinygen.frontends.doors import trust_option
from tinygen.frontends.spelling import AS_IN_FILE, Spelling
from tinygen.kernels.base import Objective
from tinygen.option import (
    FILE,
    FLAG,
    SHARE,
    TEXT,
    HelpPanel,
    ValueKind,
    either,
    from_written,
    nested,
    one_of,
    option,
    parsed,
    several,
)
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.search.goals import RAM_SLACK
from tinygen.quant.dynamic.scheme import DynamicOptions
from tinygen.quant.widths import ALL_INT8, Widths
from tinygen.targets.size import parse_size


class Kernels(Enum):
    """What the option --kernels asks for."""

    AUTO = "auto"
    CMSIS_NN = "cmsis-nn"
    PORTABLE = "portable"
    NATIVE = "native"


class InputMode(StrEnum):
    """Where the model's input stands."""

    RESIDENT = "resident"
    STREAMED = "streamed"
    REREADABLE = "rereadable"


class ResultMode(StrEnum):
    """Where the model's output goes."""

    RESIDENT = "resident"
    STORED = "stored"


def states_from_text(texts: tuple[str, ...]) -> dict[str, str]:
    """IN=OUT as people write them; UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        input, _, output = (part.strip() for part in text.partition("="))
        if not input or not output:
            raise UsageError(f"--state: is '{text}', an input and an output as in h=h_next were expected.")
        if found.setdefault(input, output) != output:
            raise UsageError(f"--state: names '{input}' with two outputs, one was expected. Leave one of them out.")
    return found


def _states_text(states: Mapping[str, str]) -> list[str]:
    return [f"{input}={output}" for input, output in states.items()]


def networks_from_text(texts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Names of networks behind commas, as people write them, one list an option."""
    return tuple(tuple(name.strip() for name in text.split(",")) for text in texts)


NETWORKS = several(networks_from_text, lambda lists: [",".join(names) for names in lists])


@dataclass(frozen=True)
class Joining:
    """How several networks share one memory."""

    together: tuple[tuple[str, ...], ...] = option(
        (),
        NETWORKS,
        "--together",
        metavar="A,B",
        help="Networks that may interrupt each other, so that no memory is common to them; once for each group. Others "
        "run one after another, and share it.",
        panel=HelpPanel.SEVERAL,
    )
    cascade: tuple[tuple[str, ...], ...] = option(
        (),
        NETWORKS,
        "--cascade",
        metavar="A,B",
        help="Networks of which each takes the output of the one before where it lies, without a copy; once for each "
        "cascade.",
        panel=HelpPanel.SEVERAL,
    )


def _boards() -> Iterator[str]:
    """All that has a file: boards, and microcontrollers by any of their names."""
    yield from targets.names()
    for board in targets.parts():
        yield from (board.name, *(board.part.names if board.part is not None else ()))


TARGET = ValueKind(str, lambda _, text: text, known=_boards)
FRONT_END = ValueKind(str, lambda _, given: front_end_of(given), str)


@dataclass(frozen=True)
class Options:
    """Everything that decides what is generated."""

    target: str = option(
        "cortex-m4",  # one for all commands and functions: what is validated is then what was compiled
        TARGET,
        "-t",
        "--target",
        help="Board, path of a board's TOML file, 'host', or a bare core such as cortex-m4.",
    )
    names_target: bool = True  # it was asked for, and is no command's default: what calibration makes is for it alone
    name: str | None = option(None, TEXT, "-n", "--name", help="Prefix of all C names (default: from the file's name).")
    trust: bool = trust_option()
    ram_bytes: int | None = option(
        None,
        parsed(parse_size),
        "--ram",
        metavar="SIZE",
        help="RAM that the arena may take, such as 64K (default: the board's, less the stack).",
    )
    flash_bytes: int | None = option(
        None,
        parsed(parse_size),
        "--flash",
        metavar="SIZE",
        help="Flash that code and constants may take (default: the board's).",
    )
    flash_per_percent: int | None = option(
        None,
        parsed(parse_size),
        "--flash-per-percent",
        metavar="SIZE",
        help="Flash that -O time and balanced may take for each further percent of the time that larger weights and "
        "more code save, such as 8K (default: a tenth of what portable kernels and their constants take; with --flash "
        "whatever helps and fits).",
        panel=HelpPanel.PLAN,
    )
    packs_constants: bool = option(
        True,
        either("auto", "off", is_listed=True),
        "--pack-constants",
        help="Weights in fewer bits or Huffman codes, the same values, which kernels unpack while they multiply: auto "
        "packs those of fully connected layers and 1x1 convolutions where plans do not fit the flash otherwise, and "
        "takes longer.",
        panel=HelpPanel.PLAN,
    )
    hot_code: str | None = option(
        None,
        TEXT,
        "--hot-code",
        metavar="MEMORY",
        help="Memory of the board for the kernels that take most of the time, such as itcm, ccm or sram, as far as "
        "arenas leave room; start-up code copies them there. bench says what it gains.",
        panel=HelpPanel.KERNELS,
    )
    objective: Objective = option(
        Objective.BALANCED,
        one_of(Objective),
        "-O",
        "--optimize",
        metavar="GOAL",
        help="What the plan is chosen for: balanced (the least RAM for at most 5 % more instructions than the fastest, "
        "with constants of at most 1.25 times the plain ones), time (may spend RAM and flash on it), ram or size.",
    )
    input: InputMode = option(
        InputMode.RESIDENT,
        one_of(InputMode, is_listed=True),
        "--input",
        help="resident: whole inputs stand in RAM. streamed: functions of the application give each row once, in "
        "order. rereadable: they can go back, and give any columns of any rows.",
        panel=HelpPanel.PLAN,
    )
    results: ResultMode = option(
        ResultMode.RESIDENT,
        one_of(ResultMode, is_listed=True),
        "--results",
        help="resident: the whole output stands in RAM at the end. stored: a function of the application takes each "
        "row once, in order, when it is computed.",
        panel=HelpPanel.PLAN,
    )
    may_split: bool = option(
        True,
        either("auto", "off", is_listed=True),
        "--split",
        help="Splitting of operators to save RAM.",
        panel=HelpPanel.PLAN,
    )
    recompute: float = option(
        0.05,
        SHARE,
        "--recompute",
        metavar="SHARE",
        help="Multiplications that may be done again to save RAM, as a share of the model's: strips of columns, of "
        "which those beside a border are computed twice, and layers quantized at run time, once for their range and "
        "once for their levels.",
        panel=HelpPanel.PLAN,
    )
    slack: float = option(
        RAM_SLACK,
        SHARE,
        "--slack",
        metavar="SHARE",
        help="What -O ram may add to the smallest arena over all kernels: it takes the least product of bytes and "
        "instructions within that, so a percent of RAM has to save a percent of the instructions; 0 is the smallest, "
        "for which the search may take twice as long.",
        panel=HelpPanel.PLAN,
    )
    solver: Solver = option(
        Solver.BUILTIN,
        one_of(Solver),
        "--solver",
        metavar="SOLVER",
        help="Who places buffers in the arena: builtin, or cp-sat (exact, slower; needs the package ortools). A plan "
        "does not depend on what is installed.",
        panel=HelpPanel.PLAN,
    )
    may_shrink: bool = option(
        True,
        either("auto", "off", is_listed=True),
        "--shrink",
        help="Removal of channels that are constant, equal, or never read: the outputs stay the same, to the bit.",
        panel=HelpPanel.PLAN,
    )
    stream: str | None = option(
        None,
        TEXT,
        "--stream",
        metavar="AXIS",
        help="Keep the model as a stream along an axis of its input (time, height, width or its index): each call "
        "takes the next columns and gives the result of the window that ends with them.",
        panel=HelpPanel.SIGNALS,
    )
    states: Mapping[str, str] = option(  # outputs by input
        {},
        several(states_from_text, _states_text),
        "--state",
        metavar="IN=OUT",
        help="Make an input and an output a state: a call takes there what the one before gave, the first one zeros; "
        "once for each pair.",
        panel=HelpPanel.SIGNALS,
    )
    front_end: FrontEnd | None = option(
        None,
        FRONT_END,
        "--front-end",
        metavar="FILE",
        help="Put an audio front end, described by a JSON file, before the network: a call takes the next samples.",
        panel=HelpPanel.SIGNALS,
    )
    kernels: Kernels = option(
        Kernels.AUTO,
        one_of(Kernels),
        "--kernels",
        metavar="LIBRARY",
        help="auto (the cheapest of what is there for each operator), cmsis-nn, portable, or native (tinygen's own "
        "wherever there is one).",
        panel=HelpPanel.KERNELS,
    )
    cmsis_nn: Path | None = option(
        None,
        FILE,
        "--cmsis-nn",
        metavar="DIR",
        help="Folder of CMSIS-NN's sources (default: $TINYGEN_CMSIS_NN or the submodule), or off: without the library, "
        "wherever it is.",
        panel=HelpPanel.KERNELS,
    )
    opt: Opt | None = option(
        None,
        one_of(Opt),
        "--cc-opt",
        metavar="LEVEL",
        help="Optimisation level of the C compiler: s, 2 or 3 (default: 2; s with -O size).",
        panel=HelpPanel.KERNELS,
    )
    allow_float: bool = option(
        False,
        FLAG,
        "--allow-float",
        help="Run operators on float32 as such, in float C code.",
        panel=HelpPanel.READING,
    )
    spelling: Spelling = nested(AS_IN_FILE, HelpPanel.READING)
    ctable: Path | None = option(
        None,
        FILE,
        "--ctable",
        metavar="FILE",
        help="Quantize a float model by this table (`tinygen calibrate`).",
        panel=HelpPanel.QUANTIZATION,
    )
    calibrate: Path | None = option(
        None,
        FILE,
        "--calibrate",
        metavar="FILE",
        help="Quantize a float model with a table made of these samples (.npz, .npy).",
    )
    widths: Widths = nested(ALL_INT8, HelpPanel.QUANTIZATION)
    assigning: Assigning = nested(BY_DEFAULT, HelpPanel.QUANTIZATION)
    dynamic: DynamicOptions = nested(DynamicOptions(), HelpPanel.QUANTIZATION)

    def check(self) -> None:
        """Raise UsageError where two options exclude each other."""
        if self.kernels is Kernels.PORTABLE and self.cmsis_nn is not None and not self.leaves_out_cmsis_nn:
            raise UsageError("--kernels portable, --cmsis-nn: are given both, one was expected. Leave one of them out.")
        if self.kernels is Kernels.CMSIS_NN and self.leaves_out_cmsis_nn:
            raise UsageError(
                "--kernels cmsis-nn, --cmsis-nn off: exclude each other, one was expected. Leave one of them out."
            )

    @property
    def leaves_out_cmsis_nn(self) -> bool:
        """Whether CMSIS-NN is not asked for, wherever it is."""
        return self.cmsis_nn == WITHOUT_CMSIS_NN

    @property
    def says_what_flash_costs(self) -> bool:
        """Whether flash is limited, or exchanged for time, by more than the goal."""
        return self.flash_bytes is not None or self.flash_per_percent is not None

    @property
    def fetches_input(self) -> bool:
        """Whether the application gives the input by rows."""
        return self.input is not InputMode.RESIDENT

    @property
    def rereads_input(self) -> bool:
        """Whether it can give rows again, and any columns of them."""
        return self.input is InputMode.REREADABLE

    @property
    def stores_output(self) -> bool:
        """Whether the application takes the output by rows."""
        return self.results is ResultMode.STORED

    @property
    def read_spelling(self) -> Spelling:
        """What the user says about the model's inputs."""
        return replace(self.spelling, allows_float=self.allow_float)


def options_from_text(target: str = Options.target, **given: object) -> Options:
    """Options as people write them, by keyword; UsageError."""
    return from_written(Options, {"target": target, **given})
