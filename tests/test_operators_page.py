"""docs/operators.md is what the tables of readers and kernels say."""

from pathlib import Path

from tests.support.operators_page import page

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "operators.md"


def test_the_page_is_current(update_golden: bool) -> None:
    text = page()
    if update_golden:
        _PAGE.write_text(text, encoding="utf-8")
    assert _PAGE.read_text(encoding="utf-8") == text, (
        "pytest tests/test_operators_page.py --update-golden writes it anew"
    )
