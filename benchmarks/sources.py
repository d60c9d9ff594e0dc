"""Where figures of the pages come from: `figures.toml`, and what it names, measured anew.

A mark is an expression over names of that file: numbers, `+ - * /`, and paths into documents, where an underscore
stands for what a name cannot have: `mlperf.mps2_an386.kws.ram.native.instructions`.
"""

import ast
import json
import operator
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.keywords import first_keywords, keywords
from tinygen.system.work import work_folder

CHECKOUT = Path(__file__).resolve().parents[1]
_SHARED = CHECKOUT.parent / "shared"
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class FigureError(Exception):
    """A mark that says nothing of a number, or a source that cannot be had."""


@dataclass(frozen=True)
class MadePage:
    """A page that a program or a test keeps."""

    command: str  # that writes it, or a test that fails where it is another one
    varies: str | None = None  # regular expression of what is another number on another machine, or another day

    @property
    def is_tested(self) -> bool:
        """Whether a test compares the page with what it is about."""
        return self.command.startswith("tests/")


@dataclass(frozen=True)
class Explained:
    """Numbers without a mark, and why they have none."""

    page: re.Pattern[str]
    pattern: re.Pattern[str]
    reason: str


@cache
def configuration() -> Mapping[str, Any]:
    """`figures.toml`."""
    return tomllib.loads((CHECKOUT / "benchmarks" / "figures.toml").read_text(encoding="utf-8"))


def made_pages() -> Mapping[str, MadePage]:
    """By name from the checkout."""
    pages = configuration()["pages"]
    return {page: MadePage(made["by"], made.get("varies")) for page, made in pages.items()}


def explained() -> Sequence[Explained]:
    """Numbers that are no figures of ours."""
    return [_explained(entry, "reason") for entry in configuration()["explained"]]


def unrepeated() -> Sequence[Explained]:
    """Figures that no program repeats yet."""
    return [_explained(entry, "how") for entry in configuration()["unrepeated"]]


def _explained(entry: Mapping[str, str], why: str) -> Explained:
    pattern = entry["pattern"] if "pattern" in entry else re.escape(entry["text"])
    return Explained(re.compile(entry.get("page", ".*")), re.compile(pattern), entry[why])


def names(expression: str) -> Iterator[str]:
    """The sources that an expression reads; FigureError where it is none."""
    for node in ast.walk(_parsed(expression)):
        if isinstance(node, ast.Name):
            yield node.id


def is_quick(expression: str) -> bool:
    """Whether it takes a few seconds at most."""
    return all(_is_stored(_source(name)) or _source(name).get("quick", False) for name in names(expression))


def _is_stored(source: Mapping[str, Any]) -> bool:
    return "json" in source or "table" in source


def evaluate(expression: str) -> float:
    """What an expression is now; FigureError where a source cannot be had."""
    return _number(_parsed(expression).body, expression)


def _parsed(expression: str) -> ast.Expression:
    try:
        return ast.parse(expression, mode="eval")
    except SyntaxError:
        raise FigureError(f"'{expression}': is no expression over the names of figures.toml") from None


def _number(node: ast.expr, expression: str) -> float:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_number(node.left, expression), _number(node.right, expression))
    found = node.value if isinstance(node, ast.Constant) else _found(node, expression)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise FigureError(f"'{expression}': {ast.unparse(node)} is no number")
    return found


def _found(node: ast.expr, expression: str) -> Any:
    """What a path leads to."""
    if isinstance(node, ast.Name):
        return _document(node.id)
    if isinstance(node, ast.Attribute):
        within = _found(node.value, expression)
        known = {spelled(key): value for key, value in within.items()} if isinstance(within, dict) else {}
        if node.attr in known:
            return known[node.attr]
        raise FigureError(f"'{expression}': no {node.attr} in {ast.unparse(node.value)}, which has {', '.join(known)}")
    raise FigureError(f"'{expression}': {ast.unparse(node)} is neither a number nor a path")


def spelled(key: str) -> str:
    """A key as marks have it."""
    return re.sub(r"\W+", "_", key).strip("_")


def _source(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = configuration()["sources"].get(name)
    if found is None:
        raise FigureError(f"{name}: is not in figures.toml")
    return found


def _document(name: str) -> Any:
    found = _document_or_error(name)
    if isinstance(found, FigureError):
        raise found
    return found


@cache
def _document_or_error(name: str) -> Any:
    """So that what fails is not tried again for each figure of it."""
    try:
        return _derived(_source(name))
    except FigureError as error:
        return error


def _derived(source: Mapping[str, Any]) -> Any:
    if "json" in source:
        return _stored(source)
    if "table" in source:
        return table((CHECKOUT / source["table"]).read_text(encoding="utf-8"))
    if "keywords" in source:
        return asdict(keywords(tuple(shlex.split(source["keywords"]))))
    return _printed(source["tinygen"])


def _stored(source: Mapping[str, Any]) -> Any:
    """A file of the checkout, its rows by some of their fields, one inside of the other."""
    found = json.loads((CHECKOUT / source["json"]).read_text(encoding="utf-8"))
    for key in source.get("within", ()):
        found = found[key]
    if "by" not in source:
        return found
    by: dict[str, Any] = {}
    for row in found:
        if not source.get("where", {}).items() <= row.items():
            continue
        within = by
        for field in source["by"][:-1]:
            within = within.setdefault(str(row[field]), {})
        within.setdefault(str(row[source["by"][-1]]), row)
    return by


def table(page: str) -> Mapping[str, Mapping[str, float]]:
    """The numbers of a page's tables, by the first cell of their rows, then by the head of their columns."""
    found: dict[str, dict[str, float]] = {}
    heads: list[str] = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            heads = []
        elif not heads:
            heads = cells
        else:
            numbers = {head: cell.replace(",", "") for head, cell in zip(heads, cells, strict=True)}
            known = {head: float(text) for head, text in numbers.items() if re.fullmatch(r"-?\d+(\.\d+)?", text)}
            found.setdefault(cells[0], {}).update(known)
    return found


def _printed(command: str) -> Any:
    """The document that a command of tinygen's prints; `{models}` is where the reference models lie."""
    with work_folder() as folder:
        paths = {"models": _models(), "open": str(_SHARED / "models" / "open"), "checkout": str(CHECKOUT)}
        if "{keywords}" in command:
            paths["keywords"] = str(first_keywords(folder))
        arguments = [part.format(**paths) for part in shlex.split(command)]
        done = subprocess.run(
            [sys.executable, "-c", "from tinygen.cli import main; main()", *arguments, "--json"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise FigureError(f"tinygen {command}: ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def _models() -> str:
    """The folder of the reference models; FigureError where there is none."""
    for folder in (CHECKOUT / "models" / "mlperf_tiny", _SHARED / "models" / "mlperf_tiny"):
        if folder.is_dir():
            return str(folder)
    raise FigureError("the reference models are missing: make models")
