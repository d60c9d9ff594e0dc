"""What the templates of C may say themselves."""

import pytest
from jinja2 import UndefinedError, nodes

from tinygen.codegen.environment import environment
from tinygen.paths import TEMPLATES

PAGES = ("layer_errors.svg.j2", "report.html.j2", "suite.svg.j2")  # lines and texts stand pixels apart
ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Neg)
OPERATORS = sorted((TEMPLATES / "ops").glob("*.j2"))


def test_runners_that_cannot_fail_return_nothing() -> None:
    """A kernel's status is the only one that there is to return."""
    assert [file.name for file in OPERATORS if "return 0;" in file.read_text()] == []


def test_templates_compute_nothing() -> None:
    """All numbers of the C are made where types and units are checked; templates print, choose and repeat."""
    files = [file for file in sorted(TEMPLATES.rglob("*.j2")) if file.name not in PAGES]
    assert len(files) > 80
    assert {file.name: found for file in files if (found := computed(file.read_text()))} == {}


def test_arithmetic_is_found() -> None:
    assert computed("{{ a }} {{ b // 4 }}\n{% if -c %}{% endif %}") == ["1: FloorDiv", "2: Neg"]


def test_a_field_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="no attribute 'nothing'"):
        environment().from_string("{{ kernel.nothing }}").render(kernel=object())


def computed(text: str) -> list[str]:
    """Arithmetic in a template: the line of each, and what it is."""
    return [f"{node.lineno}: {type(node).__name__}" for node in environment().parse(text).find_all(ARITHMETIC)]
