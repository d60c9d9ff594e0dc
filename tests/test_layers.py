"""The import order: a module imports only from its own layer and those below it (ARCHITECTURE.md)."""

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.support.rooms import LAYERS, PACKAGE, PLANNER, imported_inside, picture, rooms_imported

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
PICTURE = PACKAGE.parent / "docs" / "rooms.svg"
PURE = ("ir", "ops", "passes", "kernels", "planner", "codegen")
COMPUTING = {  # modules of Python that know neither files nor clocks nor the machine; the one `random` has a seed
    *(
        "abc",
        "bisect",
        "collections",
        "contextlib",
        "dataclasses",
        "enum",
        "functools",
        "hashlib",
        "heapq",
        "importlib",
    ),
    *("itertools", "json", "keyword", "math", "operator", "random", "re", "shlex", "textwrap", "types", "typing"),
    "weakref",
}
READS = {  # tables in models, of prices and of code
    "ir/mapped.py": {"mmap"},
    "kernels/prices.py": {"pathlib", "read_text"},
    "kernels/code_sizes.py": {"pathlib", "read_text"},
}
FILES = {"open", "print", "input", "read_text", "read_bytes", "write_text", "write_bytes", "memmap", "fromfile"}


@pytest.mark.parametrize("file", sorted((PACKAGE / "planner").rglob("*.py")), ids=lambda file: file.stem)
def test_the_planner_has_an_order_too(file: Path) -> None:
    room = file.relative_to(PACKAGE / "planner").parts[0].removesuffix(".py")
    if room == "__init__":
        return
    for other in imported_inside("planner", ast.parse(file.read_text(encoding="utf-8"))):
        assert PLANNER.index(other) <= PLANNER.index(room), f"{room} imports {other}, which stands above it"


def test_the_architecture_names_all_rooms_in_import_order() -> None:
    text = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("| room | what is in it |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(RANK)
    assert [RANK[name] for name in named] == sorted(RANK.values())


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_only_from_below(file: Path) -> None:
    room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    assert room in RANK, f"{room} has no place in the import order"
    for other in rooms_imported(ast.parse(file.read_text(encoding="utf-8"))):
        assert RANK[other] < RANK[room] or other == room, f"{room} imports {other}, which stands above it"


def test_the_picture_of_the_rooms_is_true(update_golden: bool) -> None:
    if update_golden:
        PICTURE.write_text(picture(), encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == picture(), "pytest tests/test_layers.py --update-golden draws it anew"


@pytest.mark.parametrize("room", PURE)
def test_stages_are_pure(room: str) -> None:
    files = {str(file.relative_to(PACKAGE)): file for file in sorted((PACKAGE / room).rglob("*.py"))}
    outside = {name: _outside(file.read_text(encoding="utf-8")) for name, file in files.items()}
    assert {name: found for name, found in outside.items() if found - READS.get(name, set())} == {}


def test_what_is_not_pure_is_found() -> None:
    assert _outside("import os.path, math\nfrom time import time") == {"os", "time"}
    assert _outside("def f():\n    global x\n    open(p)\n    p.read_text()") == {"global", "open", "read_text"}


def _outside(source: str) -> set[str]:
    """What a module takes from files, clocks and the machine, and whether it assigns global variables."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                found |= {alias.name.partition(".")[0] for alias in node.names} & sys.stdlib_module_names - COMPUTING
            case ast.ImportFrom(module=str(module)):
                found |= {module.partition(".")[0]} & sys.stdlib_module_names - COMPUTING
            case ast.Global():
                found.add("global")
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in FILES:
                found.add(name)
    return found
