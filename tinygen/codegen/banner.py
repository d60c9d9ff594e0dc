"""The first lines of generated files: their licence, what they are made from, and by whom."""

from tinygen import __version__
from tinygen.codegen.c_text import comment
from tinygen.planner.schedule.schedule import Schedule
from tinygen.targets import Board

LICENCE = "SPDX-License-Identifier: Apache-2.0"  # of what templates and runtime_c print
_MODEL_LICENCE = "SPDX-License-Identifier: LicenseRef-Model"  # of what was in the model's file


def code_banner(schedule: Schedule, name: str, source: str) -> str:
    """Above code that was made from the user's file `source`."""
    return comment(LICENCE, "", _made_from(schedule, name, source))


def numbers_banner(schedule: Schedule, name: str, source: str) -> str:
    """Above numbers that stood in it."""
    said = f"These are numbers of {source}, under the licence of that model."
    return comment(_MODEL_LICENCE, "", _made_from(schedule, name, source), said)


def folder_banner(name: str, board: Board) -> str:
    """Above code that belongs to no network alone."""
    return comment(
        LICENCE, "", f"{name}: made by tinygen {__version__} for {board.name} ({board.cpu}, {board.isa}). Do not edit."
    )


def _made_from(schedule: Schedule, name: str, source: str) -> str:
    board = schedule.board
    return (
        f"{name}: made by tinygen {__version__} from {source} for {board.name} ({board.cpu}, {board.isa}), "
        f"solver {schedule.solver.value}. Do not edit."
    )
