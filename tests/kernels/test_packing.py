"""Planning looks at many kernels; only the tables of those that it takes are packed, each once."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.support.models import model_file
from tinygen.kernels.base import Objective, Table
from tinygen.kernels.packing import Packing, packing
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.schedule.constants import const_bytes, fit_within
from tinygen.report.compilation import report_compilation


@pytest.fixture
def packs(monkeypatch: pytest.MonkeyPatch) -> Counter[Packing]:
    """How often each stream of words was packed."""
    counted: Counter[Packing] = Counter()
    pack = Packing.pack

    def count(self: Packing) -> np.ndarray:
        counted[self] += 1
        return pack(self)

    monkeypatch.setattr(Packing, "pack", count)
    return counted


def _packed_tables(compiled: Compiled) -> set[bytes]:
    stored = {table.stored for call in compiled.schedule.calls for table in call.kernel.tables}
    return {table.values.tobytes() for table in stored if isinstance(table.data, Packing)}


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("objective", [Objective.BALANCED, Objective.RAM])
@pytest.mark.parametrize("model", ["pretrainedResnet_quant", "kws_ref_model"])
def test_each_emitted_table_is_packed_once(
    packs: Counter[Packing], model: str, objective: Objective, board: str
) -> None:
    compiled = compile_model(model_file(model), Options(target=board, objective=objective))
    compiled.check_fits()
    report_compilation(compiled.schedule, compiled.name, compiled.source, compiled.kernels, (), 0)
    tables = _packed_tables(compiled)
    print(f"{model} on {board}, {objective}: {len(tables)} packed tables, {packs.total()} packs")
    assert len(tables) > 0
    assert packs.total() == len(tables) == len(packs)


def test_little_flash_packs_no_more_than_it_must(packs: Counter[Packing]) -> None:
    """Larger weights are tried first: their sizes are known, and compared only where equal tables might save enough."""
    compiled = compile_model(
        model_file("pretrainedResnet_quant"), Options("mps2-an386", objective=Objective.TIME, flash_bytes=150 << 10)
    )
    assert compiled.toolbox.tallest_tile < 4
    assert max(packs.values()) == 1


def test_a_limit_counts_equal_tables_once() -> None:
    compiled = compile_model(model_file("kws_ref_model"), Options("mps2-an386", objective=Objective.TIME))
    schedule = compiled.schedule
    bytes = const_bytes(schedule)
    assert fit_within(schedule, bytes) and not fit_within(schedule, bytes - 1)
    call = schedule.calls[0]
    again = tuple(replace(table, data=table.values.copy()) for table in call.kernel.tables)
    doubled = replace(schedule, steps=(*schedule.steps, replace(call, kernel=replace(call.kernel, tables=again))))
    assert fit_within(doubled, bytes)


def test_a_packing_is_shared_while_it_is_used() -> None:
    made = []

    def pack() -> np.ndarray:
        made.append(1)
        return np.arange(3, dtype=np.int32)

    first, second = (Table(name, packing("key", 3, pack)) for name in ("a", "b"))
    assert (first.elements, first.bytes, made) == (3, 12, [])
    assert first.values is second.values and made == [1]
    del first, second
    assert Table("c", packing("key", 3, pack)).values.tolist() == [0, 1, 2] and made == [1, 1]


def test_a_packing_has_the_words_that_it_promised() -> None:
    wrong = packing("other", 4, lambda: np.arange(3, dtype=np.int32))
    with pytest.raises(AssertionError, match="as the kernel was chosen by"):
        _ = wrong.words
