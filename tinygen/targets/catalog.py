"""Finding a board by name, by file, by its core, or by the name of the microcontroller."""

import tomllib
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from tinygen import paths
from tinygen.errors import UsageError
from tinygen.targets import parts as by_name
from tinygen.targets.board import Board
from tinygen.targets.engine_templates import EngineTemplates, read_templates

_PARTS = paths.BOARDS / "parts"  # one file each, as boards have
_BOARD_OF_CORE = {
    "cortex-m0": "mps2-an382",
    "cortex-m0plus": "mps2-an383",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m23": "mps2-an519",
    "cortex-m33": "mps2-an505",
    "cortex-m52": "qemu-m52",
    "cortex-m55": "mps3-an547",
    "cortex-m85": "qemu-m85",
    "rv32imc": "qemu-rv32imc",
    "rv32imac": "qemu-rv32",
    "rv32imafc": "qemu-rv32imafc",
    "rv32imac_zve32x": "qemu-rv32-zve32x",
    "hazard3": "qemu-hazard3",
}


def names() -> tuple[str, ...]:
    """Names of all boards that come with tinygen, sorted, `host` first."""
    return tuple(sorted(_stems(paths.BOARDS), key=lambda name: name != "host"))


@cache
def parts() -> tuple[Board, ...]:
    """All microcontrollers that are known by name, sorted by it."""
    found = (*map(load, names()), *(_read(_PARTS / f"{name}.toml") for name in _stems(_PARTS)))
    return tuple(sorted((board for board in found if board.part is not None), key=lambda board: board.name))


def search(text: str) -> tuple[Board, ...]:
    """Boards and parts with `text` in a name, the vendor, the family, the core or the description."""
    boards = [board for board in map(load, names()) if board.part is None]
    return by_name.search(text, (*boards, *parts()))


def nearest(name: str) -> list[str]:
    """Names of boards, cores and parts like this one."""
    own = {by_name.normalized(known): known for known in (*names(), *_BOARD_OF_CORE)}
    return by_name.nearest(name, own | {key: board.name for board in parts() for key in by_name.keys(board)})


def emulated_core(board: Board) -> str | None:
    """The bare core that stands for the board's where it has no machine of its own."""
    return next((core for core in (board.cpu, board.architecture) if core in _BOARD_OF_CORE), None)


def load(name_or_path: str) -> Board:
    """The board called so, described by that TOML file, the roomy board of that bare core, or that microcontroller."""
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        return _read(Path(name_or_path))
    name = _BOARD_OF_CORE.get(name_or_path, name_or_path)
    if name in names():
        return _read(paths.BOARDS / f"{name}.toml")
    if name in _stems(_PARTS):
        return _read(_PARTS / f"{name}.toml")
    found = by_name.find(name_or_path, parts())
    if found is None:
        raise UsageError(_unknown(name_or_path))
    return found


def cores(name_or_path: str) -> tuple[Board, ...]:
    """The boards of all instruction sets that a microcontroller has, where it is named as such; else the one board."""
    board = load(name_or_path)
    if board.part is None or by_name.normalized(name_or_path) == by_name.normalized(board.name):
        return (board,)
    return (board, *(_read(paths.BOARDS / f"{name}.toml") for name in board.part.also))


def _stems(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.toml"))


def _unknown(name: str) -> str:
    known = ", ".join((*names(), *_BOARD_OF_CORE))
    near = nearest(name)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`tinygen targets --search TEXT` finds parts."
    return (
        f"target {name!r}: is not known, expected a TOML file, one of {known}, or one of {len(parts())} parts. {hint}"
    )


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
