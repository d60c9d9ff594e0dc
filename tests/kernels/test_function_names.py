"""Kernels answer for themselves: no module outside of a kernel's own file looks into the name of a C function."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.rooms import PACKAGE

_KERNELS = PACKAGE / "kernels"
_NAMES = re.compile(r"(tg|arm)_\w+_[suf](4|8|16|32|64)$|tg_native_|arm_\w+_$")
_LOOKS = {"startswith", "endswith", "removeprefix", "removesuffix", "find", "index", "partition", "split", "replace"}
_CALLED = {  # C functions that are no kernels, so that they have no file of their own: the list only gets shorter
    "codegen/ports.py": "helpers that convert inputs and outputs at the boundary",
    "mlperf/firmware.py": "the same helper, in the firmware",
}
_FILES = [
    file
    for file in sorted(PACKAGE.rglob("*.py"))
    if _KERNELS not in file.parents or (file.parent == _KERNELS and "Kernel):" not in file.read_text(encoding="utf-8"))
]


def _is_function(node: ast.expr) -> bool:
    """Whether an expression is a function's name, by its own name: `kernel.function`, `function`."""
    return (isinstance(node, ast.Attribute) and node.attr == "function") or (
        isinstance(node, ast.Name) and node.id == "function"
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _looks(tree: ast.AST) -> Iterator[int]:
    """Lines that ask what is in a function's name, or compare it to one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS:
            if _is_function(node.func.value):
                yield node.lineno
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_function, sides)) and any(map(_is_text, sides)):
                yield node.lineno


def _names(tree: ast.AST) -> Iterator[int]:
    """Lines with a kernel's name or a part of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAMES.match(node.value):
            yield node.lineno


@pytest.mark.parametrize("file", _FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_nothing_but_kernels_looks_into_their_names(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert not list(_looks(tree)), "ask the kernel: `work`, `is_own`, `isinstance`"
    if str(file.relative_to(PACKAGE)) not in _CALLED:
        assert not list(_names(tree)), "the name stands in the kernel's own file"


def test_the_list_is_no_longer_than_needed() -> None:
    for name in _CALLED:
        assert list(_names(ast.parse((PACKAGE / name).read_text(encoding="utf-8")))), f"{name} names none: take it off"


@pytest.mark.parametrize(
    "text",
    [
        'kernel.function.startswith("tg_native_")',
        '"_1x1" in function',
        'call.kernel.function == "arm_convolve_s8"',
        'prices["tg_lookup_s8"]',
        '_NATIVE = "tg_native_"',
    ],
)
def test_a_look_is_seen(text: str) -> None:
    assert [*_looks(ast.parse(text)), *_names(ast.parse(text))]
