"""The jinja environment of all templates: strict, and careful with white space."""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tinygen import paths
from tinygen.codegen.c_text import float_literal, inline_comment
from tinygen.codegen.line_breaks import break_lines
from tinygen.codegen.quoting import linker_name, markdown_text


@cache
def environment() -> Environment:
    """The one environment; compiled templates are kept in it."""
    templates = Environment(
        loader=FileSystemLoader(paths.TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["float"] = float_literal
    templates.filters["break_lines"] = break_lines
    templates.filters["in_comment"] = inline_comment
    templates.filters["in_markdown"] = markdown_text
    templates.filters["linker_name"] = linker_name
    return templates
