"""Who tells operator classes apart outside of the rooms that are about single operators: a list that only gets shorter.

Families that answer for their members are for everyone: they are base classes.
"""

import ast
import json
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import tinygen.ops
from tests.support.rooms import PACKAGE
from tinygen.ir.graph import Op

_FREE = ("ops", "frontends", "audio", "exports", "kernels")  # meaning, spelling, building and lowering of each operator
_MODULES = [import_module(f"tinygen.ops.{module.name}") for module in pkgutil.iter_modules(tinygen.ops.__path__)]
_KINDS = {
    kind for module in _MODULES for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Op)
}
_FAMILIES = {base for kind in _KINDS for base in kind.__mro__[1:] if issubclass(base, Op)}
_LIST = Path(__file__).resolve().parent / "operator_imports.json"


def _operators(file: Path) -> Iterator[str]:
    """Operator classes, but families, that a module imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tinygen.ops."):
            module = import_module(str(node.module))
            for alias in node.names:
                kind = getattr(module, alias.name)
                if isinstance(kind, type) and issubclass(kind, Op) and kind not in _FAMILIES:
                    yield alias.name


def test_no_more_modules_tell_operators_apart(update_golden: bool) -> None:
    files = (file for file in sorted(PACKAGE.rglob("*.py")) if file.relative_to(PACKAGE).parts[0] not in _FREE)
    found = {str(file.relative_to(PACKAGE)): sorted(set(_operators(file))) for file in files}
    found = {file: operators for file, operators in found.items() if operators}
    if update_golden:
        _LIST.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(_LIST.read_text(encoding="utf-8")), (
        "operators answer for themselves: ask `Op` or `Weighted`"
    )


_FILES = {"conv2d": 17, "pool2d": 10, "add": 12, "fully_connected": 16}
"""Modules of common operators, and how many files outside of `ops` may import from each at most."""


@pytest.mark.parametrize("module", _FILES)
def test_few_files_import_common_operators(module: str) -> None:
    """34, 22, 25 and 31 did before operators answered for themselves."""
    found = [
        str(file.relative_to(PACKAGE))
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.relative_to(PACKAGE).parts[0] != "ops"
        and any(
            isinstance(node, ast.ImportFrom) and node.module == f"tinygen.ops.{module}"
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        )
    ]
    assert 0 < len(found) <= _FILES[module], found
