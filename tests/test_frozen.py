"""What is frozen holds nothing that changes: caches and collections in the making are no frozen dataclasses."""

import ast
from collections.abc import Iterator

from tests.support.rooms import PACKAGE

_CHANGING = {
    *("bytearray", "defaultdict", "deque", "dict", "list", "set"),
    *("MutableMapping", "MutableSequence", "MutableSet", "OrderedDict", "WeakKeyDictionary", "WeakValueDictionary"),
}


def changing_fields(source: str) -> Iterator[str]:
    """Fields of frozen dataclasses of types that change; what functions take and give is theirs."""
    for kind in ast.walk(ast.parse(source)):
        if isinstance(kind, ast.ClassDef) and any(map(_freezes, kind.decorator_list)):
            for field in kind.body:
                if isinstance(field, ast.AnnAssign) and _CHANGING & set(_named(field.annotation)):
                    yield f"{kind.name}.{ast.unparse(field.target)}"


def _freezes(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and any(
        word.arg == "frozen" and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in decorator.keywords
    )


def _named(annotation: ast.expr) -> Iterator[str]:
    match annotation:
        case ast.Subscript(value=ast.Name(id="Callable")):
            return
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case _:
            for inner in ast.iter_child_nodes(annotation):
                if isinstance(inner, ast.expr):
                    yield from _named(inner)


def test_what_is_frozen_does_not_change() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    found = {str(file.relative_to(PACKAGE)): list(changing_fields(file.read_text(encoding="utf-8"))) for file in files}
    assert {file: fields for file, fields in found.items() if fields} == {}, "a Mapping, a tuple, or no frozen class"


def test_what_changes_is_found() -> None:
    text = "@dataclass(frozen=True)\nclass A:\n    a: dict[str, int]\n    b: tuple[list[int], ...] | None = None\n"
    assert list(changing_fields(text)) == ["A.a", "A.b"]
    assert list(changing_fields(text.replace("frozen", "eq"))) == []
    assert list(changing_fields(text.replace("dict[str, int]", "Callable[[int], list[int]]"))) == ["A.b"]
