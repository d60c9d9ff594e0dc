"""What one model may ask of this machine: every limit of the pipeline, with its reason.

Model files and templates are untrusted, and a few bytes of them can describe any number of elements, operators or
steps. Each limit is checked where such things are made, so that a command ends in an error and not without memory. They
stand far above what microcontrollers take: MobileNetV2 on 224x224 pixels has 66 operators, 1.2 MB in its largest tensor
(4.8 as float32) and 7.0 MB in all of them. Amounts are counted, never timed: the same input has the same outcome
everywhere.
"""

from dataclasses import dataclass
from typing import Final

from tinygen.errors import UnsupportedModelError

_LONGEST_NUMBER = 10**18  # beyond which a message needs no digits


class BudgetError(UnsupportedModelError):
    """A model asks for more than a limit of the budget."""


@dataclass(frozen=True)
class Limit:
    """How much of one thing there may be."""

    most: int
    of: str  # what is counted, in the plural
    remedy: str = "Make the model smaller."

    def check(self, amount: int, where: str) -> None:
        """Raise BudgetError, naming the place and the limit, where `amount` exceeds it."""
        if amount > self.most:
            number = f"{amount:,}" if amount < _LONGEST_NUMBER else f"over {_LONGEST_NUMBER:,}"
            raise BudgetError(f"{where}: {number} {self.of}, at most {self.most:,} were expected. {self.remedy}")


@dataclass
class Account:
    """What is spent of a limit bit by bit."""

    limit: Limit
    spent: int = 0

    def spend(self, amount: int, where: str) -> None:
        """Count `amount`; BudgetError once the sum exceeds the limit."""
        self.spent += amount
        self.limit.check(self.spent, where)


FILE_BYTES: Final = Limit(1 << 26, "bytes of a TFLite file")
"""No microcontroller has 64 MB of flash; readers hold the whole file."""

TABLE_BYTES: Final = Limit(1 << 24, "bytes of tables, lists and names")
"""Of a TFLite file, without its weights: tables may share bytes, so that a small file can hold endless ones."""

CONSTANT_BYTES: Final = Limit(1 << 31, "bytes of constants")
"""In an ONNX file and in files beside it, but for tables that are read by rows and stay in their files. The largest
message of protobuf has as many."""

NODES: Final = Limit(1 << 14, "operators of its file")
"""With those of functions in the place of their calls, and those that only compute shapes. Each takes 0.1 to 1 ms."""

MLIR_BYTES: Final = Limit(1 << 28, "letters of MLIR")
"""Two for each byte of constants, so those that four TFLite files may have: calibrated networks had float32 weights."""

RELAY_BYTES: Final = Limit(1 << 28, "letters of Relay")
"""With the constants in its metadata, as base64; those of a file beside it are not counted here."""

READ_TENSORS: Final = Limit(1 << 19, "tensors of subgraphs, each as often as it is run")
"""In a TFLite file, whose operators may all run one subgraph with any number of tensors. Each takes some 3 us."""

OPERATORS: Final = Limit(1 << 12, "operators")
"""That are left in a graph and its subgraphs: some searches of the planner take a time that grows with their square."""

TENSOR_BYTES: Final = Limit(1 << 26, "bytes for a tensor")
"""One input or result. No microcontroller has as much RAM, and numpy's references take up to ten times that."""

ACTIVATION_BYTES: Final = Limit(1 << 28, "bytes for all inputs and results together")
"""Of a graph and its subgraphs. The checker has a mark of 4 bytes for each byte of the arena, and for each byte that
will still be read."""

WORKING_ELEMENTS: Final = Limit(1 << 27, "elements at once to compute its result")
"""A reference in numpy holds all windows of a convolution, in 8 bytes each: 1 GB."""

FOLDED_BYTES: Final = Limit(1 << 30, "bytes of constants computed from others")
"""Of a whole model: float16 weights are cast to float32 while reading, a few bytes fill a shape of any size."""

ROWS: Final = Limit(1 << 14, "rows")
"""Of a result that is computed row by row: the planner looks at each. What has more is computed as a whole."""

NEIGHBOURS: Final = Limit(1 << 18, "pairs of buffers that are live at one step")
"""Of a plan on whole tensors: that is 724 buffers all at once. Placing looks at each pair, and keeps a distance for it.
MobileNetV2 has 74."""

STEPS: Final = Limit(1 << 18, "steps", "Plan on whole tensors: --split off.")
"""Of a schedule or a chain, loops unrolled: each is planned, checked and interpreted on its own."""

TURNS: Final = Limit(1 << 16, "turns of a loop", "Let the loop end earlier.")
"""Of one call of a network, where it decides itself how often a part of it runs: the C ends the call with an error."""

LOOP_WORK: Final = Limit(1 << 21, "operators run by loops", "Let loops end earlier, or do less in each turn.")
"""Of a model while it is compiled, and of each call of its references: each operator takes numpy some 10 us in each
turn. Every 4,096 elements or products of it count as another one."""

PRINTED_BYTES: Final = Limit(1 << 26, "bytes of constants in C")
"""As for a TFLite file. Each is printed as up to five letters, several copies of which are in memory."""

TEMPLATE_BYTES: Final = Limit(1 << 22, "letters of templates")
"""Of an engine, all together."""

TEMPLATE_STEPS: Final = Limit(1 << 24, "steps", "Let the template do less.")
"""That the templates of an engine may take for a model. A step is an operation, a turn of a loop for each node in its
body, an element of a list or 16 letters that are made (`codegen/sandbox.py`): 256 MB of text at most."""

TEMPLATE_VALUE: Final = Limit(1 << 24, "letters or elements in one value", "Let the template do less.")
"""That an operation in a template makes: looked at before it is made."""
