"""The measuring program around a model: feeds it all samples of a file, writes outputs, counts and traces."""

from enum import Enum

from tinygen.codegen.environment import environment
from tinygen.codegen.model import ModelText
from tinygen.planner.schedule.schedule import Schedule

GUARD_BYTES = 64  # before and behind the arena
INPUT_FILE = "inputs.bin"
OUTPUT_FILE = "outputs.bin"
TRACE_FILE = "trace.bin"  # what each call has written, in the order of the calls


class Measure(Enum):
    """What the program does besides running samples."""

    INSTRUCTIONS = "instructions"
    INSTRUCTIONS_PER_OPERATOR = "per-operator"
    STACK = "stack"
    TRACE = "trace"  # writes every operator's results


def render_harness(schedule: Schedule, name: str, measure: Measure, over_serial: bool = False) -> dict[str, str]:
    """`main.c` and the header `after_call.h` that the model's source is compiled with.

    `over_serial`: a program that can do all of it, and asks the host at the other end of a serial line what.
    """
    context = {
        "model": ModelText(name, schedule),
        "measure": measure.value,
        "over_serial": over_serial,
        "guard_bytes": GUARD_BYTES,
        "input_file": INPUT_FILE,
        "output_file": OUTPUT_FILE,
        "trace_file": TRACE_FILE,
    }
    return {
        file: environment().get_template(f"harness/{file}.j2").render(context) for file in ("main.c", "after_call.h")
    }
