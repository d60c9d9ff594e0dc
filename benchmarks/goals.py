"""Plans every model for every goal, and compares each plan with those of the others at its own aim; writes goals.md.

    python -m benchmarks.goals

Needs the models of ../shared/models; CMSIS-NN is used where it is there. Nothing is built or run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tinygen.kernels.base import Objective, Toolbox
from tinygen.options import Options
from tinygen.pipeline import Shared, plan_model
from tinygen.planner.cost.code import functions_bytes, functions_called
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.cost.growth import PLAIN_SHARE, plain_bytes, price_of_a_byte
from tinygen.planner.knee import MOST_OF_PLAIN
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.search.goals import BALANCED_EXTRA, ESTIMATES_OFF, LOOPS_SAVE, RAM_SLACK

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"
PAGE = Path(__file__).with_name("goals.md")
BOARDS = ("mps2-an382", "mps2-an386", "mps3-an547")
NAMES = (
    *(f"mlperf_tiny/{name}" for name in ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")),
    "mlperf_tiny/str_ww_ref_model",
    *(
        f"open/{name}"
        for name in (
            "mcunet_vww_int8",
            "mlonmcu_micro_kws_m_int8",
            "mww_v2_vad_streaming_int8",
            "silabs_rock_paper_scissors",
            "tflm_hello_world_int8",
            "tflm_keyword_scrambled_8bit",
            "tflm_micro_speech_int8",
            "tflm_mnist_lstm_int8",
            "tflm_person_detect",
            "tinymaix_cifar10_int8",
            "tinymaix_mbnet96_0.25_int8",
        )
    ),
)
GOALS = tuple(Objective)

_HEAD = f"""\
# Goals beside each other

Made by `python -m benchmarks.goals` (`make bench-goals`); do not edit.

What each goal plans with the kernels that are there (CMSIS-NN is), on Cortex-M0 (`mps2-an382`), M4 (`mps2-an386`) and
M55 (`mps3-an547`): bytes of the arena, modelled instructions in thousands, bytes of constants and of kernels' code. No
goal's plan is beaten at its own aim by another's (`tests/planner/test_kept_goals.py` holds that for some of them and
for random networks):

- `-O time`: none runs in fewer instructions, but for {ESTIMATES_OFF:.1%} by which estimates of plans of one network may
  be off, unless it takes {PLAIN_SHARE:.0%} of what portable kernels and their constants take more flash, constants and
  code, for each percent that it saves; none with loops saves a tenth or more;
- `-O ram`: none has an arena that is smaller by more than the slack, {RAM_SLACK:.0%};
- `-O size`: none on whole tensors has fewer bytes of constants; its kernels are the same with CMSIS-NN and without;
- `-O balanced`, which is the default: its constants are at most {MOST_OF_PLAIN:g} times those that the library's
  kernels read; it runs at most {BALANCED_EXTRA:.0%} more instructions than plans with as few, but for what these pay
  with code at that rate, and none is better in RAM, flash and instructions together.

"""
_TABLE = """\
| model | board | goal | arena | instructions | constants | code | calls |
|---|---|---|--:|--:|--:|--:|--:|
"""


@dataclass(frozen=True)
class Plan:
    """What a goal's plan takes."""

    arena_bytes: int
    instructions: float  # modelled
    const_bytes: int
    calls: int
    is_whole: bool  # on whole tensors
    code_bytes: int = 0  # of its kernels

    @property
    def flash_bytes(self) -> int:
        """Constants, and the code of kernels."""
        return self.const_bytes + self.code_bytes

    def is_beaten_by(self, other: "Plan") -> bool:
        """Whether another one takes less of all, or as much flash."""
        is_less = other.arena_bytes < self.arena_bytes and other.instructions < self.instructions
        return is_less and other.flash_bytes <= self.flash_bytes


def planned(schedule: Schedule, toolbox: Toolbox) -> Plan:
    """The figures of a plan."""
    return Plan(
        schedule.arena_bytes,
        estimated_instructions(schedule, toolbox.library),
        const_bytes(schedule),
        len(schedule.flat_steps),
        len(schedule.flat_steps) == len(schedule.calls) and all(call.split_from is None for call in schedule.calls),
        functions_bytes(functions_called(schedule), toolbox),
    )


def broken(plans: Mapping[Objective, Plan], price: float = 0.0, plain_bytes: int | None = None) -> Iterator[str]:
    """Where a goal does not keep its word; `price`: the instructions that a byte of flash is worth, `plain_bytes`:
    constants that the library's kernels read."""
    time, ram, size = (plans[goal] for goal in (Objective.TIME, Objective.RAM, Objective.SIZE))
    for name, other in ((f"-O {goal.value}", plan) for goal, plan in plans.items()):
        worth_it = other.instructions if other.is_whole else other.instructions / (1 - LOOPS_SAVE)
        worth_it += price * max(0, other.flash_bytes - time.flash_bytes)
        if time.instructions > (1 + ESTIMATES_OFF) * worth_it:
            yield f"-O time runs {time.instructions:,.0f}, {name} {other.instructions:,.0f} instructions"
        if ram.arena_bytes > (1 + RAM_SLACK) * other.arena_bytes:
            yield f"-O ram takes {ram.arena_bytes}, {name} {other.arena_bytes} bytes of RAM"
        if other.is_whole and size.const_bytes > other.const_bytes:
            yield f"-O size takes {size.const_bytes}, {name} {other.const_bytes} bytes of constants"
    if plain_bytes is not None:
        yield from _off_the_knee(plans, price, int(MOST_OF_PLAIN * plain_bytes))


def _off_the_knee(plans: Mapping[Objective, Plan], price: float, most_constants: int) -> Iterator[str]:
    """Where a balanced plan does not keep its word."""
    own = plans[Objective.BALANCED]
    if own.const_bytes > most_constants:
        yield f"-O balanced takes {own.const_bytes} bytes of constants, more than {most_constants}"
    for goal, other in plans.items():
        is_small = other.const_bytes <= max(most_constants, own.const_bytes)
        worth_it = other.instructions + price * max(0, other.code_bytes - own.code_bytes)
        if is_small and own.instructions > (1 + BALANCED_EXTRA) * worth_it:
            yield f"-O balanced runs {own.instructions:,.0f}, -O {goal.value} {other.instructions:,.0f} instructions"
        if own.is_beaten_by(other):
            yield f"-O balanced is beaten by -O {goal.value} in RAM, flash and instructions"


def _rows(name: str, board: str, plans: Mapping[Objective, Plan]) -> Iterator[str]:
    for goal, plan in plans.items():
        said = f"`-O {goal.value}`"
        thousands = round(plan.instructions / 1000)
        numbers = (plan.arena_bytes, thousands, plan.const_bytes, plan.code_bytes, plan.calls)
        yield f"| {name.rpartition('/')[2]} | {board} | {said} | {' | '.join(f'{number:,}' for number in numbers)} |\n"


def plans_of(model: Path, board: str) -> tuple[dict[Objective, Plan], float, int]:
    """Of each goal, the instructions that a byte of flash is worth to -O time, and the bytes of plain ones."""
    shared = Shared()
    found = {goal: plan_model(model, Options(target=board, objective=goal), shared=shared) for goal in GOALS}
    time = found[Objective.TIME]
    price = price_of_a_byte(time.graph.ops, time.toolbox, None)
    plans = {goal: planned(compiled.schedule, compiled.toolbox) for goal, compiled in found.items()}
    return plans, price, plain_bytes(time.graph.ops, time.toolbox)


def main() -> None:
    """Write the page; SystemExit where a goal does not keep its word."""
    text, failures = _HEAD + _TABLE, []
    for name, board in product(NAMES, BOARDS):
        plans, price, plain = plans_of(MODELS / f"{name}.tflite", board)
        failures += [f"{name} on {board}: {failure}" for failure in broken(plans, price, plain)]
        text += "".join(_rows(name, board, plans))
    PAGE.write_text(text, encoding="utf-8")
    if failures:
        raise SystemExit("\n".join(failures))


if __name__ == "__main__":
    main()
