"""Options on the site's page of the API, from the fields that declare them.

Where a page has `<!-- options of tinygen.options.Options -->`, the site has tables of that dataclass's options: those
that most people need, then a table for each panel of the commands' help.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from tinygen.option import Option, options_of

_MARK = re.compile(r"^<!-- options of ([\w.]+)\.(\w+) -->$", re.MULTILINE)
_BASIC = "Basic"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page; called by mkdocs."""
    return _MARK.sub(lambda found: "\n".join(_tables(getattr(import_module(found[1]), found[2]))), markdown)


def _tables(request: type) -> Iterator[str]:
    """Of all options of a dataclass, by panel."""
    found = list(options_of(request).values())
    for panel in dict.fromkeys((_BASIC, *map(_panel, found))):
        rows = [_row(option) for option in found if _panel(option) == panel]
        if rows:
            yield from (f"**{panel}**", "", "| keyword | default | what it says |", "|---|---|---|", *rows, "")


def _panel(option: Option) -> str:
    return _BASIC if option.panel is None else option.panel.value


def _row(option: Option) -> str:
    default = option.written_default
    shown = "" if default in (None, [], False) else f"`{default}`"
    says = option.help.replace("|", "\\|").replace("<", "&lt;")
    return f"| `{option.keyword}` | {shown} | {says} |"
