"""A product's file, `tinygen.toml`: its networks, and all options that they become C with.

Whoever checks a product out builds it without reading the file first, so it is not trusted: paths in it lead to its own
folder, and code in models runs only where the command line says so.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_origin

from tinygen.codegen.project import ProjectKind
from tinygen.errors import UsageError
from tinygen.option import FILE, TEXT, Option, Written, choice, from_written, options_of
from tinygen.options import FRONT_END, Joining, Options

PRODUCT_FILE = "tinygen.toml"

_MOST_BYTES = 1 << 20
_MOST_MODELS = 100
_KEYS = ("models", "output", "project", "options")
_ONLY_ASKED = "trust"  # the option that a file cannot give
_BOARD = ".toml"  # suffix of a target that is a file


@dataclass(frozen=True)
class ProductPlan:
    """What `tinygen build` repeats."""

    models: tuple[str, ...]  # MODEL or NAME=MODEL, as `tinygen compile` takes them
    output: Path
    project: ProjectKind
    options: Options
    joining: Joining


def read_product(file: Path, trusts: bool = False) -> ProductPlan:
    """The product in a file; UsageError for what is none, for options that are none and for paths that lead away."""
    file = file / PRODUCT_FILE if file.is_dir() else file
    document = _document(file)
    unknown = sorted(document.keys() - set(_KEYS))
    if unknown:
        raise UsageError(f"{file}: has '{unknown[0]}', one of {', '.join(_KEYS)} was expected. Correct the name.")
    folder = file.parent
    given = document.get("options", {})
    if not isinstance(given, dict):
        raise UsageError(f"{file}: options is no table, a table [options] was expected. Correct it.")
    if _ONLY_ASKED in given:
        raise UsageError(
            f"{file}: has the option 'trust', which only the command line can give, as it lets code in models run. "
            "Leave it out, and add --trust where you trust the models."
        )
    known = {**options_of(Options), **options_of(Joining)}
    chosen = {keyword: _value(file, keyword, value, known.get(keyword)) for keyword, value in given.items()}
    joining = {keyword: chosen.pop(keyword) for keyword in options_of(Joining) if keyword in chosen}
    try:
        options = from_written(Options, {**chosen, "trust": trusts})
        joined = from_written(Joining, joining)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None
    except (TypeError, ValueError) as error:
        raise UsageError(f"{file}: an option has a value that is none ({error}). Correct it.") from None
    return ProductPlan(
        models=tuple(_model(folder, file, text) for text in _models(file, document)),
        output=_output(file, document.get("output", "out")),
        project=choice(ProjectKind, "project", _text(file, "project", document.get("project", "make"))),
        options=options,
        joining=joined,
    )


def product_text(models: Sequence[str], output: str, options: Mapping[str, Written]) -> str:
    """A file that `read_product` reads; UsageError where a name is no text."""
    lines = [
        "# What `tinygen build` repeats: the options are those of `tinygen compile`, with underscores.",
        f"models = [{', '.join(map(_quoted, models))}]",
        f"output = {_quoted(output)}",
        "",
        "[options]",
        *(f"{keyword} = {_quoted(value)}" for keyword, value in options.items()),
    ]
    return "".join(f"{line}\n" for line in lines)


def _quoted(value: object) -> str:
    """As TOML has it: JSON's strings and numbers are TOML's, but for one character."""
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{value!r}: is no text, a name in UTF-8 was expected. Rename the file.") from None
    return text


def _document(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"{file}: has more than {_MOST_BYTES:,} bytes, a product's file has less. Name another.")
        return tomllib.loads(content.decode())
    except FileNotFoundError:
        raise UsageError(
            f"{file}: there is no such file. Write one with `tinygen new MODEL -t PART`, or name another."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file}: cannot be read ({reason}), a TOML file was expected. Correct it.") from None


def _models(file: Path, document: Mapping[str, Any]) -> list[str]:
    given = document.get("models")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise UsageError(f'{file}: models is {given!r}, a list as in models = ["net.tflite"] was expected. Correct it.')
    if len(texts) > _MOST_MODELS:
        raise UsageError(f"{file}: has {len(texts)} models, at most {_MOST_MODELS} were expected. Split it.")
    return texts


def _model(folder: Path, file: Path, text: str) -> str:
    """The model of MODEL or NAME=MODEL, in the product's folder."""
    name, separator, path = text.partition("=")
    if separator and name.isidentifier() and not (folder / text).exists():
        return f"{name}={_inside(file, 'models', path)}"
    return str(_inside(file, "models", text))


def _value(file: Path, keyword: str, value: object, option: Option | None) -> object:
    """A value of the kind that the option has; paths in the product's folder."""
    if option is None:
        return value  # whose name the options refuse
    is_list, takes_list = isinstance(value, list), get_origin(option.kind.type) is list
    parts = value if isinstance(value, list) else [value]
    is_plain = all(isinstance(part, str if takes_list else str | int | float) for part in parts)
    if is_list != takes_list or not is_plain or (option.kind in (FILE, TEXT) and not isinstance(value, str)):
        expected = "a list of texts" if takes_list else "a text or a number"
        raise UsageError(f"{file}: {keyword} is {value!r}, {expected} was expected. Correct it.")
    if option.kind in (FILE, FRONT_END) or (keyword == "target" and str(value).endswith(_BOARD)):
        return str(_inside(file, keyword, _text(file, keyword, value)))
    return value


def _output(file: Path, value: object) -> Path:
    """A folder below the file's own, in which the product lies."""
    text = _text(file, "output", value)
    output = _inside(file, "output", text)
    if output.resolve() == file.parent.resolve():
        raise UsageError(f"{file}: output names {text!r}, a folder inside of the file's own was expected. Name one.")
    return output


def _text(file: Path, key: str, value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise UsageError(f"{file}: {key} is {value!r}, a text was expected. Correct it.")
    return value


def _inside(file: Path, key: str, text: str) -> Path:
    """The path of `text` in the folder of `file`; UsageError where it leads out of it."""
    folder = file.parent
    try:
        is_inside = (folder / text).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # loops of links, names that are none
        is_inside = False
    if not is_inside or Path(text).is_absolute():
        raise UsageError(
            f"{file}: {key} names {text!r}, a path in the file's own folder was expected. Move what it names there."
        )
    return folder / text
