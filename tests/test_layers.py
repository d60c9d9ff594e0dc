"""The import order: a module imports only from its own layer and those below it (ARCHITECTURE.md)."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "tinygen"
LAYERS = (
    ("errors", "paths"),
    ("option",),
    ("budget",),
    ("system",),
    ("targets",),
    ("ir",),
    ("ops",),
    ("exports",),
    ("frontends", "passes", "quant"),
    ("compress",),
    ("kernels",),
    ("planner",),
    ("codegen",),
    ("build",),
    ("cycles",),
    ("verify",),
    ("report",),
    ("mlperf",),
    ("calib",),
    ("options",),
    ("pipeline",),
    ("suite",),
    ("api",),
    ("cli",),
)
PLANNER = ("schedule", "memory", "chains", "cost", "whole", "search", "plan", "fit")
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def _imported(tree: ast.Module) -> list[str]:
    """Rooms of the package that a module imports from, at its top."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tinygen"):
            parts = node.module.split(".")
            found += [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("tinygen.")]
    return [room for room in found if room in RANK]


def _inside(room: str, tree: ast.Module) -> list[str]:
    """Rooms and modules of a room that a module imports from."""
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return [module.split(".")[2] for module in modules if module.startswith(f"tinygen.{room}.")]


@pytest.mark.parametrize("file", sorted((PACKAGE / "planner").rglob("*.py")), ids=lambda file: file.stem)
def test_the_planner_has_an_order_too(file: Path) -> None:
    room = file.relative_to(PACKAGE / "planner").parts[0].removesuffix(".py")
    if room == "__init__":
        return
    for other in _inside("planner", ast.parse(file.read_text(encoding="utf-8"))):
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
    for other in _imported(ast.parse(file.read_text(encoding="utf-8"))):
        assert RANK[other] < RANK[room] or other == room, f"{room} imports {other}, which stands above it"
