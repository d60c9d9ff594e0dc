"""Pictures of results: a title, SVG, and the table with the numbers behind it."""

from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from tinygen.report.drawing import MISSING, renderer
from tinygen.report.table import ShownTable


@dataclass(frozen=True)
class Picture:
    """What numbers look like."""

    title: str
    explains: str  # what is seen, in a sentence or two
    svg: Markup | None  # None: nothing draws here
    table: ShownTable

    @property
    def html(self) -> Markup:
        """A `<figure>` with the table behind it, which is open where there is no picture."""
        table = (
            f"<div class='wide' tabindex='0' role='region' aria-label='{escape(self.title)}'>{self.table.html}</div>"
        )
        drawn = self.svg if self.svg is not None else ""
        is_open = "" if drawn else " open"
        return Markup(
            f"<figure><figcaption><b>{escape(self.title)}</b><br>{escape(self.explains)}</figcaption>{drawn}"
            f"<details{is_open}><summary>Numbers</summary>{table}</details></figure>"
        )


def missing_note() -> str:
    """What a page says where it has no pictures; empty where it has."""
    return "" if renderer() else MISSING
