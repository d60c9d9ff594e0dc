"""What kernels take: terms of their work, and the measured prices of these."""

import json
import re

import pytest

from benchmarks.calibrate_costs import Measuring, pairs_of_library, pairs_of_own
from tests.support.graphs import GraphBuilder
from tests.support.rooms import PACKAGE
from tests.support.tools import requires_qemu
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.native.convolution import direct_convolution
from tinygen.kernels.native.expanded import Expansion
from tinygen.kernels.native.native import StreamForm
from tinygen.kernels.prices import BASES, OWN, prices, table, table_file, table_name
from tinygen.kernels.select import variants
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.window import HW
from tinygen.paths import RUNTIME_C
from tinygen.planner.cost.cost import FETCH, MEMMOVE, MEMMOVE_UP
from tinygen.targets import load
from tinygen.targets.isa import Isa

_WITHOUT = {
    **dict.fromkeys(("tg_branch", "tg_loop"), "cost what they run, and copies: `_Control.work`"),
    **dict.fromkeys(("tg_engine_layer_s8", "tg_engine_layer_s16"), "stand for an engine, whose time the board knows"),
    **dict.fromkeys(("tg_quantize_u8_s8", "tg_dequantize_s8_u8"), "convert at ports, which is no step of a schedule"),
    **dict.fromkeys(("tg_broadcast_any", "tg_broadcast_rows", "tg_broadcast_rows_s16"), "run in others' loops"),
    **dict.fromkeys(("tg_affine_f32", "tg_scaled_tanh_f32", "tg_thresholded_relu_f32"), "gates within a layer's loop"),
    **dict.fromkeys(
        ("tg_scale_asymmetric_f32", "tg_scale_litert_f32", "tg_scale_symmetric_f32"),
        "a few instructions, once for a range that was found row by row",
    ),
    **dict.fromkeys(
        ("tg_ring_depthwise_s8", "tg_ring_fully_connected_s8", "tg_ring_push", "tg_ring_rows"),
        "the only kernels of operators that a pass makes, but for native ones, which are always faster",
    ),
    "tg_move_up": "measured as a move of the schedule, `MEMMOVE_UP`",
    "tg_transpose_in_place": "its own estimate ranks its passes; it stands where memory decides",
}
"""Functions without prices, and why: a list that only gets shorter."""
_OF_SOME_SETS = {
    "arm_convolve_even_s4": (Isa.MVE,),
    "arm_convolve_s4": (Isa.SCALAR, Isa.DSP),
    "arm_depthwise_conv_fast_s16": (Isa.DSP, Isa.MVE),
    "arm_depthwise_conv_s4_opt": (Isa.DSP,),
}
_LARGE_LAYERS = (  # height and width, depth, channels, filter, stride; sums of many products leave 24 bits
    (8, 128, 128, HW(3, 3), 1),
    (10, 160, 64, HW(3, 3), 2),
    (16, 32, 48, HW(3, 3), 1),
    (20, 24, 64, HW(3, 3), 2),
    (14, 40, 40, HW(5, 5), 1),
    (12, 96, 96, HW(1, 1), 1),
)
_MOST_OFF = 0.05
SETS = ((Isa.SCALAR, False), (Isa.SCALAR, True), (Isa.DSP, True), (Isa.MVE, True), (Isa.RV32IMAC, True))


@pytest.mark.parametrize(("isa", "has_thumb2"), SETS)
def test_prices_are_those_of_what_is_measured(isa: Isa, has_thumb2: bool) -> None:
    """All terms of all kernels that `make calibrate-costs` runs have a price, and nothing else has one."""
    found, between_calls = table(table_name(isa, has_thumb2)), {MEMMOVE, MEMMOVE_UP, FETCH, *_expansions(isa)}
    toolboxes = {library: Toolbox(library, isa, has_thumb2=has_thumb2) for library in Library}
    pairs = {library.value: pairs_of_library(toolbox) for library, toolbox in toolboxes.items()}
    pairs[OWN] = pairs_of_own(toolboxes[Library.PORTABLE])  # whichever library is beside, as they are measured
    works = {part: [kernel.work(op) for op, kernel in of_part] for part, of_part in pairs.items()}
    for part, of_part in works.items():
        for work in of_part:
            terms = {term for term, amount in work.times.items() if amount}
            missing = terms - found[part][work.function].keys()
            assert not missing, f"{work.function}: measure {', '.join(sorted(missing))}"
    measured = {part: {work.function for work in of_part} for part, of_part in works.items()}
    measured[OWN] |= between_calls
    assert {part: set(functions) for part, functions in found.items()} == measured


def _expansions(isa: Isa) -> set[str]:
    """Ways of the forms that streams have: on cores with MVE none has weights of 16 bits."""
    forms = [StreamForm(0, 16, 3), *([] if isa is Isa.MVE else [StreamForm(1, 6, 3, lane=16)])]
    return {Expansion(form, 1, bits).work().function for form in forms for bits in (4, 2)}


def test_prices_of_vectors_stand_beside_those_of_the_set_they_extend() -> None:
    """All terms of the kernels that RISC-V's vectors have; the others cost what they do without."""
    toolbox = Toolbox(Library.PORTABLE, Isa.ZVE32X)
    pairs = [*pairs_of_own(toolbox), *pairs_of_library(toolbox)]
    works = [kernel.work(op) for op, kernel in pairs]
    base = {name for functions in table(BASES[Isa.ZVE32X]).values() for name in functions}
    found = table(Isa.ZVE32X)
    assert set(found) == {OWN} and set(found[OWN]) == {work.function for work in works} - base
    for work in works:
        if work.function in found[OWN]:
            assert {term for term, amount in work.times.items() if amount} <= set(found[OWN][work.function])
    assert all(prices(toolbox).has(work) for work in works)


def test_each_kernel_has_a_price_or_a_reason() -> None:
    """All C functions of tinygen's, by the header of their names, and those of the library that lowerings name."""
    own = set(re.findall(r"#define (tg_\w+) ", (RUNTIME_C / "operators" / "tg_operator_names.h").read_text()))
    lowerings = "".join(file.read_text(encoding="utf-8") for file in sorted((PACKAGE / "kernels").rglob("*.py")))
    library = set(re.findall(r'"(arm_\w+[^_\W])"', lowerings))
    assert len(own) > 200 and len(library) > 30
    for isa, has_thumb2 in SETS:
        functions = {name for part in table(table_name(isa, has_thumb2)).values() for name in part}
        priced = {word for name in functions for word in name.split()}
        special = {name for name, sets in _OF_SOME_SETS.items() if isa not in sets}
        missing = (own | library) - priced - special
        assert missing == _WITHOUT.keys(), f"{isa}, {has_thumb2}: measure it, or take it off the list"


@pytest.mark.parametrize(("isa", "has_thumb2"), SETS)
def test_tables_say_what_made_them(isa: Isa, has_thumb2: bool) -> None:
    text = table_file(table_name(isa, has_thumb2)).read_text(encoding="utf-8")
    assert json.loads(text)["made_by"] == "python -m benchmarks.calibrate_costs"


@pytest.mark.qemu
@requires_qemu
def test_prices_of_layers_as_large_as_those_of_networks_are_what_they_take() -> None:
    """None of them is one that prices are fitted to, and both kinds of streams are among them."""
    build = GraphBuilder()
    for size, depth, channels, kernel, stride in _LARGE_LAYERS:
        build.conv(build.input(1, size, size, depth), channels, kernel, HW(stride, stride))
    toolbox = Toolbox(Library.PORTABLE, Isa.DSP, has_native_kernels=True)
    direct = [(op, direct_convolution(op, Isa.DSP)) for op in build.ops if isinstance(op, Conv2D)]
    pairs = [(op, kernel) for op, kernel in direct if kernel is not None]
    assert len(pairs) == len(_LARGE_LAYERS)
    assert {"tg_native_convolve_s8", "tg_native_convolve_joined_s8"} <= {kernel.function for _, kernel in pairs}
    for sample in Measuring(load("mps2-an386"), ()).samples(pairs, toolbox):
        off = prices(toolbox).instructions(sample.work) / sample.instructions - 1
        assert abs(off) < _MOST_OFF, f"{sample.work}: {sample.instructions:,.0f} instructions, {off:+.1%}"


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
