"""From a schedule to the C files of a model."""

from collections.abc import Callable

from jinja2 import Template

from tinygen import __version__
from tinygen.codegen.c_text import comment
from tinygen.codegen.environment import environment
from tinygen.codegen.model import ModelText
from tinygen.kernels.base import Kernel
from tinygen.planner.schedule import Schedule


def render(schedule: Schedule, name: str, source: str) -> dict[str, str]:
    """The C files of the model, by file name; `source` is the user's file that they were made from.

    The same schedule and names give the same bytes.
    """
    model = ModelText(name, schedule)
    context = {
        "model": model,
        "board": schedule.board,
        "banner": comment(
            f"{name}: made by tinygen {__version__} from {source} for {schedule.board.name} "
            f"({schedule.board.cpu}, {schedule.board.isa}). Do not edit."
        ),
        "types": _blocks(model, lambda template, kernel: template.module.types(kernel)),  # type: ignore[attr-defined]
        "runners": _blocks(model, lambda template, kernel: template.module.runner(kernel)),  # type: ignore[attr-defined]
        "layers": {call.symbol: _layer(call.kernel, call.layer, call.tables) for call in model.calls},
    }
    files = {
        f"{name}.h": "model.h.j2",
        f"{name}.c": "model.c.j2",
        f"{name}_weights.h": "weights.h.j2",
        f"{name}_weights.c": "weights.c.j2",
    }
    return {file: environment().get_template(template).render(context) for file, template in files.items()}


def _blocks(model: ModelText, block: Callable[[Template, Kernel], str]) -> list[str]:
    """One text per kernel function, equal texts once."""
    texts = [str(block(_template(kernel), kernel)).strip("\n") for kernel in model.kernels]
    return list(dict.fromkeys(texts))


def _layer(kernel: Kernel, symbol: str, tables: dict[str, str]) -> str:
    return str(_template(kernel).module.layer(kernel, symbol, tables)).strip("\n")  # type: ignore[attr-defined]


def _template(kernel: Kernel) -> Template:
    return environment().get_template(f"ops/{kernel.template}.c.j2")
