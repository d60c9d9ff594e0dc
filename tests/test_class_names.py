"""One word, one thing: a public class has a name that no other has."""

import ast
from collections import Counter

from tests.support.rooms import PACKAGE

_BOTH_READERS = {"Node", "RawModel", "UnsupportedError"}  # the same thing of ONNX and of TFLite files, never together


def test_public_classes_have_names_of_their_own() -> None:
    names = Counter(
        node.name
        for file in PACKAGE.rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == _BOTH_READERS
    assert all(names[name] == 2 for name in _BOTH_READERS)
