"""From a schedule to the C files of a model."""

from tinygen import __version__
from tinygen.budget import PRINTED_BYTES
from tinygen.codegen.c_text import comment
from tinygen.codegen.environment import environment
from tinygen.codegen.line_breaks import break_lines
from tinygen.codegen.model import ModelText
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Schedule


def render(schedule: Schedule, name: str, source: str) -> dict[str, str]:
    """The C files of the model, by file name; `source` is the user's file that they were made from.

    The same schedule and names give the same bytes. BudgetError where its constants are too large for C text.
    """
    PRINTED_BYTES.check(const_bytes(schedule), schedule.graph.name)
    model = ModelText(name, schedule)
    context = {
        "model": model,
        "board": schedule.board,
        "banner": comment(
            f"{name}: made by tinygen {__version__} from {source} for {schedule.board.name} "
            f"({schedule.board.cpu}, {schedule.board.isa}), solver {schedule.solver.value}. Do not edit."
        ),
    }
    files = {
        f"{name}.h": "model.h.j2",
        f"{name}.c": "model.c.j2",
        f"{name}_weights.h": "weights.h.j2",
        f"{name}_weights.c": "weights.c.j2",
    }
    if model.has_engines:
        files |= {f"{name}_engines.h": "engines.h.j2", f"{name}_engines.c": "engines.c.j2"}
    texts = {file: environment().get_template(template).render(context) for file, template in files.items()}
    as_they_are = (f"{name}_weights.", f"{name}_engines.")  # the latter may hold what a board's templates print
    return {file: text if file.startswith(as_they_are) else break_lines(text) for file, text in texts.items()}
