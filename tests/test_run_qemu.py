"""What `make run-qemu` shows."""

import pytest

from examples.run_qemu import options, whose_kernels
from tests.support.command_line import DIGITS, tinygen
from tests.support.tools import requires_cmsis
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model


@requires_cmsis
@pytest.mark.parametrize(
    ("kernels", "shown"),
    [
        (Kernels.AUTO, "tinygen's native and CMSIS-NN's"),
        (Kernels.NATIVE, "tinygen's native and CMSIS-NN's"),
        (Kernels.CMSIS_NN, "CMSIS-NN's"),
        (Kernels.PORTABLE, "tinygen's portable"),
    ],
)
def test_kernels_are_named_as_they_run(kernels: Kernels, shown: str) -> None:
    assert whose_kernels(compile_model(DIGITS, Options("mps2-an386", kernels=kernels))) == shown


def test_kernels_without_cmsis_nn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGEN_CMSIS_NN", "nowhere")
    assert whose_kernels(compile_model(DIGITS, Options("mps2-an386"))) == "tinygen's native and tinygen's portable"


def test_the_plan_is_that_of_the_command_line() -> None:
    compiled = compile_model(DIGITS, options("mps2-an386", Kernels.AUTO))
    document = tinygen("inspect", DIGITS, "-t", "mps2-an386", "--json").document
    assert compiled.schedule.arena_bytes == document["arena_bytes"]
    fastest = compile_model(DIGITS, Options("mps2-an386", objective=Objective.TIME))
    assert compiled.schedule.arena_bytes < fastest.schedule.arena_bytes
