"""What a step of the streaming wake word takes, from samples on."""

from pathlib import Path

import pytest

from tests.support.shared import shared_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.audio.log_mel import LogMelFrontEnd
from tinygen.build.toolchain import for_board
from tinygen.options import Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import compile_model
from tinygen.report.bench import bench

_MOST_CYCLES = 300_000  # of 32 ms on a Cortex-M4; ST publishes 2,146,356 on one, 577,344 beside a coprocessor
_COUNTED_WITH = "12.2.1"  # of GCC: other versions make other instructions


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize(
    ("where", "counted"),
    [
        (WITHOUT_CMSIS_NN, (161_138, 206_387, 94_057)),
        pytest.param(None, (161_634, 206_329, 93_929), marks=requires_cmsis),
    ],
)
def test_item_17_a_step_of_the_wake_word(where: Path | None, counted: tuple[int, int, int]) -> None:
    """Features and network of 512 samples: instructions as QEMU counts them, the cycles modelled from these, and those
    of the front end."""
    options = Options(target="mps2-an386", stream="time", front_end=LogMelFrontEnd(), cmsis_nn=where)
    compiled = compile_model(shared_file("models/mlperf_tiny/str_ww_ref_model.tflite"), options)
    found = bench(compiled, per_op=True)
    assert found.per_op[0].cycles_model is not None and found.cycles_model is not None
    assert found.per_op[0].cycles_model < found.cycles_model <= _MOST_CYCLES
    if _COUNTED_WITH in for_board(compiled.board).version:
        assert (found.instructions, found.cycles_model, found.per_op[0].cycles_model) == counted
