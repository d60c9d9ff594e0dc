"""Mutants of models that compile: their C under sanitizers gives what the numpy references do."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.fuzz import accepted, fuzz, mutant, page, recorded
from tests.support.batches import TOOLBOXES, run_batch, stacked_offsets
from tests.support.tools import requires_gcc_sanitizers
from tinygen.ir.graph import Graph, Values
from tinygen.ir.types import Array
from tinygen.ops.conv2d import Conv2D
from tinygen.planner.memory.block import whole_block

MUTANTS = 20
SEED = 5
CHECKOUT = Path(__file__).resolve().parents[2]
CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.*"))


@requires_gcc_sanitizers
def test_mutants_in_c(tmp_path: Path) -> None:
    came = fuzz(MUTANTS, SEED, tmp_path / "kept")
    assert came.findings == []
    assert came.run == came.accepted == MUTANTS
    assert came.refused.total() > MUTANTS // 10


@requires_gcc_sanitizers
@pytest.mark.parametrize("kind", TOOLBOXES)
def test_files_that_showed_defects(kind: str, tmp_path: Path) -> None:
    """Those of the corpus; a reference that is wrong is noticed, and its model named."""
    graphs = [_graph(f"{name}.tflite", tmp_path) for name in ("CONV_2D", "SOFTMAX")]
    graphs += [_read(file, tmp_path) for file in CORPUS]
    (tmp_path / "right").mkdir()
    assert run_batch(graphs, TOOLBOXES[kind], SEED, tmp_path / "right") == []


@requires_gcc_sanitizers
def test_a_wrong_result_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [_graph(f"{name}.tflite", tmp_path) for name in ("SOFTMAX", "CONV_2D", "MEAN")]
    evaluate = Conv2D.evaluate

    def wrong(op: Conv2D, values: Values) -> tuple[Array, ...]:
        return tuple(np.invert(result) for result in evaluate(op, values))

    monkeypatch.setattr(Conv2D, "evaluate", wrong)
    found = run_batch(graphs, TOOLBOXES["portable"], SEED, tmp_path)
    assert found and {each.model for each in found} == {1}


def test_what_is_written_behind_a_buffer_hits_one_that_nobody_writes_again() -> None:
    """Scratch of the third operator lies below the result of the second, its result below the input of the fourth."""
    blocks = [whole_block(f"x{number}", 8, 4, 0, number) for number in range(4)]
    blocks += [whole_block(f"y{number}", 8, 4, number, 3) for number in range(4)]
    blocks.append(whole_block("scratch2", 8, 4, 2, 2))
    placed = stacked_offsets([(block,) for block in blocks])
    names = [block.name for block in sorted(blocks, key=placed.__getitem__)]
    assert names == ["y3", "y2", "x3", "y0", "scratch2", "y1", "x2", "x1", "x0"]


def test_the_same_numbers_give_the_same_mutant() -> None:
    assert [mutant(number, SEED) for number in range(5)] == [mutant(number, SEED) for number in range(5)]


def test_the_page_has_the_rounds() -> None:
    """One of them is as long as is asked for; none has found what was not mended."""
    rounds = recorded()
    assert (CHECKOUT / "benchmarks" / "fuzz.md").read_text(encoding="utf-8") == page(rounds)
    assert max(each.accepted for each in rounds) >= 5000
    for each in rounds:
        assert (
            each.mutants is None or each.refused is None or each.mutants >= each.accepted + sum(each.refused.values())
        )


def _graph(name: str, folder: Path) -> Graph:
    """Of the first mutant of this name that compiles."""
    for number in range(10_000):
        found, content = mutant(number, SEED)
        if found == name and isinstance(graph := accepted(found, content, folder), Graph):
            return graph
    raise AssertionError(f"no mutant of {name} compiles")


def _read(file: Path, folder: Path) -> Graph:
    graph = accepted(file.name, file.read_bytes(), folder)
    assert isinstance(graph, Graph), f"{file.name}: {graph}"
    return graph
