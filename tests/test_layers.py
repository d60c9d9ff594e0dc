"""The import order: a module imports only from its own layer and those below it (ARCHITECTURE.md)."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "tinygen"
LAYERS = (
    ("errors", "paths"),
    ("budget",),
    ("system",),
    ("targets",),
    ("ir",),
    ("ops",),
    ("frontends", "passes", "quant"),
    ("kernels",),
    ("planner",),
    ("codegen",),
    ("build",),
    ("cycles",),
    ("verify",),
    ("report",),
    ("mlperf",),
    ("calib",),
    ("pipeline",),
    ("suite",),
    ("api",),
    ("cli",),
)
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


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_only_from_below(file: Path) -> None:
    room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    assert room in RANK, f"{room} has no place in the import order"
    for other in _imported(ast.parse(file.read_text(encoding="utf-8"))):
        assert RANK[other] < RANK[room] or other == room, f"{room} imports {other}, which stands above it"
