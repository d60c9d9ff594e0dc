"""Pieces of C text: identifiers, types, literals, comments."""

import keyword
import re
import textwrap

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.types import Array, DType

_WIDTH = 110
_INDENT = 4 * " "
_LONGEST = 64  # letters of a model's name, which begins those of files and functions
_NO_BREAK = "\N{NO-BREAK SPACE}"
# What a line of MLIR is not broken inside of. No letter is looked at from each one before it: names may be long.
_WHOLE = re.compile(r"\b\w+ = \[[^][]*\]|tensor<[^<>]*(?:<[^<>]*)?>")
_C_TYPES = {
    DType.BOOL: "uint8_t",
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.INT32: "int32_t",
    DType.INT64: "int64_t",
    DType.UINT32: "uint32_t",
    DType.UINT64: "uint64_t",
    DType.FLOAT32: "float",
    DType.SIGNS: "uint32_t",
}
_KEYWORDS = (
    "alignas alignof and asm auto bool break case catch char class const constexpr continue default delete do double "
    "else enum extern false float for friend goto if inline int long main mutable namespace new not nullptr operator "
    "or private protected public register restrict return short signed sizeof static struct switch template this "
    "throw true try typedef typename union unsigned using virtual void volatile while xor"
)
_HEADERS = (  # a model's header must not hide another
    "arm_nn_math_types arm_nn_types arm_nnfunctions arm_nnsupportfunctions assert complex ctype errno fenv float "
    "inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib "
    "stdnoreturn string tgmath threads time uchar wchar wctype"
)
_RESERVED = frozenset((*_KEYWORDS.split(), *_HEADERS.split(), *keyword.kwlist))


def c_type(dtype: DType) -> str:
    """The C type of an element."""
    return _C_TYPES[dtype]


def model_identifier(text: str) -> str:
    """A C identifier for a model that the user named `text` (a file's stem, or the option --name)."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:_LONGEST].rstrip("_")
    if not name:
        return "model"
    return f"model_{name}" if name[0].isdigit() or _is_reserved(name) else name


def checked_identifier(text: str) -> str:
    """`text` itself; UsageError unless it can be a model's name in C."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) or _is_reserved(text.lower()):
        raise UsageError(
            f"--name: is '{text}', a C identifier was expected (letters, digits, underscores; no reserved name). "
            f"Try '{model_identifier(text)}'."
        )
    if len(text) > _LONGEST:
        raise UsageError(f"--name: has {len(text)} letters, at most {_LONGEST} were expected. Choose a shorter one.")
    return text


def _is_reserved(name: str) -> bool:
    return name in _RESERVED or name.startswith("tg_")


def initializer(values: Array) -> str:
    """The elements of a flat array, wrapped into lines of equal indent."""
    lines: list[str] = []
    line = _INDENT
    for literal in _literals(values.reshape(-1)):
        if len(line) + len(literal) + 1 > _WIDTH and line != _INDENT:
            lines.append(line[:-1])
            line = _INDENT
        line += f"{literal}, "
    return "\n".join((*lines, line.rstrip(", ")))


def _literals(values: Array) -> list[str]:
    if np.issubdtype(values.dtype, np.floating):
        return [float_literal(float(value)) for value in values]
    numbers = (values.astype(np.uint8) if values.dtype == np.bool_ else values).tolist()
    if values.dtype == np.uint32:
        return [f"0x{number:08X}U" for number in numbers]
    texts = [f"INT64_C({number})" for number in numbers] if values.dtype == np.int64 else list(map(str, numbers))
    for dtype, name in ((np.int32, "INT32_MIN"), (np.int64, "INT64_MIN")):
        if values.dtype == dtype:  # the least one is the negation of a literal that does not fit
            for index in np.flatnonzero(values == np.iinfo(dtype).min):
                texts[index] = name
    return texts


def float_literal(value: float) -> str:
    """A float32 value as C literal that reads back exactly; infinities and NaN as gcc and clang spell them."""
    if not np.isfinite(value):
        sign = "-" if value < 0 else ""
        return '__builtin_nanf("")' if np.isnan(value) else f"{sign}__builtin_inff()"
    text = np.format_float_scientific(np.float32(value), unique=True, trim="0")
    return f"{text}f"


def inline_comment(text: str) -> str:
    """Text that may stand inside a comment: nothing in it can end the comment early, or join it with the next line."""
    plain = "".join(character if " " <= character <= "~" else "?" for character in text.replace("\\", "/"))
    without_trigraphs = re.sub(r"\?(?=\?)", "? ", plain)
    return without_trigraphs.replace("*/", "* /").replace("/*", "/ *")


def comment(*paragraphs: str) -> str:
    """A block comment; nothing in the text can end it early."""
    lines: list[str] = []
    for paragraph in paragraphs:
        text = _WHOLE.sub(lambda found: found[0].replace(" ", _NO_BREAK), inline_comment(paragraph))
        lines += textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    lines = [line.replace(_NO_BREAK, " ") for line in lines]
    if len(lines) == 1:
        return f"/* {lines[0]} */"
    return "/*\n" + "\n".join(f" * {line}".rstrip() for line in lines) + "\n */"
