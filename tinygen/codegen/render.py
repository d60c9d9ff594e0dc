"""From a schedule to the C files of a model."""

from tinygen.budget import PRINTED_BYTES
from tinygen.codegen.banner import code_banner, numbers_banner
from tinygen.codegen.environment import environment
from tinygen.codegen.line_breaks import break_lines
from tinygen.codegen.model import Home, ModelText
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Schedule


def render(schedule: Schedule, name: str, source: str, home: Home | None = None) -> dict[str, str]:
    """The C files of the model, by file name; `source` is the user's file that they were made from, `home` where it
    has its memory in a folder of several networks.

    The same schedule and names give the same bytes. BudgetError where its constants are too large for C text.
    """
    PRINTED_BYTES.check(const_bytes(schedule), schedule.graph.name)
    model = ModelText(name, schedule, home=home)
    context = {
        "model": model,
        "board": schedule.board,
        "banner": code_banner(schedule, name, source),
        "numbers_banner": numbers_banner(schedule, name, source),
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
