"""Options as the parser sees them: one name for each, so that they read and work alike on every command."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_PLANNING = "Planning options"
MOST_SAMPLES = 1_000_000  # that are drawn or read at once


class InputMode(StrEnum):
    """Where the model's input stands."""

    RESIDENT = "resident"
    STREAMED = "streamed"
    REREADABLE = "rereadable"


class ResultMode(StrEnum):
    """Where the model's output goes."""

    RESIDENT = "resident"
    STORED = "stored"


class Split(StrEnum):
    """Whether operators may be split to save RAM."""

    AUTO = "auto"
    OFF = "off"


class Shrink(StrEnum):
    """Whether channels that are computed in vain are removed."""

    AUTO = "auto"
    OFF = "off"


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The network: a .tflite or .onnx file, .keras, .h5; with --trust .pt2, a SavedModel, model.py:function.",
        show_default=False,
    ),
]
Trust = Annotated[bool, typer.Option("--trust", help="The model file is code, or has code in it, and may run.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say more; show tracebacks of internal errors.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only (and JSON, if asked for).")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of random inputs, where no data is given.")]

Target = Annotated[
    str,
    typer.Option(
        "-t",
        "--target",
        help="Board, path of a board's TOML file, 'host', or a bare core such as cortex-m4.",
        rich_help_panel=_PLANNING,
    ),
]
Ram = Annotated[
    str | None,
    typer.Option(
        "--ram",
        metavar="SIZE",
        help="RAM that the arena may take, such as 64K (default: the board's, less the stack).",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
Flash = Annotated[
    str | None,
    typer.Option(
        "--flash",
        metavar="SIZE",
        help="Flash that code and constants may take (default: the board's).",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
Optimize = Annotated[
    str | None,
    typer.Option(
        "-O",
        "--optimize",
        metavar="GOAL",
        help="What the plan is chosen for: time (may spend RAM and flash on it), ram, size or balanced. Default: the "
        "fastest kernels that take no more RAM than the plain ones.",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
Input = Annotated[
    InputMode,
    typer.Option(
        "--input",
        help="resident: the whole input stands in RAM. streamed: a function of the application gives each row once, in "
        "order. rereadable: it can go back, and gives any columns of any rows.",
        rich_help_panel=_PLANNING,
    ),
]
Results = Annotated[
    ResultMode,
    typer.Option(
        "--results",
        help="resident: the whole output stands in RAM at the end. stored: a function of the application takes each "
        "row once, in order, when it is computed.",
        rich_help_panel=_PLANNING,
    ),
]
Recompute = Annotated[
    str,
    typer.Option(
        "--recompute",
        metavar="SHARE",
        help="Multiplications that may be done again to save RAM, as a share of the model's: strips of columns, of "
        "which those beside a border are computed twice.",
        rich_help_panel=_PLANNING,
    ),
]
Slack = Annotated[
    str,
    typer.Option(
        "--slack",
        metavar="SHARE",
        help="What -O ram may add to the smallest arena over all kernels for the sake of speed; 0 is the smallest.",
        rich_help_panel=_PLANNING,
    ),
]
SolverChoice = Annotated[
    str,
    typer.Option(
        "--solver",
        metavar="SOLVER",
        help="Who places buffers in the arena: builtin, or cp-sat (exact, slower; needs the package ortools). A plan "
        "does not depend on what is installed.",
        rich_help_panel=_PLANNING,
    ),
]
SplitMode = Annotated[
    Split, typer.Option("--split", help="Splitting of operators to save RAM.", rich_help_panel=_PLANNING)
]
ShrinkMode = Annotated[
    Shrink,
    typer.Option(
        "--shrink",
        help="Removal of channels that are constant, equal, or never read: the outputs stay the same, to the bit.",
        rich_help_panel=_PLANNING,
    ),
]
StreamAxis = Annotated[
    str | None,
    typer.Option(
        "--stream",
        metavar="AXIS",
        help="Keep the model as a stream along an axis of its input (time, height, width or its index): each call "
        "takes the next columns and gives the result of the window that ends with them.",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
KernelChoice = Annotated[
    str,
    typer.Option(
        "--kernels",
        metavar="LIBRARY",
        help="auto (the cheapest of what is there for each operator), cmsis-nn, portable, or native (tinygen's own "
        "wherever there is one).",
        rich_help_panel=_PLANNING,
    ),
]
CmsisNn = Annotated[
    Path | None,
    typer.Option(
        "--cmsis-nn",
        metavar="DIR",
        help="Folder of CMSIS-NN's sources (default: $TINYGEN_CMSIS_NN or the submodule).",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
AllowFloat = Annotated[
    bool,
    typer.Option("--allow-float", help="Run operators on float32 as such, in float C code.", rich_help_panel=_PLANNING),
]
InputShapes = Annotated[
    list[str] | None,
    typer.Option(
        "--input-shape",
        metavar="NAME=N,C,H,W",
        help="Shape of an input of an ONNX model, where its file leaves sizes open; once for each input.",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
Dims = Annotated[
    list[str] | None,
    typer.Option(
        "--dim",
        metavar="NAME=N",
        help="Size of a symbolic dimension of an ONNX model; once for each name.",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
InputLayout = Annotated[
    str,
    typer.Option(
        "--input-layout",
        metavar="LAYOUT",
        help="Order of axes of images that go into and come out of an ONNX model: nchw (as in the file) or nhwc.",
        rich_help_panel=_PLANNING,
    ),
]
CcOpt = Annotated[
    str | None,
    typer.Option(
        "--cc-opt",
        metavar="LEVEL",
        help="Optimisation level of the C compiler: s, 2 or 3 (default: 2; s with -O size).",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
CTableFile = Annotated[
    Path | None,
    typer.Option(
        "--ctable",
        metavar="FILE",
        help="Quantize a float model by this table (`tinygen calibrate`).",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
CalibrationData = Annotated[
    Path | None,
    typer.Option(
        "--calibrate",
        metavar="FILE",
        help="Quantize a float model with a table made of these samples (.npz, .npy).",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
WeightText = Annotated[
    str,
    typer.Option(
        "--weights",
        metavar="TYPE",
        help="Type of the weights of a calibrated model: int1 to int8, with activations beyond int8 to int16.",
        rich_help_panel=_PLANNING,
    ),
]
ActivationText = Annotated[
    str,
    typer.Option(
        "--activations",
        metavar="TYPE",
        help="Type of the tensors of a calibrated model: int2 to int16.",
        rich_help_panel=_PLANNING,
    ),
]
EngineOf = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        metavar="NAME=ENGINE",
        help="Engine of the board for one operator, or for those of a pattern with *; may be given several times, the "
        "last counts.",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
MaxDrop = Annotated[
    float,
    typer.Option(
        "--max-drop",
        min=0,
        metavar="POINTS",
        help="How far the choice of engines (or --mixed) may fall: points of accuracy or of 100 x cosine below the "
        "float network, dB of SQNR below int8 or the widest engines.",
        rich_help_panel=_PLANNING,
    ),
]
OpWidths = Annotated[
    list[str] | None,
    typer.Option(
        "--op",
        metavar="NAME=w4a8",
        help="Other widths for one operator, or for those of a pattern with *: weights and activations of 1 to "
        "16 bits, as w4a8, w8a16, w4a4 or w1a1; may be given several times, the last counts.",
        show_default=False,
        rich_help_panel=_PLANNING,
    ),
]
