"""Which lines of a C file are compiled for an instruction set, as far as its own macros decide."""

import ast
import re
from collections.abc import Mapping

from tinygen.targets.isa import RISCV_SETS, Isa

_ARM_COMPILER = "__ARMCC_VERSION"  # never defined: scratch is planned for what gcc and clang make of CMSIS-NN
_MACROS = ("ARM_MATH_DSP", "ARM_MATH_MVEI", _ARM_COMPILER)  # by which CMSIS-NN chooses its code
_DEFINED = {
    Isa.SCALAR: frozenset[str](),
    Isa.DSP: frozenset({"ARM_MATH_DSP"}),
    Isa.MVE: frozenset({"ARM_MATH_DSP", "ARM_MATH_MVEI"}),
    **dict.fromkeys((Isa.HOST, *RISCV_SETS), frozenset[str]()),
}
_DIRECTIVE = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)$")
_OPERATORS = (("&&", " and "), ("||", " or "))


def compiled_lines(text: str, isa: Isa) -> str:
    """`text`, without comments, less the lines that `isa` never compiles; those stay of which it is not known."""
    known = {macro: macro in _DEFINED[isa] for macro in _MACROS}
    kept: list[str] = []
    groups: list[_Group] = []
    for line in text.replace("\\\n", " ").splitlines():
        directive = _DIRECTIVE.match(line)
        if directive is None:
            kept += [line] if all(group.is_compiled for group in groups) else []
        elif directive[1].startswith("if"):
            groups.append(_Group(_condition(directive[1], directive[2], known)))
        elif directive[1] == "endif" and groups:
            groups.pop()
        elif groups:
            groups[-1].turn(True if directive[1] == "else" else _condition("if", directive[2], known))
    return "\n".join(kept)


class _Group:
    """The branches of an #if, one after the other. What may be compiled counts as compiled."""

    def __init__(self, condition: bool | None) -> None:
        self.is_compiled = condition is not False
        self._is_decided = condition is True

    def turn(self, condition: bool | None) -> None:
        """Go to the next branch."""
        self.is_compiled = condition is not False and not self._is_decided
        self._is_decided = self._is_decided or condition is True


def _condition(directive: str, expression: str, known: Mapping[str, bool]) -> bool | None:
    """Whether the condition holds; None where that is not known."""
    if directive != "if":
        found = known.get(expression.strip())
        return found if found is None or directive == "ifdef" else not found
    spelled = re.sub(r"\bdefined\s*\(?\s*(\w+)\s*\)?", r" \1 ", expression)
    spelled = re.sub(r"!(?!=)", " not ", spelled)
    for operator, word in _OPERATORS:
        spelled = spelled.replace(operator, word)
    try:
        return _value(ast.parse(spelled.strip(), mode="eval").body, known)
    except SyntaxError:  # something of C that Python spells otherwise
        return None


def _value(node: ast.expr, known: Mapping[str, bool]) -> bool | None:
    """With three values: what is unknown decides nothing, but need not be known where the rest decides."""
    match node:
        case ast.Name(id=name):
            return known.get(name)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = _value(operand, known)
            return None if value is None else not value
        case ast.BoolOp(op=operator, values=nodes):
            values = [_value(each, known) for each in nodes]
            decisive = isinstance(operator, ast.Or)
            if decisive in values:
                return decisive
            return None if None in values else not decisive
    return None
