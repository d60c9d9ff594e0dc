"""The page of operators: what models may have, by which kernels it runs, and what TFLite Micro has of it."""

from collections.abc import Iterable, Sequence

from tests.support.tflm_types import TFLM_OTHERS, TFLM_RESULTS, TFLM_TYPES
from tests.support.typed_models import imported_cases
from tinygen.ir.answers import Range
from tinygen.ir.graph import Op
from tinygen.ir.text import kind_name
from tinygen.kernels.base import Lowerings
from tinygen.kernels.float32.select import FLOAT_LOWERINGS
from tinygen.kernels.int16.select import INT16_LOWERINGS
from tinygen.kernels.native import select as native
from tinygen.kernels.select import LOWERINGS
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.cast import Cast
from tinygen.ops.comparison import Compare
from tinygen.ops.control import If, While
from tinygen.ops.cumulative_sum import CumulativeSum
from tinygen.ops.integer_arithmetic import IntegerArithmetic
from tinygen.ops.logic import LogicalAnd, LogicalOr, ReduceAll, ReduceAny
from tinygen.ops.lstm import Lstm
from tinygen.ops.svdf import Svdf
from tinygen.ops.top_k import TopK
from tinygen.ops.unary import Unary
from tinygen.report.supported import SupportedOperator, supported_onnx_operators, supported_operators

_LEGEND = (
    "- *native*: kernels of tinygen's own for one layer, for DSP, MVE and plain cores (`docs/kernels.md`)",
    "- *CMSIS-NN*: its functions, or the portable C of the same names; of int16 where sums are proven to fit 32 bits",
    "- *own C*: functions that CMSIS-NN does not have",
    "- *table*: 256 entries that the compiler makes",
    "- *as int8*: elements only move, so the kernel takes any type",
)
_COLUMNS = ("int8", "int16", "float32")
_BOOL = "bool"
_ANY = "int8 int16 float32 any"
_SEVERAL: dict[type[Op], str] = {
    ArgMax: "int8 uint8 int16 int32 int64 float32",
    Cast: "int8 uint8 int16 int32 int64 float32 bool",
    Compare: "int8 uint8 int16 int32 int64 float32 bool",
    If: _ANY,
    While: _ANY,
    CumulativeSum: "int8 int32 int64 float32",
    IntegerArithmetic: "int32 int64",
    LogicalAnd: _BOOL,
    LogicalOr: _BOOL,
    ReduceAll: _BOOL,
    ReduceAny: _BOOL,
    TopK: "int8 uint8 int16 int32 int64 float32",
}
"""Operators whose one lowering is for several element types: see `tests/ops/test_numbers.py`, `test_control.py`."""
_TFLM_TYPES = {
    **{name: ", ".join(types) for name, types in TFLM_TYPES.items()},
    **{name: ", ".join(types) for name, types in TFLM_RESULTS.items()},
    **TFLM_OTHERS,
}
_NO_INT16 = {  # of what has int8: why
    "ADD_N": "neither TFLite Micro nor LiteRT has it; as several ADD it is read",
    "CEIL": "neither has it; between the entries of a table whole numbers would be missed",
    "CUMSUM": "neither has it",
    "DIV": "TFLite Micro has none, and quotients of 16 bits need more than its 31 bits of arithmetic for int8",
    "FLOOR": "as CEIL",
    "L2_NORMALIZATION": "neither has it: the arithmetic of its root is for sums of squares of 8 bits",
    "LOG_SOFTMAX": "neither has it; SOFTMAX and LOG are there",
    "ROUND": "as CEIL",
    "SQRT": "TFLite Micro has none; a table of 513 entries is thousands of steps off near 0; RSQRT is there",
}
_NATIVE = {op for table in (native.LOWERINGS, native.MVE_LOWERINGS) for op in table}


def page() -> str:
    """The page as Markdown."""
    tflite = supported_operators()
    missing = sorted(_TFLM_TYPES.keys() - {operator.operator for operator in tflite})
    kernels = sorted({*LOWERINGS, *INT16_LOWERINGS, *FLOAT_LOWERINGS}, key=kind_name)
    return "\n".join(
        [
            "# Operators",
            "",
            "Made by `pytest tests/test_operators_page.py --update-golden` from the tables of readers and kernels.",
            "",
            "## Operators of the IR, and what runs them",
            "",
            *_LEGEND,
            "",
            *_table(("operator", *_COLUMNS, "others, own C"), map(_kernels, kernels)),
            "",
            "## TFLite",
            "",
            f"Of TFLite Micro's {len(_TFLM_TYPES)} builtin operators {len(_TFLM_TYPES) - len(missing)} are here.",
            "",
            *_table(("operator", "computes", "remark", "types", "types in TFLite Micro"), map(_tflite, tflite)),
            "",
            "## Of int8, not of int16",
            "",
            *_table(("operator", "reason"), sorted((f"`{name}`", reason) for name, reason in _without_int16())),
            "",
            "## In TFLite Micro, not here",
            "",
            *_table(("operator", "types in TFLite Micro"), ((f"`{name}`", _TFLM_TYPES[name]) for name in missing)),
            "",
            "## ONNX",
            "",
            *_table(("operator", "remark"), ((f"`{o.operator}`", o.remark) for o in supported_onnx_operators())),
            "",
        ]
    )


_BOTH = "CMSIS-NN, own C"
_PROVEN = (Lstm, Svdf)  # both on either type: CMSIS-NN's functions where they are exact


def _kernels(kind: type[Op]) -> tuple[str, ...]:
    if kind in _SEVERAL:
        types = _SEVERAL[kind].split()
        others = ", ".join(type for type in types if type not in _COLUMNS)
        return f"`{kind_name(kind)}`", *("own C" if type in types else "" for type in _COLUMNS), others
    if kind in _PROVEN:
        return f"`{kind_name(kind)}`", _BOTH, _BOTH, _home(kind, FLOAT_LOWERINGS), ""
    int8 = "table" if issubclass(kind, Unary) and kind not in LOWERINGS else _home(kind, LOWERINGS)
    if kind in _NATIVE:
        int8 = f"native, {int8}"
    moved = "as int8" if kind.result_range in (Range.MOVED, Range.OF_OPERANDS) and kind in LOWERINGS else ""
    int16 = _BOTH if kind in INT16_LOWERINGS else moved
    return f"`{kind_name(kind)}`", int8, int16, _home(kind, FLOAT_LOWERINGS) or moved, _others(kind, moved)


def _others(kind: type[Op], moved: str) -> str:
    return "any" if moved and kind not in INT16_LOWERINGS and kind not in FLOAT_LOWERINGS else ""


def _home(kind: type[Op], table: Lowerings) -> str:
    if kind not in table:
        return ""
    return "CMSIS-NN" if ".cmsis_nn." in table[kind].__module__ else "own C"


def _without_int16() -> Iterable[tuple[str, str]]:
    """All that are read of int8 and not of int16, which are those that a reason is known of."""
    types = {kind: {case.operator for case in imported_cases() if case.type == kind} for kind in ("int8", "int16")}
    missing = types["int8"] - types["int16"]
    assert missing == set(_NO_INT16), missing ^ set(_NO_INT16)
    return _NO_INT16.items()


def _tflite(operator: SupportedOperator) -> tuple[str, ...]:
    name = operator.operator
    types = ", ".join(dict.fromkeys(case.type for case in imported_cases() if case.operator == name))
    return f"`{name}`", operator.meaning, operator.remark, types, _TFLM_TYPES.get(name, "")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = (" | ".join(cell.replace("|", "&#124;") for cell in row) for row in rows)
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {line} |" for line in lines)]
