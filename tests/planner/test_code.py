"""What plans take of flash as code: estimated from tables of measured functions, beside what is built."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks.calibrate_costs import Pair, pairs_of_library, pairs_of_own
from tests.kernels.test_prices import SETS
from tests.support.models import model_file
from tests.support.tools import builds_param, requires_arm_gcc
from tinygen.codegen.harness import Measure
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.code_sizes import CODE, CodeSizes, code_sizes
from tinygen.kernels.native.select import is_native
from tinygen.kernels.work import work
from tinygen.options import Kernels, Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import compile_model
from tinygen.planner.cost.code import MARGIN_BYTES, beside_constants, code_bytes
from tinygen.planner.schedule.constants import const_bytes
from tinygen.targets.isa import Isa

_PLANS = (
    ("kws_ref_model", Objective.TIME, Kernels.NATIVE),
    ("pretrainedResnet_quant", Objective.RAM, Kernels.NATIVE),
    ("vww_96_int8", Objective.TIME, Kernels.PORTABLE),
)


@pytest.mark.parametrize("board", [builds_param("mps2-an386"), builds_param("mps3-an547"), builds_param("qemu-rv32")])
@pytest.mark.parametrize(("model", "goal", "kernels"), _PLANS)
def test_an_estimate_is_what_is_built_or_a_little_more(
    tmp_path: Path, model: str, goal: Objective, kernels: Kernels, board: str
) -> None:
    """Within 15 % and the margin in bytes; the whole image, with its start-up, takes no more than what is reserved."""
    compiled = compile_model(model_file(model), Options(board, objective=goal, kernels=kernels))
    built = compiled.build(tmp_path, Measure.INSTRUCTIONS).sizes()
    estimated = code_bytes(compiled.schedule, compiled.toolbox)
    print(f"{model} on {board}: {built.code_bytes} bytes of code, {estimated} estimated")
    assert built.code_bytes <= estimated <= 1.15 * built.code_bytes + MARGIN_BYTES
    reserved = const_bytes(compiled.schedule) + beside_constants(compiled.schedule, compiled.toolbox)
    assert built.flash_bytes <= reserved <= 1.05 * built.flash_bytes + MARGIN_BYTES


@requires_arm_gcc
def test_little_more_than_plain_constants_is_enough_for_native_kernels(tmp_path: Path) -> None:
    """Image classification in 100 KB of flash: 24 KB were kept for code, which left portable C at 80 M instructions."""
    options = Options("mps2-an386", objective=Objective.TIME, flash_bytes=100 << 10, cmsis_nn=WITHOUT_CMSIS_NN)
    compiled = compile_model(model_file("pretrainedResnet_quant"), options)
    assert sum(is_native(call.kernel) for call in compiled.schedule.calls) >= 10
    assert compiled.build(tmp_path, Measure.INSTRUCTIONS).sizes().flash_bytes <= 100 << 10


@pytest.mark.parametrize(("isa", "has_thumb2"), [*SETS, (Isa.ZVE32X, True)])
def test_what_is_generated_is_measured(isa: Isa, has_thumb2: bool) -> None:
    """A measurement that was ended half way leaves a table without it."""
    found = code_sizes(Toolbox(Library.PORTABLE, isa, has_thumb2=has_thumb2)).generated
    assert {"network", "call", "runner", "loop", "move"} <= {*found[CODE]}
    assert min(found[CODE]["network"], found[CODE]["call"], *map(len, found.values())) > 0


@pytest.mark.parametrize(("isa", "has_thumb2"), [*SETS, (Isa.ZVE32X, True)])
def test_kernels_have_their_code_measured(isa: Isa, has_thumb2: bool) -> None:
    """Nineteen of twenty, so that new ones do not wait for `make calibrate-code`."""
    own = _functions(pairs_of_own(Toolbox(Library.PORTABLE, isa, has_thumb2=has_thumb2)))  # whichever library is beside
    for library in Library:
        toolbox = Toolbox(library, isa, has_thumb2=has_thumb2)
        found = code_sizes(toolbox)
        functions = own | _functions(pairs_of_library(toolbox))
        missing = sorted(functions - found.functions.keys())
        print(f"not measured: {', '.join(missing)}")
        assert len(missing) <= len(functions) // 20


def _functions(pairs: Iterable[Pair]) -> set[str]:
    """What the kernels call."""
    return {name for _, kernel in pairs for name in (kernel.function, *kernel.callees)}


def test_what_functions_share_counts_once() -> None:
    sizes = CodeSizes({"a": (10, ("c",)), "b": (20, ("c", "a")), "c": (5, ("c",))}, {CODE: {"call": 2.0, "loop": 9.0}})
    assert sizes.of_functions(["a"]) == 15
    assert sizes.of_functions(["a", "b"]) == 35
    assert sizes.of_functions(["a", "b", "new"]) == 35 + 20
    assert sizes.of_generated(work(CODE, call=3, unknown=1)) == 15
