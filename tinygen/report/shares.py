"""Bars of what a network takes of something: of the part's memories, of what it took before shrinking, of all time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinygen.report.charts import ChartBar, bars, fitting
from tinygen.report.network import NetworkRow, brief
from tinygen.report.picture import Picture
from tinygen.report.table import count, listing, short_name

_MOST_BARS = 40


@dataclass(frozen=True)
class Share:
    """A number beside that which it is a part of."""

    name: str
    value: int
    of: int
    unit: str

    @property
    def percent(self) -> float:
        """The share."""
        return 100 * self.value / self.of if self.of else 0.0


def room_picture(shares: Sequence[Share]) -> Picture:
    """RAM and flash against the part."""
    return _shares_picture(
        "What it takes of the part",
        "The line is what the part has, or what --ram and --flash allow.",
        shares,
        ("memory", "takes", "of", "%"),
    )


def shrunk_pictures(macs: int, const_bytes: int, saved_macs: int, saved_const_bytes: int) -> tuple[Picture, ...]:
    """Before and after shrinking; none where nothing was saved."""
    if not saved_macs and not saved_const_bytes:
        return ()
    left = (
        Share("MACs", macs, macs + saved_macs, "multiplications"),
        Share("constants", const_bytes, const_bytes + saved_const_bytes, "bytes"),
    )
    made = _shares_picture(
        "What shrinking leaves",
        "The line is the network as it is in its file: channels that are constant, equal or never read are removed, "
        "without changing a bit of what it computes.",
        left,
        ("", "after", "before", "%"),
    )
    return (made,)


def cost_picture(rows: Iterable[NetworkRow], unit: str) -> Picture:
    """Which operators take the time."""
    known = [(row, row.cost or 0) for row in rows]
    every = sum(cost for _, cost in known)
    largest = sorted(known, key=lambda each: -each[1])
    drawn = [(f"{row.index} {row.operator}", cost) for row, cost in largest[:_MOST_BARS]]
    if len(largest) > _MOST_BARS:
        drawn.append((f"{len(largest) - _MOST_BARS} others", sum(cost for _, cost in largest[_MOST_BARS:])))
    cells = [
        (row.index, row.operator, short_name(row.name), cost, f"{100 * cost / every:.1f}" if every else "-")
        for row, cost in largest
    ]
    return Picture(
        title=f"{unit[0].upper()}{unit[1:]} by operator",
        explains="The most expensive ones first.",
        svg=bars([ChartBar(label, cost, brief(cost)) for label, cost in drawn], says=f"{unit} by operator"),
        table=listing(("", "operator", "name", unit, "%"), cells, f"{unit} of one inference, {count(every)} in all"),
    )


def _shares_picture(title: str, explains: str, shares: Sequence[Share], titles: tuple[str, ...]) -> Picture:
    drawn = [ChartBar(fitting(share.name), share.percent, f"{share.percent:.1f} %") for share in shares]
    cells = [(f"{s.name}, {s.unit}", s.value, s.of, f"{s.percent:.1f}") for s in shares]
    says = "; ".join(f"{share.name} {share.percent:.0f} %" for share in shares)
    return Picture(title, explains, bars(drawn, end=100, says=says), listing(titles, cells, title))
