"""The page of a sweep: fronts, all rows, harmless whatever is in them, and usable in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.browser import assert_nothing_is_wider, in_browser, requires_chromium
from tests.support.html import HOSTILE, Page, assert_closed_in_itself, assert_harmless
from tinygen.report import drawing
from tinygen.sweeping import page, pictures
from tinygen.sweeping.front import front
from tinygen.sweeping.page import figures_of, html_page
from tinygen.sweeping.point import PointResult, as_record
from tinygen.sweeping.sweep import Row

_BOARDS = ("mps2-an382", "mps2-an386", "mps3-an547")


def _row(model: str, target: str, **found: Any) -> Row:
    return {"model": model, "target": target, "ram": "64K", **as_record(PointResult(**found))}


def _rows(models: int, has_accuracy: bool = True) -> Iterator[Row]:
    random = np.random.default_rng(0)
    for number, target in ((number, target) for number in range(models) for target in _BOARDS):
        if number % 7 == 3:
            yield _row(f"net{number}", target, error_code=4, error=f"{HOSTILE}: does not fit.\nmore")
            continue
        arena, constants, instructions = (int(value) for value in random.integers(1_000, 900_000, 3))
        accuracy = float(random.uniform(0.5, 1)) if has_accuracy else None
        yield _row(
            f"net{number}",
            target,
            arena_bytes=arena,
            const_bytes=constants,
            estimated_instructions=instructions,
            accuracy=accuracy,
            seconds=0.25,
        )


def _page(rows: list[Row]) -> str:
    return html_page(list(rows[0]), rows)


@pytest.mark.parametrize("figures", [1, 2, 3, 4])
def test_a_front_is_what_nothing_beats(figures: int) -> None:
    points = np.random.default_rng(figures).integers(0, 5, (60, figures)).astype(np.float64)

    def is_beaten(point: Any) -> bool:
        return any((other <= point).all() and (other < point).any() for other in points)

    expected = {index for index, point in enumerate(points) if not is_beaten(point)}
    found = front(points)
    assert len(found) == len(expected) and set(found) == expected
    assert [points[index][0] for index in found] == sorted(points[index][0] for index in found)
    assert front(points[:0]) == ()


def test_figures_are_measured_ones_where_there_are_some() -> None:
    planned, measured = _row("a", "m4", arena_bytes=1), _row("a", "m4", cycles_model=5, cycles_band=0.3, accuracy=0.5)
    assert [figure.column for figure in figures_of([planned])] == [
        "arena_bytes",
        "const_bytes",
        "estimated_instructions",
    ]
    columns = [figure.column for figure in figures_of([planned, measured])]
    assert columns == ["ram_bytes", "flash_bytes", "cycles_model", "accuracy"]
    assert figures_of([measured])[2].axis.title == "modelled cycles ± 30%"


def test_the_page_has_every_row_and_marks_the_fronts_of_each_board() -> None:
    rows = list(_rows(20))
    found = Page(_page(rows))
    assert len([1 for _, attributes in found.elements if re.fullmatch(r"p\d+", attributes.get("id", ""))]) == 60
    assert len(found.of_class("failed")) == 9
    marked = {int(attributes["id"][1:]) - 1 for attributes in found.of_class("front")}
    names = ("arena_bytes", "const_bytes", "estimated_instructions", "accuracy")
    for target in _BOARDS:
        good = [index for index, row in enumerate(rows) if row["target"] == target and not row["error_code"]]
        table = np.array([[rows[index][name] for name in names] for index in good]) * (1, 1, 1, -1)
        assert {good[place] for place in front(table)} == marked & set(good) != set(good)


def test_each_board_has_a_picture_of_each_pair_of_figures_whose_front_leads_to_rows() -> None:
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed: pages have no pictures")
    for has_accuracy, expected in ((True, 6), (False, 3)):
        rows = list(_rows(8, has_accuracy))
        found = Page(_page(rows))
        assert [tag for tag, _ in found.elements].count("svg") == 3 * expected
        links = {attributes["href"] for tag, attributes in found.elements if tag == "a"} - {"#points"}
        assert len(links) > 5
        assert not [link for link in links if rows[int(link[2:]) - 1]["error_code"]]


def test_points_upon_each_other_are_drawn_once() -> None:
    dots = [pictures.PictureDot(x, y, 0, False) for x in np.linspace(1, 2, 300) for y in np.linspace(5, 9, 300)]
    assert len(pictures._thinned(dots)) < 2_000
    few = [pictures.PictureDot(x, 7.0, 0, False) for x in (1.0, 2.0, 3.0, 3.0)]
    assert len(pictures._thinned(few)) == 3


def test_the_page_needs_nothing_else_is_harmless_and_always_the_same() -> None:
    rows = [*_rows(8), _row(HOSTILE, HOSTILE, arena_bytes=1, const_bytes=2, estimated_instructions=3)]
    rows.append(_row("b\udcff\u202e", "m4", error_code=2, error="a\x1b[31m"))
    text = _page(rows)
    assert_closed_in_itself(text)
    assert_harmless(text)
    assert "b\\udcff\\u202e" in text and "a\\x1b[31m" in text
    assert _page(rows) == text


def test_without_a_renderer_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(drawing, "import_module", missing)
    text = _page(list(_rows(3)))
    assert "Pictures are missing: vl-convert-python is not installed." in text
    assert "<svg" not in text and text.count("<tr id=") == 9


def test_a_large_table_keeps_its_fronts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_MOST_ROWS", 3)
    monkeypatch.setattr(page, "_MOST_DRAWN", 1)
    rows = [
        *_rows(4, has_accuracy=False),
        _row("best", _BOARDS[0], arena_bytes=1, const_bytes=1, estimated_instructions=1),
    ]
    text = _page(rows)
    found = Page(text)
    kept = [attributes["id"] for tag, attributes in found.elements if tag == "tr" and "id" in attributes]
    assert kept[:3] == ["p1", "p2", "p3"] and kept[-1] == f"p{len(rows)}"
    assert f"{len(rows) - len(kept)} more points that are on no front" in text
    assert "Pictures of 2 more boards are left out." in text


@requires_chromium
def test_a_browser_filters_and_sorts_it(tmp_path: Path) -> None:
    rows = list(_rows(10))
    [shown] = in_browser(
        tmp_path,
        _page(rows),
        [1280],
        """
        const form = document.getElementById("filter"), body = document.getElementById("points").tBodies[0];
        const visible = () => [...body.rows].filter(row => !row.hidden).map(row => Number(row.id.slice(1)));
        const set = (name, value) => {
            const field = form.elements[name] || form.querySelector(`[data-column="${name}"]`);
            field.value = value;
            field.dispatchEvent(new Event("input", { bubbles: true }));
        };
        const head = name => [...document.querySelectorAll("#points th")].find(head => head.dataset.name === name);
        const found = { focusable: head("arena_bytes").firstChild.tabIndex };
        set("board", "mps2-an386");
        found.board = visible();
        found.boards = [...document.querySelectorAll("section[data-board]")].map(section => section.hidden);
        set("which", "front");
        found.front = visible();
        set("which", "good");
        set("arena_bytes", "400000");
        set("words", "NET1");
        found.limited = visible();
        found.said = document.getElementById("shown").value;
        set("arena_bytes", ""); set("words", ""); set("which", ""); set("board", "");
        head("arena_bytes").firstChild.click();
        found.rising = visible();
        head("arena_bytes").firstChild.click();
        found.falling = visible();
        found.order = head("arena_bytes").ariaSort;
        """,
    )

    def numbers(wanted: Any) -> list[int]:
        return [index + 1 for index, row in enumerate(rows) if wanted(row)]

    assert shown["focusable"] == 0
    assert shown["board"] == numbers(lambda row: row["target"] == "mps2-an386")
    assert shown["boards"] == [True, False, True]
    assert 0 < len(shown["front"]) < len(shown["board"])
    small = numbers(lambda row: row["model"] == "net1" and row["target"] == "mps2-an386" and row["arena_bytes"] <= 4e5)
    assert shown["limited"] == small and shown["said"] == f"{len(small)} of 30 points"
    known = numbers(lambda row: row["arena_bytes"] is not None)
    rising = sorted(known, key=lambda number: rows[number - 1]["arena_bytes"])
    assert shown["rising"][: len(known)] == rising, "what has no number comes last"
    assert (shown["falling"][: len(known)], shown["order"]) == (rising[::-1], "descending")


@requires_chromium
def test_nothing_is_wider_than_the_window(tmp_path: Path) -> None:
    long = "a_very_long_name_without_any_blank_" * 8
    rows = [*_rows(4), _row(long, long, arena_bytes=1, const_bytes=2, estimated_instructions=3, accuracy=0.5)]
    rows.append(_row(long, "m4", error_code=4, error=long))
    assert_nothing_is_wider(tmp_path, _page(rows))
