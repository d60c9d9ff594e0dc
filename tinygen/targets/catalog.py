"""Finding a board by name, by file, or by its core."""

import difflib
import tomllib
from pathlib import Path

from pydantic import ValidationError

from tinygen import paths
from tinygen.errors import UsageError
from tinygen.targets.board import Board
from tinygen.targets.engine_templates import EngineTemplates, read_templates

_BOARD_OF_CORE = {
    "cortex-m0": "mps2-an382",
    "cortex-m0plus": "mps2-an383",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m33": "mps2-an505",
    "cortex-m55": "mps3-an547",
    "rv32imac": "qemu-rv32",
    "rv32imafc": "qemu-rv32imafc",
    "hazard3": "qemu-hazard3",
}


def names() -> tuple[str, ...]:
    """Names of all boards that come with tinygen, sorted, `host` first."""
    found = sorted(file.stem for file in paths.BOARDS.glob("*.toml"))
    return tuple(sorted(found, key=lambda name: name != "host"))


def load(name_or_path: str) -> Board:
    """The board called so, described by that TOML file, or the roomy board of that bare core."""
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        return _read(Path(name_or_path))
    name = _BOARD_OF_CORE.get(name_or_path, name_or_path)
    if name not in names():
        raise UsageError(_unknown(name_or_path))
    return _read(paths.BOARDS / f"{name}.toml")


def _unknown(name: str) -> str:
    known = (*names(), *_BOARD_OF_CORE)
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "Choose one of them."
    return f"target {name!r}: is not known, expected a TOML file or one of {', '.join(known)}. {hint}"


def _read(file: Path) -> Board:
    try:
        board = Board.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(f"{file}: does not exist, expected a board's TOML file. Correct the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error}), expected a board's TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: is not valid TOML: {error}. Correct the file.") from None
    except ValidationError as error:
        raise UsageError(f"{file}: {_first_problem(error)}. Correct the file.") from None
    has_templates = any(engine.templates is not None for engine in board.engines)
    return board.with_templates(_templates(file, board)) if has_templates else board


def _templates(file: Path, board: Board) -> dict[str, EngineTemplates]:
    """Of the engines that have some."""
    found = {}
    for index, engine in enumerate(board.engines):
        if engine.templates is not None:
            try:
                found[engine.label] = read_templates(file.parent, engine.templates)
            except ValueError as error:
                raise UsageError(f"{file}: key 'engine.{index}.templates': {error}. Correct it.") from None
    return found


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"key {where!r} is not known"
    if first["type"] == "missing":
        return f"key {where!r} is missing"
    what = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"key {where!r}: {what}" if where else what
