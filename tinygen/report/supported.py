"""The operators that models may have, taken from the frontends' own tables."""

import re
from dataclasses import dataclass
from functools import partial
from inspect import unwrap
from types import UnionType
from typing import get_args, get_type_hints

from tinygen.frontends.onnx.fold import FOLDED, OF_SHAPES
from tinygen.frontends.onnx.fused_operators import FUSED
from tinygen.frontends.onnx.node import Reader as OnnxReader
from tinygen.frontends.onnx.qoperator import EXPANSIONS
from tinygen.frontends.onnx.registry import READERS as ONNX_READERS
from tinygen.frontends.onnx.registry import STANDARD_FUNCTIONS
from tinygen.frontends.tflite.importer import INTEGER_READERS, READERS
from tinygen.frontends.tflite.node import Reader
from tinygen.frontends.tflite.operators.shape import KNOWN
from tinygen.frontends.tflite.raw import CUSTOM
from tinygen.ir.graph import Op
from tinygen.report.table import ShownTable, listing

_NAMES = re.compile(r"[A-Z]\w*(, [A-Z]\w*)*( and [A-Z]\w*)?[:;,]? *")  # as readers' documentation begins
_FORMATS = {"tflite": "TFLite", "onnx": "ONNX"}


@dataclass(frozen=True)
class SupportedOperator:
    """One operator of a file format."""

    operator: str
    meaning: str  # what it computes, empty where the name says it
    remark: str  # how it is read, and limits


def supported_operators() -> tuple[SupportedOperator, ...]:
    """TFLite's operators by name."""
    return tuple(_supported(name) for name in sorted({*READERS, *INTEGER_READERS}))


def supported_onnx_operators() -> tuple[SupportedOperator, ...]:
    """ONNX's operators by name, those of com.microsoft among them."""
    quantized = {name: "as the operator between DequantizeLinear and QuantizeLinear" for _, name in EXPANSIONS}
    fused = dict.fromkeys(FUSED, "as the layer and what was joined with it")
    folded = {**dict.fromkeys(FOLDED, "only on constants, such as shapes"), **dict.fromkeys(OF_SHAPES, "of any tensor")}
    read = {name: _onnx_remark(name, reader) for name, reader in ONNX_READERS.items()}
    defined = dict.fromkeys(STANDARD_FUNCTIONS, "as the operators by which ONNX defines it")
    remarks = {**quantized, **fused, **folded, **defined, **read}
    return tuple(SupportedOperator(name, "", remarks[name]) for name in sorted(remarks))


def _onnx_remark(name: str, reader: OnnxReader) -> str:
    """What a reader's documentation says after the operators' names and a colon."""
    names, colon, text = _first_line(reader.__doc__).partition(": ")
    return text if colon and re.search(rf"\b{name}\b", names) else ""


def supported_table(format: str, operators: tuple[SupportedOperator, ...]) -> ShownTable:
    """The operators of a file format, one a line."""
    rows = ((operator.operator, operator.meaning, operator.remark) for operator in operators)
    return listing(_headings(format), rows, f"Operators of quantized {_FORMATS[format]} models")


def supported_markdown(format: str, operators: tuple[SupportedOperator, ...]) -> str:
    """The operators of a file format as a Markdown table."""
    cells = ((operator.operator, operator.meaning, operator.remark) for operator in operators)
    rows = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in cells]
    return "\n".join([f"| {' | '.join(_headings(format))} |", "|---|---|---|", *rows]) + "\n"


def _headings(format: str) -> tuple[str, str, str]:
    return f"{_FORMATS[format]} operator", "computes", "remark"


def _supported(name: str) -> SupportedOperator:
    reader = READERS.get(name)
    if reader is None:
        return SupportedOperator(name, "", f"only {_of_integers(name)}")
    reader = unwrap(reader)
    remarks = [_remark(name, reader), f"also {_of_integers(name)}" if name in INTEGER_READERS else ""]
    return SupportedOperator(name, _meaning(reader), "; ".join(remark for remark in remarks if remark))


def _of_integers(name: str) -> str:
    """On which integers without scales an operator is read."""
    known = "on integers that are known when the model is compiled, such as shapes"
    return known if name in KNOWN else "on int32 and int64 without scales"


def _meaning(reader: Reader) -> str:
    """The first line of the documentation of the operator that is read."""
    kinds = [kind for kind in _kinds(reader) if kind is not Op]
    return _first_line(kinds[0].__doc__) if len(kinds) == 1 else ""


def _kinds(reader: Reader) -> list[type[Op]]:
    """Operators of the IR that a reader makes, as far as its types say."""
    members: tuple[object, ...] = ()
    if isinstance(reader, partial):
        members = tuple(reader.keywords.values())
        reader = reader.func
    hint = get_type_hints(reader)["return"]
    members += get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return [member for member in members if isinstance(member, type) and issubclass(member, Op)]


def _remark(name: str, reader: Reader) -> str:
    """What a reader's documentation says after the operator's name."""
    if isinstance(reader, partial):
        return ""
    text = _first_line(reader.__doc__)
    names = _NAMES.match(text)
    return text[names.end() :] if names and name.removeprefix(CUSTOM) in re.findall(r"\w+", names[0]) else ""


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0].rstrip(".")
