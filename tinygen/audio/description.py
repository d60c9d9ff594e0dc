"""Front ends as files: JSON with the kind and the fields of one."""

import json
from pathlib import Path
from typing import Any

from tinygen.audio.front_end import FrontEnd
from tinygen.audio.log_mel import LogMelFrontEnd
from tinygen.audio.micro import MicroFrontEnd
from tinygen.errors import UsageError

KINDS: dict[str, type[FrontEnd]] = {kind.kind: kind for kind in (LogMelFrontEnd, MicroFrontEnd)}
"""All front ends, by the word for which `kind` stands in a file."""

_MOST_BYTES = 1 << 16


def read_front_end(file: Path) -> FrontEnd:
    """The front end that a JSON file describes; UsageError."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise UsageError(f"{file}: has more than {_MOST_BYTES} bytes, the description of a front end was expected.")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}, a readable file was expected. Correct the path.") from error
    return _parsed(text, str(file))


def front_end_of(given: FrontEnd | Path | str) -> FrontEnd:
    """A front end as it is, of its JSON, or of a file; UsageError."""
    if isinstance(given, FrontEnd):
        return given
    text = str(given)
    return _parsed(text, "front end") if text.lstrip().startswith("{") else read_front_end(Path(given))


def _parsed(text: str | bytes, where: str) -> FrontEnd:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: is no JSON ({error}), the description of a front end was expected.") from error
    if not isinstance(found, dict):
        raise UsageError(f"{where}: is no JSON object, the description of a front end was expected.")
    return _made(found, where)


def _made(values: dict[str, Any], where: str) -> FrontEnd:
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UsageError(f"{where}: kind is {kind!r}, one of {', '.join(KINDS)} was expected. Choose one of them.")
    return KINDS[kind].made_of({name: value for name, value in values.items() if name != "kind"})
