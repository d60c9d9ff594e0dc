"""What kernels take: terms of their work, and the measured prices of these."""

import json

import pytest

from benchmarks.calibrate_costs import pairs_of_library, pairs_of_own
from tests.support.graphs import GraphBuilder
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.prices import OWN, prices, table, table_file, table_name
from tinygen.kernels.select import variants
from tinygen.ops.window import HW
from tinygen.planner.cost.cost import FETCH, MEMMOVE, MEMMOVE_UP
from tinygen.targets.isa import Isa

SETS = ((Isa.SCALAR, False), (Isa.SCALAR, True), (Isa.DSP, True), (Isa.MVE, True))


@pytest.mark.parametrize(("isa", "has_thumb2"), SETS)
def test_prices_are_those_of_what_is_measured(isa: Isa, has_thumb2: bool) -> None:
    """All terms of all kernels that `make calibrate-costs` runs have a price, and nothing else has one."""
    found, measured = table(table_name(isa, has_thumb2)), {OWN: {MEMMOVE, MEMMOVE_UP, FETCH}}
    for library in Library:
        toolbox = Toolbox(library, isa, has_thumb2=has_thumb2)
        measured[library.value] = set()
        for part, pairs in ((library.value, pairs_of_library(toolbox)), (OWN, pairs_of_own(toolbox))):
            for op, kernel in pairs:
                work = kernel.work(op)
                terms = {term for term, amount in work.times.items() if amount}
                missing = terms - found[part][work.function].keys()
                assert not missing, f"{work.function}: measure {', '.join(sorted(missing))}"
                measured[part].add(work.function)
    assert {part: set(functions) for part, functions in found.items()} == measured


@pytest.mark.parametrize(("isa", "has_thumb2"), SETS)
def test_tables_say_what_made_them(isa: Isa, has_thumb2: bool) -> None:
    text = table_file(table_name(isa, has_thumb2)).read_text(encoding="utf-8")
    assert json.loads(text)["made_by"] == "python -m benchmarks.calibrate_costs"


def test_parts_may_be_computed_by_other_tiles_that_make_do_with_the_scratch() -> None:
    """Of one row, tiles of 4x4 compute three in vain: flat ones or none are what lowering takes, where they fit."""
    build = GraphBuilder()
    build.conv(build.input(1, 16, 16, 16), 16, HW(3, 3))
    (op,) = build.ops
    toolbox = Toolbox(Library.PORTABLE, Isa.DSP, has_native_kernels=True, tallest_tile=4)
    found, kernels = prices(toolbox), variants(op, toolbox)
    assert found.cheapest(kernels[0].works(op, 1)) < 0.5 * found.instructions(kernels[0].work(op, 1))
    flat = kernels[-2]
    assert flat.scratch_bytes < 2 * 9 * 16 * 4  # of the direct kernel
    assert found.cheapest(flat.works(op, 1)) == found.instructions(flat.work(op, 1))
