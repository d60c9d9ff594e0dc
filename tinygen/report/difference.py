"""Two builds side by side: what `tinygen bench --per-op` measured of each, in all, by operator and by symbol."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from tinygen.build.sizes import SymbolBytes
from tinygen.errors import UsageError
from tinygen.report.bench import Bench, OperatorBench
from tinygen.report.charts import ChartBar, bars
from tinygen.report.picture import Picture
from tinygen.report.result import Result
from tinygen.report.table import ShownTable, count, facts, listing, short_name

_TOTALS = (
    *("ram_bytes", "arena_bytes", "stack_bytes", "flash_bytes", "code_bytes", "const_bytes"),
    *("cycles_model", "instructions"),
)
_ABSENT = "-"
_MOST_DRAWN = 25  # changes
_Part = TypeVar("_Part")
_Key = tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """A number in both builds; None where one has none."""

    a: int | None
    b: int | None

    @property
    def change(self) -> int:
        """What it grows by from A to B; what one build lacks is 0 there."""
        return (self.b or 0) - (self.a or 0)


@dataclass(frozen=True)
class Bands:
    """How far silicon may be from the modelled cycles of both builds, as a share; None where one has none."""

    a: float | None
    b: float | None

    def __str__(self) -> str:
        known = [f"{name} ± {band:.0%}" for name, band in (("A", self.a), ("B", self.b)) if band is not None]
        return f"± {self.a:.0%}" if self.a is not None and self.a == self.b else ", ".join(known)


@dataclass(frozen=True)
class OperatorDifference:
    """An operator; None where a build has none of that name."""

    operator: str
    name: str
    kernel_a: str | None
    kernel_b: str | None
    cycles_model: Pair
    instructions: Pair


@dataclass(frozen=True)
class SymbolDifference:
    """A function or an object; None where a build has none of that name."""

    name: str
    flash_bytes: Pair
    ram_bytes: Pair


@dataclass(frozen=True, repr=False)
class BuildDifference(Result):
    """All of both builds, what is equal too: operators in A's order, then those of B alone; symbols by name."""

    a: str
    b: str
    totals: Mapping[str, Pair]
    cycles_band: Bands
    operators: tuple[OperatorDifference, ...]
    symbols: tuple[SymbolDifference, ...]

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The totals, then operators and symbols, the largest changes first."""
        return _tables(self)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Totals of B in percent of A's, and the largest changes of operators and symbols."""
        return _totals_picture(self), *_change_pictures(self)


def read_bench(text: str, where: str) -> Bench:
    """What `tinygen bench --json` printed; UsageError for what is none of that."""
    try:
        found = TypeAdapter(Bench).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        raise UsageError(
            f"{where}, {place}: {first['msg']}, the document of `tinygen bench --per-op --json` was expected. "
            "Write it anew."
        ) from None
    if not found.per_op:
        raise UsageError(
            f"{where}: has no operators, some were expected. Write it with `tinygen bench --per-op --json`."
        )
    return found


def difference(a: str, first: Bench, b: str, second: Bench) -> BuildDifference:
    """Of two measurements, and what they are called."""
    operators = _paired(first.per_op, second.per_op, lambda each: (each.operator, each.name))
    symbols = _paired(first.symbols, second.symbols, lambda each: (each.name,))
    return BuildDifference(
        a=a,
        b=b,
        totals={name: Pair(getattr(first, name), getattr(second, name)) for name in _TOTALS},
        cycles_band=Bands(first.cycles_band, second.cycles_band),
        operators=tuple(_operator(*pair) for pair in operators),
        symbols=tuple(sorted((_symbol(*pair) for pair in symbols), key=lambda each: each.name)),
    )


def _paired(
    first: Iterable[_Part], second: Iterable[_Part], key: Callable[[_Part], _Key]
) -> Iterator[tuple[_Part | None, _Part | None]]:
    """Parts of equal keys, the first with the first; then what the second has alone."""
    ours, theirs = dict(_numbered(first, key)), dict(_numbered(second, key))
    for each in dict.fromkeys((*ours, *theirs)):
        yield ours.get(each), theirs.get(each)


def _numbered(parts: Iterable[_Part], key: Callable[[_Part], _Key]) -> Iterator[tuple[tuple[_Key, int], _Part]]:
    seen: Counter[_Key] = Counter()
    for part in parts:
        name = key(part)
        yield (name, seen[name]), part
        seen[name] += 1


def _operator(first: OperatorBench | None, second: OperatorBench | None) -> OperatorDifference:
    one = _either(first, second)
    return OperatorDifference(
        operator=one.operator,
        name=one.name,
        kernel_a=None if first is None else first.kernel,
        kernel_b=None if second is None else second.kernel,
        cycles_model=_pair(first, second, lambda each: each.cycles_model),
        instructions=_pair(first, second, lambda each: each.instructions),
    )


def _symbol(first: SymbolBytes | None, second: SymbolBytes | None) -> SymbolDifference:
    return SymbolDifference(
        name=_either(first, second).name,
        flash_bytes=_pair(first, second, lambda each: each.flash_bytes),
        ram_bytes=_pair(first, second, lambda each: each.ram_bytes),
    )


def _either(first: _Part | None, second: _Part | None) -> _Part:
    """One that there is: a pair has at least one."""
    found = second if first is None else first
    assert found is not None
    return found


def _pair(first: _Part | None, second: _Part | None, number: Callable[[_Part], int | None]) -> Pair:
    return Pair(None if first is None else number(first), None if second is None else number(second))


def _tables(found: BuildDifference) -> tuple[ShownTable, ...]:
    tables = [facts("Two builds", (("A", found.a), ("B", found.b))), _totals_table(found)]
    title, taken = _taken(found)
    operators = [
        (each.operator, short_name(each.name), _kernels(each), *_numbers(pair))
        for each, pair in taken
        if pair.change or each.kernel_a != each.kernel_b
    ]
    titles: tuple[str, ...] = ("operator", "name", "kernel", "A", "B", "B - A")
    tables.append(listing(titles, operators, f"{title}{_equal(operators, found.operators)}"))
    symbols = [(each.name, *_numbers(each.flash_bytes), *_numbers(each.ram_bytes)) for each in _changed_symbols(found)]
    titles = ("symbol", "flash A", "B", "B - A", "RAM A", "B", "B - A")
    tables.append(listing(titles, symbols, f"Bytes by symbol{_equal(symbols, found.symbols)}"))
    return tuple(tables)


def _totals_table(found: BuildDifference) -> ShownTable:
    bands = {"cycles_model": str(found.cycles_band)}
    totals = [
        (f"{name} {bands.get(name, '')}".rstrip(), *_numbers(pair), _share(pair)) for name, pair in found.totals.items()
    ]
    return listing(("", "A", "B", "B - A", ""), totals, "In all")


def _taken(found: BuildDifference) -> tuple[str, list[tuple[OperatorDifference, Pair]]]:
    """What operators take, and what that is; the largest changes first."""
    has_cycles = any(each.cycles_model != Pair(None, None) for each in found.operators)
    taken = [(each, each.cycles_model if has_cycles else each.instructions) for each in found.operators]
    band = str(found.cycles_band)
    title = f"Modelled cycles by operator{band and f', {band}'}" if has_cycles else "Instructions by operator"
    return title, sorted(taken, key=lambda row: -abs(row[1].change))


def _changed_symbols(found: BuildDifference) -> list[SymbolDifference]:
    """The largest changes first."""
    changed = (each for each in found.symbols if each.flash_bytes.change or each.ram_bytes.change)
    return sorted(changed, key=lambda each: -abs(each.flash_bytes.change) - abs(each.ram_bytes.change))


def _totals_picture(found: BuildDifference) -> Picture:
    known = [(name, pair.a, pair.b) for name, pair in found.totals.items() if pair.a and pair.b is not None]
    drawn = [ChartBar(name, 100 * b / a, f"{100 * b / a:.1f} %") for name, a, b in known]
    says = "Totals of B in percent of A's."
    return Picture("In all", f"{says} The line is A.", bars(drawn, end=100, says=says), _totals_table(found))


def _change_pictures(found: BuildDifference) -> Iterator[Picture]:
    """Of operators and of symbols, where there are changes."""
    by_operator, taken = _taken(found)
    changes = {
        by_operator: [(f"{each.operator} {short_name(each.name)}", pair) for each, pair in taken],
        "Bytes of flash by symbol": [(each.name, each.flash_bytes) for each in _changed_symbols(found)],
    }
    for title, pairs in changes.items():
        changed = sorted(((name, pair) for name, pair in pairs if pair.change), key=lambda row: -abs(row[1].change))
        if changed:
            drawn = [ChartBar(name, pair.change, f"{pair.change:+,}") for name, pair in changed[:_MOST_DRAWN]]
            numbers = listing(("", "A", "B", "B - A"), ((name, *_numbers(pair)) for name, pair in changed), title)
            explains = f"What B has more than A, or less; the largest {_MOST_DRAWN} changes."
            yield Picture(title, explains, bars(drawn, says=title), numbers)


def _equal(shown: Sequence[object], all: Sequence[object]) -> str:
    left = len(all) - len(shown)
    return f"; {count(left)} equal" if left else ""


def _numbers(pair: Pair) -> tuple[str, str, str]:
    return count(pair.a), count(pair.b), _ABSENT if pair == Pair(None, None) else f"{pair.change:+,}"


def _share(pair: Pair) -> str:
    return f"{pair.change / pair.a:+.1%}" if pair.a and pair.b is not None else ""


def _kernels(each: OperatorDifference) -> str:
    if each.kernel_a == each.kernel_b:
        return each.kernel_a or ""
    return f"{each.kernel_a or _ABSENT} -> {each.kernel_b or _ABSENT}"
