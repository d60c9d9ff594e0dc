"""Text of strangers, such as names in models, as a terminal may have it: nothing in it moves the cursor or hides."""

import json
import re

_NOT_ASCII = re.compile(r"[^\n\x20-\x7e]")


def shown(text: str, kept: str = "\n\t") -> str:
    """The text with escapes, as Python's repr has them, in place of characters that are not printable: controls of
    terminals (C0, C1), directions and other invisible ones, halves of surrogates. Those in `kept` stay.
    """
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """The same for a cell of a table, where line breaks are escapes, too."""
    return shown(text, kept="")


def indented(text: str) -> str:
    """The same for a message: where a name breaks its line, the next one does not begin where tinygen's do."""
    return re.sub(r"\n(?=\S)", "\n  ", shown(text))


def shown_json(text: str) -> str:
    """The same JSON document without such characters: in its strings, escapes stand for them."""
    return _NOT_ASCII.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)
