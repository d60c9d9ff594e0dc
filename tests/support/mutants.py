"""Mutants: a source file with one small change that could be a mistake of whoever wrote it.

Of Python by its syntax tree; of C and of templates of C by their text, comments and what templates compute left out.
Messages, annotations, docstrings and the conditions of `assert` are not touched: they decide nothing.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], tuple[bytes, bytes]] = {
    ast.Lt: (b"<", b"<="),
    ast.LtE: (b"<=", b"<"),
    ast.Gt: (b">", b">="),
    ast.GtE: (b">=", b">"),
    ast.Eq: (b"==", b"!="),
    ast.NotEq: (b"!=", b"=="),
    ast.In: (b"in", b"not in"),
    ast.Is: (b"is", b"is not"),
    ast.IsNot: (b"is not", b"is"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[bytes, bytes]] = {
    ast.Add: (b"+", b"-"),
    ast.Sub: (b"-", b"+"),
    ast.Mult: (b"*", b"+"),
    ast.FloorDiv: (b"//", b"*"),
    ast.Mod: (b"%", b"*"),
    ast.LShift: (b"<<", b">>"),
    ast.RShift: (b">>", b"<<"),
    ast.BitAnd: (b"&", b"|"),
    ast.BitOr: (b"|", b"&"),
}
_NAMES = {
    b"min": b"max",
    b"max": b"min",
    b"any": b"all",
    b"all": b"any",
    b"minimum": b"maximum",
    b"maximum": b"minimum",
}
_SILENT = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)  # what is inside is for readers
_MOST_CHANGED = 1 << 40  # of constants

_HIDDEN = re.compile(rb"/\*.*?\*/|//[^\n]*|\{[{%#].*?[}%#]\}|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_TOKENS = re.compile(
    rb"<<=?|>>=?|<=|>=|==|!=|&&|\|\||\+\+|--|->|[-+*/%&|^]=|(?<=\s)[-+<>](?=\s)|(?<![\w.\"'#%])\d+[uU]?\b|#\d+\b"
    rb"|\b(?:add|sub|lsl|lsr|asr|smlad|smlabb|smlatt|ssat|qadd|umlal|smmlar|smmul|smmulr)s?\b"
)
_SWAPPED = {
    b"<<": b">>",
    b">>": b"<<",
    b"<=": b"<",
    b">=": b">",
    b"<": b"<=",
    b">": b">=",
    b"==": b"!=",
    b"!=": b"==",
    b"&&": b"||",
    b"||": b"&&",
    b"+": b"-",
    b"-": b"+",
    b"+=": b"-=",
    b"-=": b"+=",
    b"add": b"sub",
    b"adds": b"subs",
    b"sub": b"add",
    b"subs": b"adds",
    b"lsl": b"lsr",
    b"lsr": b"lsl",
    b"asr": b"lsr",
    b"smlabb": b"smlatt",
    b"smlatt": b"smlabb",
    b"smmlar": b"smmla",
    b"smmulr": b"smmul",
}


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: bytes from `start` to `end` become `replacement`."""

    start: int
    end: int
    replacement: bytes

    def apply(self, text: bytes) -> bytes:
        """The changed file."""
        return text[: self.start] + self.replacement + text[self.end :]

    def line(self, text: bytes) -> int:
        """From 1: where it stands."""
        return text.count(b"\n", 0, self.start) + 1

    def lines(self, text: bytes) -> tuple[str, str]:
        """The line that it changes, before and afterwards, without indentation."""
        first = text.rfind(b"\n", 0, self.start) + 1
        before, after = text[first:].split(b"\n", 1)[0], self.apply(text)[first:].split(b"\n", 1)[0]
        return before.decode().strip(), after.decode().strip()


def mutants(name: str, text: bytes) -> list[Mutant]:
    """All of a file; `name` says of which language it is."""
    return sorted(set(_of_python(text) if name.endswith(".py") else _of_c(text)))


def _of_c(text: bytes) -> Iterator[Mutant]:
    shown = _HIDDEN.sub(lambda hidden: re.sub(rb"[^\n]", b" ", hidden[0]), text)
    for token in _TOKENS.finditer(shown):
        found = token[0]
        if found in _SWAPPED:
            yield Mutant(*token.span(), _SWAPPED[found])
        elif digits := re.fullmatch(rb"(#?)(\d+)([uU]?)", found):
            yield Mutant(*token.span(), b"%s%d%s" % (digits[1], int(digits[2]) + 1, digits[3]))


def _of_python(text: bytes) -> Iterator[Mutant]:
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def between(first: ast.expr, second: ast.expr, swap: tuple[bytes, bytes]) -> Iterator[Mutant]:
        left, right = place(first)[1], place(second)[0]
        word = rb"\b%s\b" if swap[0].isalpha() else rb"%s"
        if found := re.search(word % re.escape(swap[0]), text[left:right]):
            yield Mutant(left + found.start(), left + found.end(), swap[1])

    for node in _deciding(ast.parse(text)):
        match node:
            case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
                yield from between(node.left, node.comparators[0], _COMPARISONS[type(op)])
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                yield from between(node.left, node.right, _ARITHMETIC[type(node.op)])
            case ast.BoolOp():
                swap = (b"and", b"or") if isinstance(node.op, ast.And) else (b"or", b"and")
                yield from between(node.values[0], node.values[1], swap)
            case ast.UnaryOp(op=ast.Not()):
                yield Mutant(place(node)[0], place(node)[0] + len(b"not "), b"")
            case ast.UnaryOp(op=ast.USub()):
                yield Mutant(place(node)[0], place(node)[0] + len(b"-"), b"+")
            case ast.IfExp() | ast.If():
                start, end = place(node.test)
                yield Mutant(start, end, b"not (%s)" % text[start:end])
            case ast.Constant(value=bool()):
                yield Mutant(*place(node), str(not node.value).encode())
            case ast.Constant(value=int(number)) if number < _MOST_CHANGED:
                yield Mutant(*place(node), str(number + 1).encode())
            case ast.Name() if node.id.encode() in _NAMES:
                yield Mutant(*place(node), _NAMES[node.id.encode()])
            case ast.Attribute() if node.attr.encode() in _NAMES:
                end = place(node)[1]
                yield Mutant(end - len(node.attr.encode()), end, _NAMES[node.attr.encode()])
            case ast.Expr(value=ast.Call()):
                yield Mutant(*place(node), b"pass")


def _deciding(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that are for readers and type checkers."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases", "keywords") and not isinstance(
            node, ast.Call
        ):
            continue
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and not isinstance(child, _SILENT):
                yield child
                yield from _deciding(child)
