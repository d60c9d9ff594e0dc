"""What the templates of C may say themselves."""

from tinygen.paths import TEMPLATES

OPERATORS = sorted((TEMPLATES / "ops").glob("*.j2"))


def test_runners_that_cannot_fail_return_nothing() -> None:
    """A kernel's status is the only one that there is to return."""
    assert [file.name for file in OPERATORS if "return 0;" in file.read_text()] == []
