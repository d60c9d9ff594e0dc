"""Charts as SVG elements of pages and notebooks: Vega and Vega-Lite, drawn by vl-convert-python when the page is made.

Colours are those of the page (`templates/page.html.j2`), or of the text around where a notebook has none of these.
"""

import re
from collections.abc import Callable, Mapping
from html import escape
from importlib import import_module
from types import ModuleType
from typing import Any

from markupsafe import Markup

from tinygen.report.plain import one_line

INK, MUTED, LINE = "var(--ink, currentColor)", "var(--muted, currentColor)", "var(--line, #8888)"
ACCENT, COOL, GREEN = "var(--accent, #c0392b)", "var(--cool, #2f6fb3)", "var(--green, #2e8b57)"
STRONGEST = 0.5
"""Opacity of the accent behind text, at which that can still be read (`tests/report/test_pictures.py`)."""

MISSING = "Pictures are missing: vl-convert-python is not installed. pip install 'tinygen[pictures]' has it."

_NAMESPACES = re.compile(r' xmlns(:\w+)?="[^"]*"')  # not needed in HTML
_LINK = re.compile(r'<a xlink:href="[^"]*#')  # Vega puts an address of its own before them

Chart = Mapping[str, Any]


def renderer() -> ModuleType | None:
    """What draws, where it is installed."""
    try:
        return import_module("vl_convert")
    except ImportError:
        return None


def vega_lite(chart: Chart, draws: ModuleType, says: str = "") -> Markup:
    """The SVG element of a chart of Vega-Lite; `says` is its text for who does not see it, and hides its parts."""
    line = {"gridColor": LINE, "domainColor": MUTED, "tickColor": MUTED, "labelColor": MUTED, "titleColor": MUTED}
    config = {"aria": not says, "axis": line, "view": {"stroke": None}}
    return _element(draws.vegalite_to_svg, {"background": None, **chart, "config": config}, says)


def vega(chart: Chart, draws: ModuleType, says: str) -> Markup:
    """The same of Vega, for what Vega-Lite has no marks for."""
    return _element(draws.vega_to_svg, {"background": None, **chart, "config": {"aria": False}}, says)


def _element(draw: Callable[[Chart], str], chart: Chart, says: str) -> Markup:
    root, end, drawn = draw(chart).partition(">")  # texts are behind it: < and > in them are escaped, quotes are not
    label = f' role="img" aria-label="{escape(one_line(says))}"' if says else ""
    root = _NAMESPACES.sub("", root).replace("<svg ", f"<svg{label} ", 1)
    return Markup(root + end + _LINK.sub('<a href="#', drawn))
