"""The measuring program around a model: feeds it samples from a file, writes outputs, counts and traces."""

from dataclasses import dataclass
from enum import Enum

from tinygen.codegen.environment import environment
from tinygen.codegen.model import ModelText
from tinygen.planner.schedule import Schedule

GUARD_BYTES = 64  # before and behind the arena
INPUT_FILE = "inputs.bin"
OUTPUT_FILE = "outputs.bin"
TRACE_FILE = "trace.bin"


class Measure(Enum):
    """What the program does besides running samples."""

    INSTRUCTIONS = "instructions"
    INSTRUCTIONS_PER_OPERATOR = "per-operator"
    STACK = "stack"
    TRACE = "trace"  # writes every operator's results


@dataclass(frozen=True)
class TracedResult:
    """Bytes of the arena that an operator has just written."""

    offset: int
    bytes: int


def traced_results(schedule: Schedule) -> list[list[TracedResult]]:
    """Per call, its results in order."""
    return [
        [TracedResult(schedule.address(tensor), tensor.type.bytes) for tensor in call.op.results]
        for call in schedule.steps
    ]


def render_harness(schedule: Schedule, name: str, samples: int, measure: Measure) -> dict[str, str]:
    """`main.c` and the header `after_operator.h` that the model's source is compiled with."""
    context = {
        "model": ModelText(name, schedule),
        "samples": samples,
        "measure": measure.value,
        "traced": traced_results(schedule),
        "guard_bytes": GUARD_BYTES,
        "input_file": INPUT_FILE,
        "output_file": OUTPUT_FILE,
        "trace_file": TRACE_FILE,
    }
    return {
        file: environment().get_template(f"harness/{file}.j2").render(context)
        for file in ("main.c", "after_operator.h")
    }
