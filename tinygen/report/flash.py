"""What flash is full of, as a treemap."""

from collections.abc import Iterable, Iterator, Sequence

from tinygen.build.sizes import SymbolBytes
from tinygen.report.charts import Leaf, treemap
from tinygen.report.picture import Picture
from tinygen.report.table import listing

CONSTANTS, CODE = "constants", "code"
_MOST_LEAVES = 60


def flash_picture(leaves: Iterable[Leaf], explains: str) -> Picture:
    """Rectangles by group; small ones of a group are one."""
    ordered = sorted(leaves, key=lambda leaf: -leaf.value)
    return Picture(
        title="What flash is full of",
        explains=explains,
        svg=treemap(_gathered(ordered), "Bytes of flash by constant and function; the table has the numbers."),
        table=listing(
            ("", "name", "bytes"), ((leaf.group, leaf.label, leaf.value) for leaf in ordered), "Flash, bytes"
        ),
    )


def symbol_leaves(symbols: Iterable[SymbolBytes]) -> Iterator[Leaf]:
    """Of the symbols of a program: the model's constants, and code."""
    for symbol in symbols:
        for group, size in ((CONSTANTS, symbol.const_bytes), (CODE, symbol.flash_bytes - symbol.const_bytes)):
            if size:
                yield Leaf(group, symbol.name, size)


def _gathered(ordered: Sequence[Leaf]) -> list[Leaf]:
    groups = dict.fromkeys(leaf.group for leaf in ordered)
    small = {group: sum(leaf.value for leaf in ordered[_MOST_LEAVES:] if leaf.group == group) for group in groups}
    return [*ordered[:_MOST_LEAVES], *(Leaf(group, "smaller ones", size) for group, size in small.items() if size)]
