"""Pieces of C text, by the opinion of C compilers wherever they have one."""

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.support.tiny_models import classifier
from tests.support.tools import requires_host_cc
from tinygen.build.toolchain import WARNINGS
from tinygen.codegen.c_text import (
    c_type,
    checked_identifier,
    comment,
    float_literal,
    initializer,
    inline_comment,
    model_identifier,
)
from tinygen.codegen.line_breaks import break_lines
from tinygen.codegen.project import ProjectKind
from tinygen.errors import UsageError
from tinygen.ir.types import Array, DType
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

STRICT = ("-std=c11", "-pedantic", *WARNINGS, "-Wcomment", "-Wtrigraphs")
HOSTILE = [
    "*/ int injected; /*",
    "*\\ int injected; /\\*",
    '"; int injected; "',
    "\n#error injected\n",
    "\\\n#error injected",
    "??/",
    "*??/",
    "???/",
    "ä??/",
    "é?/",
    "//\\",
    "/" * 300 + "*" * 300 + "/" * 3,
    "%s%n{{ 7 * 7 }}",
    "\x00\x1b[2J",
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kws", "kws"),
        ("KWS Model v1.2", "kws_model_v1_2"),
        ("  kws--ref  ", "kws_ref"),
        ("3-digits", "model_3_digits"),
        ("int", "model_int"),
        ("Class", "model_class"),
        ("lambda", "model_lambda"),
        ("string", "model_string"),
        ("stdint", "model_stdint"),
        ("arm_nnfunctions", "model_arm_nnfunctions"),
        ("tg_softmax", "model_tg_softmax"),
        ("", "model"),
        ("..", "model"),
        ("層", "model"),
        ("naïve", "na_ve"),
        ("__x__", "x"),
    ],
)
def test_names_of_models(text: str, name: str) -> None:
    assert model_identifier(text) == name
    assert checked_identifier(name) == name


@pytest.mark.parametrize("text", ["", "3x", "a-b", "a b", "_x", "int", "String", "ä", "a\n", "tg_x", "a;b"])
def test_names_that_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_identifier(text)
    assert str(caught.value) == (
        f"--name: is '{text}', a C identifier was expected (letters, digits, underscores; no reserved name). "
        f"Try '{model_identifier(text)}'."
    )


@requires_host_cc
def test_literals_read_back_exactly(tmp_path: Path) -> None:
    """The ends of each type, and floats of every kind: what a compiler makes of them is what was there."""
    limits = np.finfo(np.float32)
    floats = [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, limits.eps, 0.0, -0.0, 1.0, 0.1, 1 / 3]
    floats += np.random.default_rng(0).integers(0, 0x7F800000, 200, np.uint32).view(np.float32).tolist()
    arrays: list[Array] = [np.array(floats, np.float32), np.array([False, True])]
    for dtype in (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64):
        arrays.append(np.array([dtype.min, dtype.min + 1, 0, dtype.max - 1, dtype.max], dtype.numpy))
    definitions = [
        f"const {c_type(DType.of(array.dtype))} a{index}[] = {{\n{initializer(array)},\n}};"
        for index, array in enumerate(arrays)
    ]
    writes = "".join(f"fwrite(a{index}, sizeof a{index}, 1, stdout);" for index in range(len(arrays)))
    program = "\n".join(["#include <stdint.h>", "#include <stdio.h>", *definitions, f"int main(void){{{writes}}}"])
    (tmp_path / "literals.c").write_text(program)
    flags = [flag for flag in STRICT if flag != "-Wextra"]
    subprocess.run(["cc", *flags, "literals.c", "-o", "literals"], cwd=tmp_path, check=True)
    written = subprocess.run(["./literals"], cwd=tmp_path, capture_output=True, check=True).stdout
    assert written == b"".join(array.tobytes() for array in arrays)


def test_smallest_integers_have_names() -> None:
    """-2147483648 would be the negation of a literal that does not fit."""
    assert initializer(np.array([-(2**31), -1], np.int32)) == "    INT32_MIN, -1"
    assert initializer(np.array([-(2**63), -1], np.int64)) == "    INT64_MIN, INT64_C(-1)"


def test_float_literals_are_floats_and_short() -> None:
    assert float_literal(struct.unpack("<f", b"\xcd\xcc\xcc\x3d")[0]) == "1.0e-01f"
    assert re.fullmatch(r"-?\d\.\d+e[+-]\d+f", float_literal(-(2.0**-149)))


@requires_host_cc
def test_comments_end_where_they_should(tmp_path: Path) -> None:
    """A compiler finds one definition after each comment, and nothing else."""
    parts = [f"{comment(text, text)}\n/* {inline_comment(text)} */\nint i{n};" for n, text in enumerate(HOSTILE)]
    (tmp_path / "comments.c").write_text("\n".join(parts) + "\n")
    subprocess.run(["cc", *STRICT, "-trigraphs", "-fsyntax-only", "comments.c"], cwd=tmp_path, check=True)
    bare = subprocess.run(["cc", "-trigraphs", "-E", "-P", "comments.c"], cwd=tmp_path, capture_output=True, check=True)
    assert bare.stdout.decode().split() == [word for n in range(len(HOSTILE)) for word in ("int", f"i{n};")]


@requires_host_cc
def test_hostile_names_in_a_model_stay_in_comments(tmp_path: Path) -> None:
    """Names of tensors and of the file: the code is what it is with harmless ones."""
    codes = []
    for number, names in enumerate([list("abcd"), HOSTILE[:4], HOSTILE[4:8], HOSTILE[8:12], ["", *HOSTILE[12:], "("]]):
        file = tmp_path / f'{number}"*\\??\n({"ä" * number}.tflite'
        file.write_bytes(classifier(names))
        compiled = compile_model(file, Options(name="net", kernels=Kernels.PORTABLE, target="host"))
        folder = tmp_path / f"out{number}"
        for path, text in compiled.folder_files(ProjectKind.MAKE).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        include = [f"-I{name}" for name in ("names", "portable")]
        command = ["cc", *STRICT, "-trigraphs", *include, "-E", "-P", "net.c"]
        codes.append(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)
    assert set(codes) == {codes[0]}


@requires_host_cc
@pytest.mark.parametrize("name", ["at", "at_conv", "atlas"])
def test_no_name_of_a_model_meets_the_names_of_places(name: str, tmp_path: Path) -> None:
    """`AT_CONV_2D_0` is where values lie, or the status of an operator of the model `at`."""
    file = tmp_path / "net.tflite"
    file.write_bytes(classifier())
    compiled = compile_model(file, Options(name=name, kernels=Kernels.PORTABLE, target="host"))
    for path, text in compiled.folder_files(ProjectKind.MAKE).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    include = [f"-I{folder}" for folder in ("names", "operators", "portable")]
    subprocess.run(["cc", *STRICT, *include, "-fsyntax-only", f"{name}.c"], cwd=tmp_path, check=True)


def test_lines_are_broken_and_joined() -> None:
    arguments = ", ".join(f"argument_{n}" for n in range(12))
    broken = break_lines(
        f"    call({arguments});\n/* {arguments}, {arguments} */\n#define X ({arguments}, {arguments}\n"
    )
    assert broken == (
        "    call(argument_0, argument_1, argument_2, argument_3, argument_4, argument_5, argument_6, argument_7, "
        "argument_8,\n        argument_9, argument_10, argument_11);\n"
        f"/* {arguments}, {arguments} */\n#define X ({arguments}, {arguments}\n"
    )
    assert break_lines("f(a,\n  b, /* ( */\n  c);\n") == "f(a, b, /* ( */ c);\n"
    assert break_lines("/*\n * f(a,\n *   b\n */\nint x;\n") == "/*\n * f(a,\n *   b\n */\nint x;\n"


def test_long_names_are_looked_at_once() -> None:
    """Each of these takes hours where every letter is looked at again from each one before it."""
    for piece, count in (("x", 3_000_000), ("tensor<", 300_000), ("a = [", 300_000), ("tensor<a<", 300_000)):
        text = comment(piece * count).replace("\n * ", " ")
        assert text.count(piece) == count, piece


def test_parts_of_a_line_of_mlir_stay_in_one_piece() -> None:
    parts = [f"pads = [0, {number}]" for number in range(40)]
    parts += [f"tensor<1x{n}xi8, quant {n}>" for n in range(40)] + [f"tensor<1x{n}x!q<i8 {n}> b>" for n in range(40)]
    lines = comment(" ".join(parts)).splitlines()
    for part in parts[:-40]:
        assert any(part in line for line in lines), part
    for number in range(40):
        assert any(f"tensor<1x{number}x!q<i8 {number}>" in line for line in lines)
