"""`-O ram` with native kernels: at most 1.10 of the arenas with CMSIS-NN, and few instructions, on QEMU."""

from pathlib import Path

import pytest

from tests.support.models import golden_tflm, largest_difference, model_file, run_with
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

M4, M55 = "mps2-an386", "mps3-an547"
SLACK = 1.10
KWS_RAM_BYTES = 4_626
ARENA_BYTES = {"kws_ref_model": 4_206, "pretrainedResnet_quant": 11_872, "vww_96_int8": 28_144}  # CMSIS-NN's, M4


@pytest.mark.qemu
@requires_qemu
@requires_cmsis
@pytest.mark.parametrize(
    ("name", "board", "most_instructions"),
    [
        ("kws_ref_model", M4, 4_660_000),
        ("pretrainedResnet_quant", M4, 13_060_000),
        ("vww_96_int8", M4, 5_500_000),
        ("kws_ref_model", M55, 1_515_000),
        ("pretrainedResnet_quant", M55, 2_400_000),
    ],
)
def test_small_arena_and_few_instructions(name: str, board: str, most_instructions: int, tmp_path: Path) -> None:
    compiled = compile_model(model_file(name), Options(target=board, kernels=Kernels.NATIVE, objective=Objective.RAM))
    inputs, expected = golden_tflm(name, compiled)
    found = run_with(compiled, tmp_path, inputs[:1])
    assert largest_difference(found.outputs, expected[:1]) == 0
    assert compiled.schedule.arena_bytes <= SLACK * ARENA_BYTES[name]
    assert found.outcome.values["instructions"] <= most_instructions


def test_no_more_of_the_slack_is_taken_than_is_worth_it() -> None:
    """Halfway to the smallest arena the visual wake words are as fast."""
    options = Options(target=M4, kernels=Kernels.NATIVE, objective=Objective.RAM)
    schedule = compile_model(model_file("vww_96_int8"), options).schedule
    assert schedule.arena_bytes <= 1.04 * ARENA_BYTES["vww_96_int8"]


def test_room_within_a_limit_goes_to_faster_kernels() -> None:
    options = Options(target=M4, kernels=Kernels.NATIVE, ram_bytes=KWS_RAM_BYTES)
    schedule = compile_model(model_file("kws_ref_model"), options).schedule
    products = [call.kernel.function for call in schedule.calls if call.whole.macs]
    assert schedule.arena_bytes <= KWS_RAM_BYTES
    assert all(function.startswith("tg_native") for function in products)


@requires_cmsis
def test_the_library_alone_takes_the_smallest_arena() -> None:
    options = Options(target=M4, kernels=Kernels.CMSIS_NN, objective=Objective.RAM)
    schedule = compile_model(model_file("kws_ref_model"), options).schedule
    assert schedule.arena_bytes <= ARENA_BYTES["kws_ref_model"]
