"""Families of kernels: one file in the repository, one for each member where they are compiled."""

from pathlib import Path

from tinygen.build.kernel_sources import kernel_library, native, operators
from tinygen.build.source import SourceFile, sources_of
from tinygen.kernels.base import Library
from tinygen.paths import RUNTIME_C

FAMILY = """/* For all. */
#include "body.h"

/* file: one.c */

BODY(one)

/* file: two.c */

/* The second. */
BODY(two)
"""


def test_members_have_the_head_of_their_family(tmp_path: Path) -> None:
    family = tmp_path / "family.c"
    family.write_text(FAMILY)
    assert sources_of(family) == (
        SourceFile("one.c", family, '/* For all. */\n#include "body.h"\n\nBODY(one)\n', is_cut=True),
        SourceFile("two.c", family, '/* For all. */\n#include "body.h"\n\n/* The second. */\nBODY(two)\n', is_cut=True),
    )
    assert [source.placed(tmp_path) for source in sources_of(family)] == [tmp_path / "one.c", tmp_path / "two.c"]
    assert (tmp_path / "two.c").read_text() == sources_of(family)[1].text


def test_other_files_are_themselves(tmp_path: Path) -> None:
    file = tmp_path / "alone.c"
    file.write_text("int alone; /* file: two.c */\n")
    (source,) = sources_of(file)
    assert source == SourceFile("alone.c", file, file.read_text())
    assert source.placed(tmp_path / "nowhere") == file


def test_every_kernel_has_a_file_of_its_own_name() -> None:
    """Across all trees: their object files lie in one archive, and in the folders of users' builds."""
    trees = (native(), operators(), kernel_library(Library.PORTABLE, None))
    names = [source.name for tree in trees for source in tree.sources]
    assert len(names) == len(set(names))
    assert [name for name in names if not name.startswith(("tg_", "arm_"))] == []


def test_headers_are_those_that_are_included() -> None:
    """And those that these include in turn."""
    found = {header.name for header in native().included(['#include "tg_native_pool.h"\n'])}
    assert found == {
        "tg_native.h",
        "tg_native_arithmetic.h",
        "tg_native_names.h",
        "tg_native_pool.h",
        "tg_version.h",
    }


def test_sources_for_the_device_are_c_alone() -> None:
    """Compiling the `.c` files of a folder builds it: there is no assembly in files of its own."""
    assert [file.name for file in RUNTIME_C.rglob("*") if file.suffix.lower() in (".s", ".asm", ".inc")] == []
