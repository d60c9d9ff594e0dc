"""The rooms of the package in import order, what they import from each other, and a picture of that."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "tinygen"
LAYERS = (
    ("errors", "paths"),
    ("option",),
    ("budget",),
    ("system",),
    ("targets",),
    ("ir",),
    ("ops",),
    ("exports",),
    ("audio",),
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
    ("product",),
    ("suite",),
    ("sweeping",),
    ("tasks",),
    ("api",),
    ("cli",),
)
PLANNER = ("schedule", "memory", "chains", "cost", "whole", "search", "plan", "knee", "fit", "joint")
ROOMS = tuple(name for names in LAYERS for name in names)

_CELL = 22
_NAMES = 100  # width of a column of names


def rooms_imported(tree: ast.Module) -> list[str]:
    """Rooms of the package that a module imports from, at its top."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tinygen"):
            parts = node.module.split(".")
            found += [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("tinygen.")]
    return [room for room in found if room in ROOMS]


def imported_inside(room: str, tree: ast.Module) -> list[str]:
    """Rooms and modules of a room that a module imports from."""
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return [module.split(".")[2] for module in modules if module.startswith(f"tinygen.{room}.")]


@dataclass(frozen=True)
class Grid:
    """Rooms in import order, and for each those that it imports from."""

    title: str
    rooms: Sequence[str]
    imports: dict[str, set[str]]

    def svg(self, x: int) -> str:
        """A square for each pair of rooms, filled where the row imports from the column."""
        lines = [f'<g transform="translate({x},0)">', f'<text class="title" x="0" y="16">{self.title}</text>']
        top = _NAMES
        for index, room in enumerate(self.rooms):
            y, along = top + index * _CELL, _NAMES + index * _CELL
            lines.append(f'<text class="row" x="{_NAMES - 8}" y="{y + 15}">{room}</text>')
            lines.append(f'<text transform="translate({along + 15},{top - 8}) rotate(-60)">{room}</text>')
            for other, name in enumerate(self.rooms[: index + 1]):
                kind = "own" if other == index else "used" if name in self.imports[room] else "free"
                size = _CELL - 2
                left = _NAMES + other * _CELL
                lines.append(f'<rect class="{kind}" x="{left}" y="{y}" width="{size}" height="{size}"/>')
        return "\n".join([*lines, "</g>"])


def picture() -> str:
    """Both grids as an SVG."""
    package = Grid("tinygen: a row imports from filled columns", ROOMS, {room: set() for room in ROOMS})
    planner = Grid("tinygen/planner", PLANNER, {room: set() for room in PLANNER})
    for file in sorted(PACKAGE.rglob("*.py")):
        tree, (room, *inner) = ast.parse(file.read_text(encoding="utf-8")), file.relative_to(PACKAGE).parts
        package.imports.get(room.removesuffix(".py"), set()).update(rooms_imported(tree))
        if room == "planner":
            planner.imports.get(inner[0].removesuffix(".py"), set()).update(imported_inside("planner", tree))
    second = _NAMES + len(ROOMS) * _CELL + 40
    width, height = second + _NAMES + (len(PLANNER) + 2) * _CELL, _NAMES + (len(ROOMS) + 1) * _CELL
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">
<title>Which rooms of tinygen import from which</title>
<style>
text {{ font: 12px Helvetica, Arial, sans-serif; fill: #1c1c1c; }}
.title {{ font-weight: bold; }}
.row {{ text-anchor: end; }}
.own {{ fill: #b98220; }}
.used {{ fill: #2f6db5; }}
.free {{ fill: #eef1f5; }}
</style>
<rect width="{width}" height="{height}" fill="#ffffff"/>
{package.svg(10)}
{planner.svg(second)}
</svg>
"""
