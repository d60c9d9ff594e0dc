"""A compilation that a task begins with."""

from dataclasses import replace
from pathlib import Path

from tinygen.build.desk import Desk
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.tasks.kernel_note import kernel_note
from tinygen.tasks.listener import Listener


def compiled_within(model: Path, options: Options, listener: Listener, desk: Desk | None = None) -> Compiled:
    """A model that fits its target, and runs on the board at `desk` where there is one; DoesNotFitError."""
    with listener.searching(f"compiling {model.name}") as watch:
        compiled = replace(compile_model(model, options, watch=watch), desk=desk)
    listener.note(kernel_note(compiled))
    compiled.check_fits()
    return compiled
