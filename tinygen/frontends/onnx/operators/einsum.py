"""Einstein sums as matrix products: which axes of the operands become rows, columns, batches and what is summed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tinygen.frontends.onnx.raw import UnsupportedError


@dataclass(frozen=True)
class MatrixForm:
    """How an operand becomes matrices: its axes in another order, then of this shape."""

    order: tuple[int, ...]
    sizes: tuple[int, ...]  # batches, rows, columns


@dataclass(frozen=True)
class MatrixProduct:
    """Matrices whose product has the axes `sizes`, which `output_order` then brings in order."""

    left: MatrixForm
    right: MatrixForm | None  # None: of one operand, of which axes change their order only
    sizes: tuple[int, ...]
    output_order: tuple[int, ...]


def product_of(equation: str, shapes: Sequence[tuple[int, ...]]) -> MatrixProduct:
    """The equation as a product; UnsupportedError where it is another sum."""
    terms, letters = _terms(equation, shapes)
    sizes = _sizes(equation, terms, shapes)
    if len(terms) == 1:
        if sorted(terms[0]) != sorted(letters):
            raise _another(equation)
        order = tuple(terms[0].index(letter) for letter in letters)
        return MatrixProduct(MatrixForm(tuple(range(len(letters))), shapes[0]), None, shapes[0], order)
    first, second = terms
    batches = [letter for letter in first if letter in second and letter in letters]
    summed = [letter for letter in first if letter in second and letter not in letters]
    rows = [letter for letter in first if letter not in second]
    columns = [letter for letter in second if letter not in first]
    if not set(rows + columns) <= set(letters) or not summed:
        raise _another(equation)

    def side(term: str, *groups: list[str]) -> MatrixForm:
        order = tuple(term.index(letter) for group in groups for letter in group)
        return MatrixForm(order, tuple(prod(sizes[letter] for letter in group) for group in groups))

    computed = [*batches, *rows, *columns]
    return MatrixProduct(
        side(first, batches, rows, summed),
        side(second, batches, summed, columns),
        tuple(sizes[letter] for letter in computed),
        tuple(computed.index(letter) for letter in letters),
    )


def _terms(equation: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """Letters of the axes of each operand and of the result."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = right if arrow else "".join(sorted(letter for letter in set(left) - {","} if left.count(letter) == 1))
    every = [*terms, letters]
    are_plain = all(term.isascii() and (not term or term.isalpha()) and len(set(term)) == len(term) for term in every)
    ranks = [len(shape) for shape in shapes]
    if not are_plain or not 1 <= len(terms) <= 2 or [len(term) for term in terms] != ranks:
        raise _another(equation)
    if not set(letters) <= set("".join(terms)):
        raise _another(equation)
    return terms, letters


def _sizes(equation: str, terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise UnsupportedError(f"'{equation}' has axis {letter} with sizes {sizes[letter]} and {size}")
    return sizes


def _another(equation: str) -> UnsupportedError:
    return UnsupportedError(f"equation '{equation}' is no matrix product of two tensors, nor a transpose")
