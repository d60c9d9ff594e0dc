"""The next knee of the curve: what a few more bytes would save."""

import pytest

from tests.support.command_line import DIGITS, tinygen
from tinygen.report.curve import REREADABLE, RESIDENT, CurveRow, Knee, next_knee


def _row(arena_bytes: int, instructions: int, chosen: bool = False, input: str = RESIDENT) -> CurveRow:
    return CurveRow(input, arena_bytes, arena_bytes, 0, 0, instructions, 0, 0, chosen)


def test_the_knee_saves_most_for_each_byte() -> None:
    rows = (_row(4000, 900), _row(2000, 1000), _row(1288, 1160), _row(1100, 1900), _row(1000, 2000, chosen=True))
    knee = next_knee(rows)
    assert knee == Knee(1288, 288, 1 - 1160 / 2000)
    assert str(knee) == "288 bytes more save 42% of the instructions"


@pytest.mark.parametrize(
    "rows",
    [
        (),
        (_row(4000, 900),),  # nothing was chosen
        (_row(4000, 900, chosen=True), _row(1000, 2000)),  # nothing is larger
        (_row(4000, 1000), _row(1000, 1000, chosen=True)),  # or it saves nothing
        (_row(4000, 500, input=REREADABLE), _row(1000, 1000, chosen=True)),  # or the input comes in another way
    ],
)
def test_there_may_be_none(rows: tuple[CurveRow, ...]) -> None:
    assert next_knee(rows) is None


def test_inspect_prints_it_with_the_curve() -> None:
    asked = ("inspect", DIGITS, "-t", "mps2-an386", "-O", "ram", "--kernels", "portable", "--slack", "0", "--curve")
    document = tinygen(*asked, "--json").document
    rows = document["curve"]
    chosen = next(row for row in rows if row["chosen"])
    larger = [row for row in rows if row["arena_bytes"] > chosen["arena_bytes"]]
    knee = document["next_knee"]
    assert knee["arena_bytes"] in [row["arena_bytes"] for row in larger]
    assert knee["more_bytes"] == knee["arena_bytes"] - chosen["arena_bytes"] > 0
    shown = tinygen(*asked).stdout
    assert f"{knee['more_bytes']:,} bytes more save {knee['saved_share']:.0%} of the instructions" in shown
