"""A board's own templates: a folder beside its file that says what the C of an engine's layers looks like."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tinygen.budget import TEMPLATE_BYTES
from tinygen.targets.engine_operators import LAYERS

SUFFIX = ".c.j2"
PROLOGUE, HEADER = "prologue.c.j2", "header.h.j2"
_KNOWN = (*(f"{operator}{SUFFIX}" for operator in LAYERS), PROLOGUE, HEADER)
_MOST_BYTES = 1 << 20  # of a template
_INNER = "_"  # what names of templates begin with that others include


@dataclass(frozen=True)
class EngineTemplates:
    """The templates of one engine, by file name."""

    folder: str  # as the board's file names it
    texts: Mapping[str, str]

    @property
    def operators(self) -> frozenset[str]:
        """Those whose C they print."""
        return frozenset(operator for operator in LAYERS if f"{operator}{SUFFIX}" in self.texts)


def read_templates(beside: Path, folder: str) -> EngineTemplates:
    """The templates in `folder`, which lies within `beside`, the folder of the board's file.

    Raises ValueError, in a sentence without its end, where there are none, or other files than it may have.
    """
    outer, inner = beside.resolve(), (beside / folder).resolve()
    if not folder or Path(folder).is_absolute() or outer not in inner.parents:
        raise ValueError(f"templates are '{folder}', expected a folder within that of the board's file")
    if not inner.is_dir():
        raise ValueError(f"templates are '{folder}', expected a folder that exists beside the board's file")
    found = EngineTemplates(folder, {file.name: _text(file, inner) for file in sorted(inner.glob("*.j2"))})
    for name in found.texts:
        if name not in _KNOWN and not name.startswith(_INNER):
            near = difflib.get_close_matches(name, _KNOWN, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(
                f"template '{folder}/{name}' is not known{hint}, expected {', '.join(_KNOWN)}, "
                f"or a name with '{_INNER}' in front for one that these include"
            )
    size = sum(map(len, found.texts.values()))
    if size > TEMPLATE_BYTES.most:
        raise ValueError(f"templates in '{folder}' have {size:,} letters, expected at most {TEMPLATE_BYTES.most:,}")
    if not found.operators:
        raise ValueError(f"templates in '{folder}' are for no operator, expected one of {', '.join(_KNOWN[:3])}")
    return found


def _text(file: Path, folder: Path) -> str:
    where = f"template '{folder.name}/{file.name}'"
    if folder not in file.resolve().parents:
        raise ValueError(f"{where} leads out of the folder, expected a file in it")
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ValueError(f"{where} has {file.stat().st_size:,} bytes, expected at most {_MOST_BYTES:,}")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{where} cannot be read ({error}), expected a text in UTF-8") from None
