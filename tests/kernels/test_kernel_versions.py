"""No kernel changes unnoticed: whoever edits one says whether the version in the names of its symbols moves."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from tests.support.symbols import VERSION_HEADER, symbol_prefix
from tinygen.build.kernel_sources import SourceTree, kernel_library, native, operators
from tinygen.kernels.base import Library
from tinygen.paths import RUNTIME_C

RECORD = Path(__file__).with_name("kernel_versions.json")
TREES = (operators(), native(), kernel_library(Library.PORTABLE, None))
HOW_TO_RECORD = 'make test PYTEST_FLAGS="tests/kernels/test_kernel_versions.py --update-golden -n0"'
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Kernels:
    """What was recorded, or is there: the version, and digests by source."""

    version: str
    sources: Mapping[str, str]


def test_kernels_are_those_of_the_version(update_golden: bool) -> None:
    found = Kernels(symbol_prefix(), digests())
    if update_golden:
        RECORD.write_text(json.dumps(asdict(found), indent=1) + "\n")
    said = difference(Kernels(**json.loads(RECORD.read_text())), found)
    assert said is None, said


def digests() -> dict[str, str]:
    """Of each source and header of the kernels, by its path: the start of the SHA-256 of its code."""
    files = sorted({file for tree in TREES for file in (*tree.files, *tree.headers)} - names())
    return {file.relative_to(RUNTIME_C).as_posix(): digest(file.read_text()) for file in files}


def names() -> set[Path]:
    """Headers that say how symbols are named, and nothing about what they do."""
    return {VERSION_HEADER, *(name_header(tree) for tree in TREES)}


def name_header(tree: SourceTree) -> Path:
    """The header with the names of a tree."""
    (found,) = (file for file in tree.headers if file.name.endswith("_names.h"))
    return found


def digest(text: str) -> str:
    """The same for other comments and line breaks."""
    return hashlib.sha256(" ".join(_COMMENT.sub(" ", text).split()).encode()).hexdigest()[:16]


def difference(recorded: Kernels, found: Kernels) -> str | None:
    """What to do about kernels that are not those that were recorded."""
    if recorded.version != found.version:
        versions = f"is {found.version}, {recorded.version} was expected"
        return f"{VERSION_HEADER.name}: {versions}. Record it: {HOW_TO_RECORD}"
    before, now = recorded.sources, found.sources
    changed = sorted(file for file in before.keys() | now.keys() if before.get(file) != now.get(file))
    if not changed:
        return None
    return (
        f"{', '.join(changed)}: changed, the kernels of {found.version} were expected. Where the signature, a "
        f"parameter's layout or any result of a function differs, raise the version in {VERSION_HEADER.name}, so that "
        "networks generated earlier do not call it. Then, and where only speed or size differ, record the kernels: "
        f"{HOW_TO_RECORD}"
    )


def test_what_is_said() -> None:
    one = Kernels("tg_v1_", {"a.c": digest("int a(void); /* first */")})
    assert difference(one, Kernels("tg_v1_", {"a.c": digest("int a(void);\n// second")})) is None
    assert difference(one, Kernels("tg_v1_", {"a.c": digest("long a(void);"), "b.c": digest("")})) == (
        "a.c, b.c: changed, the kernels of tg_v1_ were expected. Where the signature, a parameter's layout or any "
        "result of a function differs, raise the version in tg_version.h, so that networks generated earlier do not "
        f"call it. Then, and where only speed or size differ, record the kernels: {HOW_TO_RECORD}"
    )
    said = f"tg_version.h: is tg_v2_, tg_v1_ was expected. Record it: {HOW_TO_RECORD}"
    assert difference(one, Kernels("tg_v2_", one.sources)) == said


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_names_are_those_of_functions(tree: SourceTree) -> None:
    """Sorted, each under its own name, and each of something that there is."""
    defined = re.findall(r"^#define (\w+) TG_V\((\w+)\)$", name_header(tree).read_text(), re.MULTILINE)
    assert [full.removeprefix("tg_") for full, _ in defined] == [short for _, short in defined]
    assert [full for full, _ in defined] == sorted({full for full, _ in defined})
    code = " ".join(_COMMENT.sub(" ", file.read_text()) for file in tree.files)
    assert [full for full, _ in defined if not re.search(rf"\b{full}\b", code)] == []
