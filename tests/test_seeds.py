"""The page of the four systems that were models: every item has a row, and tests of its name that assert something."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
ITEMS = {"S0": 31, "S1": 22, "S2": 21, "S3": 22}  # how many each system has
MISSING = ()  # items whose rows say so
_ROW = re.compile(r"^\| (S\d-\d\d) \|(.*)\|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")

ALL = [f"{system}-{number:02}" for system, count in ITEMS.items() for number in range(1, count + 1)]
ROWS = _ROW.findall((CHECKOUT / "docs" / "seeds.md").read_text(encoding="utf-8"))


@cache
def functions(file: str) -> dict[str, ast.FunctionDef]:
    """Functions of a module by name."""
    module = ast.parse((CHECKOUT / file).read_text(encoding="utf-8"))
    return {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}


def items_of(name: str) -> set[str]:
    """The items that a test is named after: test_s3_12_13_x holds S3-12 and S3-13."""
    found, system = set(), ""
    for part in name.removeprefix("test_").split("_"):
        if re.fullmatch(r"s\d", part):
            system = part.upper()
        elif system and re.fullmatch(r"\d\d", part):
            found.add(f"{system}-{part}")
        else:
            break
    return found


def asserts(name: str, file: str, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a function asserts or expects an error, itself or by functions that it calls."""
    for node in ast.walk(functions(file)[name]):
        if isinstance(node, ast.Assert):
            return True
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if called == "pytest.raises" or re.match(r"(np\.testing\.)?_?(assert|check)_?", called):
            return True
        if called in functions(file).keys() - seen and asserts(called, file, seen | {called}):
            return True
    return False


def test_every_item_has_one_row_in_order() -> None:
    assert [item for item, _ in ROWS] == ALL


@pytest.mark.parametrize(("item", "row"), ROWS, ids=[item for item, _ in ROWS])
def test_tests_of_an_item_are_there_and_bear_its_name(item: str, row: str) -> None:
    named = _TEST.findall(row)
    assert ("**missing**" in row) == (item in MISSING) == (not named)
    for file, name in named:
        assert name in functions(file), f"{file} has no {name}"
        assert item in items_of(name)
        assert asserts(name, file)


def test_names_of_several_items() -> None:
    assert items_of("test_s3_12_13_what") == {"S3-12", "S3-13"}
    assert items_of("test_s0_18_s2_02_other_doors") == {"S0-18", "S2-02"}
    assert items_of("test_12_of_s0_01") == set()
