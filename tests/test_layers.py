"""The import order: a module imports only from its own layer and those below it (ARCHITECTURE.md)."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.rooms import LAYERS, PACKAGE, PLANNER, imported_inside, picture, rooms_imported

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
PICTURE = PACKAGE.parent / "docs" / "rooms.svg"


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
