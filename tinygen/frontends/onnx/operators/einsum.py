"""Einstein sums as matrix products: which axes of the operands become rows, columns, batches and what is summed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tinygen.frontends.onnx.raw import MAX_RANK, UnsupportedError

_DOTS = "..."
_OTHERS = "αβγδεζηθ"  # letters that no equation has, which are ASCII


@dataclass(frozen=True)
class MatrixForm:
    """How an operand becomes matrices: without the axes that it alone has, the others in an order, then of a shape."""

    lost: tuple[int, ...]  # axes of the operand that are summed before
    order: tuple[int, ...]  # of those that are left
    sizes: tuple[int, ...]  # batches, rows, columns


@dataclass(frozen=True)
class MatrixProduct:
    """Matrices whose product has the axes `sizes`, which `output_order` then brings in order."""

    left: MatrixForm
    right: MatrixForm | None  # None: of one operand, of which axes are summed or change their order only
    sizes: tuple[int, ...]
    output_order: tuple[int, ...]
    sums: bool = True  # otherwise rows and columns have nothing in common: products of elements


def product_of(equation: str, shapes: Sequence[tuple[int, ...]]) -> MatrixProduct:
    """The equation as a product; UnsupportedError where it is another sum."""
    terms, letters = _terms(equation, shapes)
    sizes = _sizes(equation, terms, shapes)
    lost = [tuple(n for n, letter in enumerate(term) if _is_alone(letter, terms, letters)) for term in terms]
    left = [
        "".join(letter for n, letter in enumerate(term) if n not in gone)
        for term, gone in zip(terms, lost, strict=True)
    ]
    if len(terms) == 1:
        order = tuple(left[0].index(letter) for letter in letters)
        kept = tuple(sizes[letter] for letter in left[0])
        return MatrixProduct(MatrixForm(lost[0], tuple(range(len(kept))), kept), None, kept, order)
    first, second = left
    batches = [letter for letter in first if letter in second and letter in letters]
    summed = [letter for letter in first if letter in second and letter not in letters]
    rows = [letter for letter in first if letter not in second]
    columns = [letter for letter in second if letter not in first]

    def side(number: int, *groups: list[str]) -> MatrixForm:
        order = tuple(left[number].index(letter) for group in groups for letter in group)
        return MatrixForm(lost[number], order, tuple(prod(sizes[letter] for letter in group) for group in groups))

    computed = [*batches, *rows, *columns]
    return MatrixProduct(
        side(0, batches, rows, summed),
        side(1, batches, summed, columns),
        tuple(sizes[letter] for letter in computed),
        tuple(computed.index(letter) for letter in letters),
        bool(summed),
    )


def _is_alone(letter: str, terms: Sequence[str], letters: str) -> bool:
    """Whether an axis is one of a single operand, and summed."""
    return letter not in letters and sum(letter in term for term in terms) == 1


def _terms(equation: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """Letters of the axes of each operand and of the result."""
    left, arrow, right = _spelled(equation, [len(shape) for shape in shapes]).partition("->")
    terms = left.split(",")
    letters = right if arrow else "".join(sorted(letter for letter in set(left) - {","} if left.count(letter) == 1))
    ranks = [len(shape) for shape in shapes]
    if not 1 <= len(ranks) <= 2 or len(terms) != len(ranks):
        raise _another(equation, f"{len(terms)} terms for {len(ranks)} inputs, one or two of each were expected")
    for term in (*terms, letters):
        if term and not term.isalpha():
            raise _another(equation, f"'{term}', letters were expected")
        if len(set(term)) < len(term):
            raise _another(equation, f"an axis twice in '{term}', different ones were expected")
    for term, rank in zip(terms, ranks, strict=True):
        if len(term) != rank:
            raise _another(equation, f"'{term}' for an input of {rank} dimensions, as many letters were expected")
    if alone := sorted(set(letters) - set("".join(terms))):
        raise _another(equation, f"axis '{alone[0]}' in its result alone, one of an input was expected")
    return terms, letters


def _spelled(equation: str, ranks: Sequence[int]) -> str:
    """The equation with letters for the axes that `...` stands for: operands with fewer have the last ones."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if not text.isascii() or _DOTS not in text or len(terms) != len(ranks):
        return text
    counts = [rank - len(term.replace(_DOTS, "")) for term, rank in zip(terms, ranks, strict=True) if _DOTS in term]
    if not counts or not 0 <= min(counts) <= max(counts) <= MAX_RANK:
        raise _another(equation, f"'...' that stands for {counts} axes, up to {MAX_RANK} of an input were expected")
    axes = _OTHERS[: max(counts)]
    spelled = ",".join(
        term.replace(_DOTS, axes[len(axes) - rank + len(term.replace(_DOTS, "")) :])
        for term, rank in zip(terms, ranks, strict=True)
    )
    if not arrow:  # they come first, then all letters that are there once
        single = sorted(letter for letter in set(left) - set(",.") if left.count(letter) == 1)
        return f"{spelled}->{axes}{''.join(single)}"
    return f"{spelled}->{right.replace(_DOTS, axes)}"


def _sizes(equation: str, terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise UnsupportedError(f"'{equation}' has axis {letter} with sizes {sizes[letter]} and {size}")
    return sizes


def _another(equation: str, what: str) -> UnsupportedError:
    return UnsupportedError(f"equation '{equation}' has {what}")
