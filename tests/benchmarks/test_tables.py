"""The published tables are those of the published measurements."""

import json
from pathlib import Path

from benchmarks import tflm
from benchmarks.measurement import Measurement
from benchmarks.tables import markdown
from tests.support.models import MLPERF_TINY

FOLDER = Path(tflm.__file__).parent


def test_page_is_up_to_date() -> None:
    stored = json.loads((FOLDER / "mlperf_tiny.json").read_text(encoding="utf-8"))
    measurements = [Measurement(**record) for record in stored["measurements"]]
    assert {measurement.model for measurement in measurements} == set(MLPERF_TINY)
    assert markdown(stored["compiler"], measurements) == (FOLDER / "mlperf_tiny.md").read_text(encoding="utf-8")


def test_rival_s_figures_are_complete() -> None:
    rival = tflm.load()
    for by_board in (rival.arena_bytes, rival.ram_bytes, rival.code_bytes, rival.instructions):
        assert "mps2-an386" in by_board
        assert all(set(by_model) == set(MLPERF_TINY) for by_model in by_board.values())
