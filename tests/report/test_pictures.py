"""Pictures of results: true to their numbers, readable in pages and notebooks, harmless whatever is in them."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygen
from tests.report.test_page import small_report
from tests.support.browser import assert_nothing_is_wider, in_browser, requires_chromium
from tests.support.command_line import DIGITS, DIGITS_DATA
from tests.support.command_line import tinygen as command
from tests.support.html import HOSTILE, Page, assert_closed_in_itself
from tinygen import paths
from tinygen.build.sizes import SymbolBytes
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.quant.accuracy import accuracy
from tinygen.report import drawing
from tinygen.report.bench import Bench, OperatorBench
from tinygen.report.charts import ChartBar, ChartPoint, Leaf, bars, heat_rows, matrix, scatter, treemap
from tinygen.report.difference import BuildDifference, difference
from tinygen.report.drawing import STRONGEST
from tinygen.report.flash import symbol_leaves
from tinygen.report.layer_errors import LayerError, layer_error_bars
from tinygen.report.measurement import BenchReport
from tinygen.report.network import NetworkRow, brief, network_rows
from tinygen.report.page import html_page, result_page
from tinygen.report.result import Result
from tinygen.report.shares import Share
from tinygen.tasks.inspection import goals

_THREE = ("-t", "host", "--data", DIGITS_DATA, "--samples", "3", "--against", "simulator")

needs_renderer = pytest.mark.skipif(drawing.renderer() is None, reason="vl-convert-python missing: nothing is drawn")


@cache
def _compiled() -> tinygen.Model:
    return tinygen.compile(DIGITS, "mps2-an386", optimize="ram", cmsis_nn="off")


def _operator(name: str, cycles: int) -> OperatorBench:
    return OperatorBench(name, "CONV_2D", "f", 400, cycles, 0.08, 100, {})


def _bench(name: str, cycles: int) -> BenchReport:
    symbols = (
        SymbolBytes(f"{name}_weights", 900, 0, 900),
        SymbolBytes("run_conv", 124, 4),
        SymbolBytes("both", 10, 0, 4),
    )
    operators = (_operator(name, cycles), _operator("other", 20))
    measured = Bench(450, 560, 0.08, 0, 0, 64, 100, 36, 20, 4, 4, 1034, None, None, operators, symbols)
    network = (
        NetworkRow(0, "CONV_2D", name, (), cycles, 640, 900),
        NetworkRow(1, "ADD", "other", (0,), 20, 64, 0),
        NetworkRow(2, HOSTILE, "last", (0, 1), 0, 32, 4),
    )
    room = (Share("RAM, with stack", 100, 1000, "bytes"), Share("flash", 1034, 4000, "bytes"))
    found = BenchReport(**vars(measured), model=f"{name}.tflite", target="m4", kernels="auto", opt="2")
    return replace(found, room=room, network=network)


def _difference(name: str = "slow") -> BuildDifference:
    return difference(HOSTILE, _bench(HOSTILE, 90), name, _bench(name, 30))


def test_every_picture_has_a_title_a_sentence_and_its_numbers_in_a_table() -> None:
    results: list[Result] = [small_report(), _bench("net", 70), _difference()]
    titles = [picture.title for result in results for picture in result.pictures]
    assert titles == [
        *("The network, and what each operator takes", "Instructions by operator", "What flash is full of"),
        *("What it takes of the part", "The network, and what each operator takes", "Modelled cycles ± 8% by operator"),
        *(
            "What flash is full of",
            "What it takes of the part",
            "In all",
            "Modelled cycles by operator, ± 8%",
            "Bytes of flash by symbol",
        ),
    ]
    for picture in (picture for result in results for picture in result.pictures):
        assert picture.explains.endswith(".") and picture.table.rows
        assert picture.html.count("<figcaption>") == picture.html.count("<details") == 1


def test_operators_take_together_what_the_plan_takes() -> None:
    compiled = _compiled().compiled
    rows = network_rows(compiled.schedule, compiled.library)
    moves = estimated_instructions(compiled.schedule, compiled.library) - sum(row.cost or 0 for row in rows)
    assert 0 <= moves < 0.05 * sum(row.cost or 0 for row in rows), "moves of rows are nobody's"
    assert sum(row.const_bytes for row in rows) == _compiled().report.const_bytes
    assert max(row.live_bytes for row in rows) <= _compiled().report.arena_bytes
    assert [row.reads for row in rows] == [(), *((index,) for index in range(len(rows) - 1))]


def test_goals_are_what_compiling_for_them_gives() -> None:
    found = {row.goal: row for row in goals(_compiled().compiled)}
    assert set(found) == {"time", "balanced", "ram", "size"}
    assert [row.goal for row in found.values() if row.is_chosen] == ["ram"]
    for goal in ("ram", "size"):
        alone = tinygen.compile(DIGITS, "mps2-an386", optimize=goal, cmsis_nn="off").report
        assert (found[goal].arena_bytes, found[goal].const_bytes) == (alone.arena_bytes, alone.const_bytes)


def test_flash_is_the_models_constants_and_code() -> None:
    leaves = list(symbol_leaves(_bench("net", 70).symbols))
    assert {(leaf.group, leaf.label): leaf.value for leaf in leaves} == {
        ("constants", "net_weights"): 900,
        ("code", "run_conv"): 124,
        ("constants", "both"): 4,
        ("code", "both"): 6,
    }


def test_confusions_are_counted_by_label_and_answer() -> None:
    random = np.random.default_rng(3)
    scores, labels = random.normal(size=(50, 4)), random.integers(0, 4, 50)
    found = np.array(accuracy(scores, labels).confusion)
    for label in range(4):
        for answer in range(4):
            wanted = sum(
                1 for row, known in zip(scores, labels, strict=True) if known == label and row.argmax() == answer
            )
            assert found[label, answer] == wanted
    assert accuracy(scores[:, :1], labels % 2).confusion == ()
    assert accuracy(random.normal(size=(50, 65)), labels).confusion == (), "65 classes are too many for a picture"


@needs_renderer
def test_texts_of_models_stay_texts_in_every_chart() -> None:
    charts = [
        bars([ChartBar(HOSTILE, -3, HOSTILE), ChartBar("a", 4, "4")], says=HOSTILE),
        heat_rows([HOSTILE, "b"], [(), (0,)], {"cycles": [(1, HOSTILE), (0, "0")]}, HOSTILE),
        treemap([Leaf(HOSTILE, HOSTILE, 5), Leaf("code", "datum.value'", 9)], HOSTILE),
        scatter([ChartPoint(HOSTILE, 1, 2, 3, True)], "x", "y", HOSTILE),
        matrix([[3, 0], [1, 2]], "answer", "label", HOSTILE),
    ]
    for svg in charts:
        assert svg is not None
        page = Page(f"<body>{svg}</body>")
        assert not page.open
        assert {tag for tag, _ in page.elements} <= {"body", "svg", "g", "path", "text", "line", "title", "defs"}
        assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
        [root] = [attributes for tag, attributes in page.elements if tag == "svg"]
        assert root["role"] == "img" and root["aria-label"].startswith("</script><script>alert(1)")
    assert bars([]) is None and treemap([], "") is None


def test_pages_of_files_whose_names_are_no_text_can_be_written() -> None:
    name = "net\udcff\x1b"  # as Python has a byte that is not UTF-8
    for page in (html_page(replace(small_report(), model=name)), result_page(name, _bench(name, 70))):
        assert page.encode() and r"net\udcff\x1b" in page and "\x1b" not in page


@needs_renderer
def test_texts_that_look_like_attributes_stay_whole() -> None:
    names = ['a xmlns="', 'b xlink:href="c#', "d"]
    svg = bars([ChartBar(name, 1, "1") for name in names])
    assert svg is not None and not Page(f"<body>{svg}</body>").open
    assert [text for text in re.findall(r">([^<>]+)</text>", svg) if text != "1"] == names
    assert " xmlns" not in svg.partition(">")[0]


@needs_renderer
def test_bars_are_as_long_as_their_numbers() -> None:
    svg = bars([ChartBar("a", 10, "10"), ChartBar("b", 5, "5"), ChartBar("c", 0, "0")])
    widths = [float(found) for found in re.findall(r'd="M[\d.]+,[\d.]+h([\d.]+)v12', str(svg))]
    assert len(widths) == 3 and widths[0] == 2 * widths[1] > widths[2] == 0


def _pages() -> dict[str, Callable[[], str]]:
    """Pages with long names, by their kind."""
    return {
        "report": lambda: html_page(small_report()),
        "bench": lambda: result_page("net", _bench("a_long_name_without_any_blank_" * 5, 70)),
        "diff": lambda: result_page("A and B", _difference("a_long_name_without_any_blank_" * 5)),
    }


@needs_renderer
@requires_chromium
@pytest.mark.parametrize("kind", ["report", "bench", "diff"])
def test_pages_with_pictures_fit_every_window_and_can_be_read(kind: str, tmp_path: Path) -> None:
    """No overflow at 360, 768 and 1280 pixels, no message on the console, and no text below 9 pixels."""
    text = _pages()[kind]()
    assert_closed_in_itself(text)
    assert text.count("<figure>") == text.count('role="img" aria-label="') - (2 if kind == "report" else 0)
    opened = text.replace("<details>", "<details open>")
    assert_nothing_is_wider(tmp_path, opened)
    smallest = """
        const found = Math.min(...[...document.querySelectorAll("figure svg text")].filter(
            text => text.textContent.length > 1).map(text => text.getBoundingClientRect().height));
    """
    [height] = in_browser(tmp_path, text, [360], smallest)
    assert height > 9


@needs_renderer
@requires_chromium
@pytest.mark.parametrize("kind", ["report", "bench", "diff"])
def test_paper_cuts_nothing_off(kind: str, tmp_path: Path) -> None:
    """Nothing scrolls there, so that tables and the memory map are no wider than A4 with margins of a centimetre."""
    opened = _pages()[kind]().replace("<details>", "<details open>").replace("@media print", "@media all")
    measure = """
        const found = [...document.querySelectorAll("section *:not(svg *)")].filter(
            element => element.getBoundingClientRect().right > innerWidth + 0.5
        ).map(element => element.outerHTML.slice(0, 200));
    """
    assert in_browser(tmp_path, opened, [718], measure) == [[]]


def test_dark_colours_are_for_screens() -> None:
    """And paper is white."""
    for file in paths.TEMPLATES.glob("*.html.j2"):
        text = file.read_text(encoding="utf-8")
        assert text.count("prefers-color-scheme: dark") == text.count("@media screen and (prefers-color-scheme: dark)")
    assert "@media print {\n    :root { --page: #ffffff; }" in html_page(small_report())


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_contrast_with_what_is_behind_them(scheme: int) -> None:
    """4.5 to 1, as WCAG 2.1 asks (1.4.3); behind texts in pictures are colours that are as strong as they get."""
    style = (paths.TEMPLATES / "page.html.j2").read_text(encoding="utf-8")
    declared = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[scheme]
    colours = {name: _rgb(text) for name, text in re.findall(r"--(\w+): #(\w{6})", declared)}
    pairs = [
        ("ink", colours["page"]),
        ("ink", colours["surface"]),
        ("muted", colours["surface"]),
        ("muted", colours["page"]),
    ]
    pairs.append(("ink", _over(colours["accent"], colours["surface"], STRONGEST)))
    pairs += [("ink", _over(colours[name], colours["surface"], 0.35)) for name in ("accent", "cool", "green", "muted")]
    for name, behind in pairs:
        lighter, darker = sorted((_luminance(colours[name]), _luminance(behind)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (name, behind)


def _rgb(text: str) -> tuple[float, ...]:
    return tuple(int(text[at : at + 2], 16) / 255 for at in (0, 2, 4))


def _over(colour: tuple[float, ...], behind: tuple[float, ...], opacity: float) -> tuple[float, ...]:
    return tuple(opacity * one + (1 - opacity) * other for one, other in zip(colour, behind, strict=True))


def _luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance of sRGB, as WCAG 2.1 defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_without_a_renderer_tables_are_open_and_the_page_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(drawing, "import_module", missing)
    text = result_page("net", _bench("net", 70))
    assert (
        "Pictures are missing: vl-convert-python is not installed. pip install &#39;tinygen[pictures]&#39; has it."
        in text
    )
    assert "<svg" not in text and text.count("<details open>") == 4
    assert "<figure" not in _bench("net", 70)._repr_html_(), "notebooks have the tables already"


@needs_renderer
def test_notebooks_show_the_pictures() -> None:
    shown = _bench("net", 70)._repr_html_()
    assert shown.count("<figure>") == shown.count("<svg") == 4
    assert "currentColor" in shown, "where a page's colours are unknown, texts have the notebook's"


@needs_renderer
def test_layers_without_noise_have_the_longest_bar() -> None:
    errors = [LayerError("Conv", "a", None, 0.0, None), LayerError("Conv", "b", 30.0, 0.1, None)]
    svg = str(layer_error_bars(errors).svg)
    assert ">exact<" in svg and ">30.0<" in svg


@pytest.mark.parametrize(
    ("number", "text"), [(None, "-"), (0, "0"), (999, "999"), (1536, "1.54 k"), (2_300_000, "2.3 M"), (5e9, "5 G")]
)
def test_brief_numbers(number: float | None, text: str) -> None:
    assert brief(number) == text


def test_html_writes_a_page_and_never_over_other_files(tmp_path: Path) -> None:
    page, other = tmp_path / "page.html", tmp_path / "mine.html"
    other.write_text("<html>")
    for _ in range(2):
        ended = command("validate", DIGITS, *_THREE, "--per-layer", "--html", page)
        assert ended.code == 0
    text = page.read_text(encoding="utf-8")
    assert "Largest difference by layer" in text and "digits_int8.tflite on host" in text
    ended = command("inspect", DIGITS, "--html", tmp_path / "page.txt")
    assert ended.stderr == f"tinygen: --html: is '{tmp_path}/page.txt', a file named *.html was expected. Rename it.\n"
    ended = command("inspect", DIGITS, "--html", other)
    assert (ended.code, other.read_text()) == (2, "<html>")
    assert ended.stderr.endswith(f"{other}: is there, and no page of tinygen's; a new name was expected. Choose one.\n")
