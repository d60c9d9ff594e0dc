"""Line breaks of generated C: calls and declarations fill lines of 120 columns, so that templates need not care."""

import re
from collections.abc import Iterator

_WIDTH = 120
_CONTINUATION = "    "


def break_lines(text: str) -> str:
    """The same C with every bracketed list laid out anew, further lines indented; comments and macros stay."""
    return "".join(f"{line}\n" for logical in _logical_lines(text) for line in _broken(logical))


def _logical_lines(text: str) -> Iterator[str]:
    """The lines, those joined into one over which a pair of parentheses extends."""
    pending, in_comment = "", False
    for line in text.splitlines():
        if in_comment or line.lstrip().startswith(("/*", "#")):
            in_comment = "*/" not in line and (in_comment or "/*" in line)
            yield line
            continue
        pending = f"{pending} {line.lstrip()}" if pending else line
        code = re.sub(r"/\*.*?\*/", "", pending)
        if code.count("(") <= code.count(")"):
            yield pending
            pending = ""
    if pending:
        yield pending


def _broken(line: str) -> Iterator[str]:
    """A line, broken after commas where it is too long."""
    if line.lstrip().startswith(("/*", "*", "#")):
        yield line
        return
    indent = line[: len(line) - len(line.lstrip())] + _CONTINUATION
    current, *rest = line.split(", ")
    for part in rest:
        if len(f"{current}, {part}") > _WIDTH - 1:  # a comma may follow
            yield f"{current},"
            current = f"{indent}{part}"
        else:
            current = f"{current}, {part}"
    yield current
