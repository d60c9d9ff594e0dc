"""`--html`: what a command finds, as a page with pictures beside what it prints."""

from dataclasses import dataclass
from pathlib import Path

from tinygen.cli.output_file import check_free, write_bytes
from tinygen.errors import UsageError
from tinygen.option import FILE, HelpPanel, option
from tinygen.report.page import PAGE_MARK, result_page
from tinygen.report.result import Result

_BEGINNING = 2_000  # bytes that the mark is in


@dataclass(frozen=True)
class PageFile:
    """Where a page goes."""

    html: Path | None = option(
        None,
        FILE,
        "--html",
        metavar="FILE",
        help="Write what is found as one HTML page with pictures, too.",
        panel=HelpPanel.EXPLAINING,
    )

    def check(self) -> None:
        """Raise UsageError for what is no name of a page."""
        if self.html is not None and self.html.suffix.lower() != ".html":
            raise UsageError(f"--html: is '{self.html}', a file named *.html was expected. Rename it.")

    def check_free(self, *inputs: Path | None) -> None:
        """Raise UsageError, before any work, where the page cannot be written, or would replace what is not one."""
        if self.html is not None:
            check_free(self.html, None, _is_page, "no page of tinygen's", inputs)

    def write(self, title: str, result: Result) -> None:
        """Write it, where it was asked for."""
        if self.html is not None:
            write_bytes(self.html, result_page(title, result).encode())


def _is_page(file: Path) -> bool:
    with file.open("rb") as stream:
        return PAGE_MARK.encode() in stream.read(_BEGINNING)
