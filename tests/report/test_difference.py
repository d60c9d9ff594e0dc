"""`tinygen diff`: every number is that of the two measurements, and symbols add up to what they are parts of."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS, tinygen
from tests.support.tools import requires_qemu
from tinygen.build.sizes import SymbolBytes
from tinygen.report.bench import Bench, OperatorBench
from tinygen.report.difference import Pair, difference

BOARD = ("-t", "mps2-an386", "--kernels", "portable")


def measured(operators: tuple[OperatorBench, ...], symbols: tuple[SymbolBytes, ...]) -> Bench:
    return Bench(450, 560, 0.08, 0, 0, 64, 100, 36, 20, 4, 4, 24, None, None, operators, symbols)


def operator(name: str, kernel: str, cycles: int | None) -> OperatorBench:
    return OperatorBench(name, "CONV_2D", kernel, 400, cycles, 0.08, 100, {})


def test_item_20_parts_are_paired_by_name_and_place() -> None:
    """Names that come twice are paired in order; what one build lacks is none there."""
    first = measured(
        (operator("x", "slow", 10), operator("x", "slow", 20), operator("old", "slow", 5)),
        (SymbolBytes("f", 10, 0), SymbolBytes("gone", 7, 2)),
    )
    second = measured((operator("x", "fast", 9), operator("x", "slow", 20)), (SymbolBytes("f", 14, 0),))
    found = difference("A", first, "B", second)
    assert [(each.name, each.kernel_a, each.kernel_b, each.cycles_model) for each in found.operators] == [
        ("x", "slow", "fast", Pair(10, 9)),
        ("x", "slow", "slow", Pair(20, 20)),
        ("old", "slow", None, Pair(5, None)),
    ]
    assert [(each.name, each.flash_bytes, each.flash_bytes.change, each.ram_bytes) for each in found.symbols] == [
        ("f", Pair(10, 14), 4, Pair(0, 0)),
        ("gone", Pair(7, None), -7, Pair(2, None)),
    ]
    assert found.totals["ram_bytes"] == Pair(100, 100)
    assert found.tables[2].title == "Modelled cycles by operator, ± 8%; 1 equal"
    slower = difference("A", first, "B", replace(second, cycles_band=0.3))
    assert [row[0] for row in slower.tables[1].rows if "cycles" in str(row[0])] == ["cycles_model A ± 8%, B ± 30%"]


@pytest.mark.qemu
@requires_qemu
def test_item_20_two_builds_of_a_model_by_operator_and_symbol(tmp_path: Path) -> None:
    small = tinygen("bench", DIGITS, *BOARD, "-O", "size", "--per-op", "--json")
    fast = tinygen("bench", DIGITS, *BOARD, "-O", "time", "--per-op", "--json")
    a, b = tmp_path / "small.json", tmp_path / "fast.json"
    a.write_text(small.stdout)
    b.write_text(fast.stdout)
    ended = tinygen("diff", a, b, "--json")
    assert (ended.code, ended.stderr) == (0, "")
    found = ended.document
    for name, pair in found["totals"].items():
        assert pair == {"a": small.document[name], "b": fast.document[name]}
    for side, one in (("a", small.document), ("b", fast.document)):
        assert sum(each["flash_bytes"][side] or 0 for each in found["symbols"]) == one["flash_bytes"]
        if side == "a":
            assert sum(each["const_bytes"] for each in one["symbols"]) == one["const_bytes"]
        static = sum(each["ram_bytes"][side] or 0 for each in found["symbols"])
        assert static + one["arena_bytes"] + one["stack_bytes"] == one["ram_bytes"]
        assert [each["cycles_model"][side] for each in found["operators"]] == [
            each["cycles_model"] for each in one["per_op"]
        ]
    now = tinygen("diff", a, DIGITS, *BOARD, "-O", "time", "--json").document
    assert {**now, "b": None} == {**found, "b": None}
    shown = tinygen("diff", a, b).stdout
    assert "Modelled cycles by operator, ± 30%" in shown
    assert "tg_v2_depthwise_convolve" in shown
    same = tinygen("diff", a, a)
    assert same.code == 0
    assert "Bytes by symbol; " in same.stdout
    assert "tg_v2_depthwise_convolve" not in same.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the document: Invalid JSON"),
        ("[" * 100_000, "the document: Invalid JSON"),
        ("{}", "instructions: Field required"),
        ('{"instructions": "many"}', "instructions: Input should be a valid integer"),
    ],
)
def test_item_20_documents_of_something_else_are_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    ended = tinygen("diff", tmp_path / "a.json", tmp_path / "a.json")
    assert (ended.code, said in ended.stderr) == (2, True), ended.stderr
    assert "`tinygen bench --per-op --json`" in ended.stderr


def test_item_20_files_and_options_that_diff_cannot_use(tmp_path: Path) -> None:
    missing = tinygen("diff", tmp_path / "a.json", tmp_path / "b.json")
    assert (missing.code, "No such file or directory" in missing.stderr) == (2, True)
    (tmp_path / "a.json").write_bytes(b"\xff\xfe")
    assert tinygen("diff", tmp_path / "a.json", tmp_path / "b.json").code == 2
    useless = tinygen("diff", tmp_path / "a.json", tmp_path / "b.json", "--ram", "64K")
    assert (useless.code, "--ram: is for models" in useless.stderr) == (2, True), useless.stderr
    without = tinygen("bench", DIGITS, "-t", "host", "--json")
    (tmp_path / "a.json").write_text(without.stdout)
    ended = tinygen("diff", tmp_path / "a.json", tmp_path / "a.json")
    assert (ended.code, "has no operators" in ended.stderr) == (2, True)
