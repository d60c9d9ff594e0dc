"""Weights that stand in flash as narrow codes: every format, scale and kind of layer on every core."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.coded_layers import WEIGHTS, coded_graph, integer_graph, random_coding, samples, stored_samples
from tests.support.reference import evaluate
from tests.support.schedules import run_schedule
from tests.support.tools import requires_qemu
from tinygen.compress import CompressionGranularity
from tinygen.compress.encode import encode
from tinygen.compress.scheme import CodeScheme
from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.integer_form import integer_form
from tinygen.ir.packing import packed_codes, unpacked_codes
from tinygen.kernels.base import Library, Toolbox
from tinygen.planner.plan import PlanRequest, plan
from tinygen.targets import load

TARGETS = [
    pytest.param("host"),
    *(
        pytest.param(board, marks=[requires_qemu, pytest.mark.qemu])
        for board in ("mps2-an385", "mps2-an386", "mps3-an547")  # without FPU, with one, with MVE
    ),
]


@pytest.mark.parametrize("target", TARGETS)
def test_layers_on_float32_decode_their_weights(target: str, tmp_path: Path) -> None:
    board, graph = load(target), coded_graph(len(target))
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa), PlanRequest())
    used = {call.kernel.function for call in schedule.calls}
    assert used == {"tg_convolve_coded_f32", "tg_fully_connected_coded_f32"}
    inputs = samples(graph, 1)
    [outputs] = run_schedule(schedule, Library.PORTABLE, tmp_path, [inputs])
    for op, output, expected in zip(graph.ops, outputs, evaluate(graph, inputs), strict=True):
        largest = np.abs(expected.astype(np.float64)).max()
        difference = np.abs(output.astype(np.float64) - expected.astype(np.float64)).max()
        assert difference <= 1e-5 * max(largest, 1e-3), f"{op.name}: {op.operands[1].coding}"


@pytest.mark.parametrize("target", TARGETS)
def test_layers_on_int8_are_their_references_to_the_bit(target: str, tmp_path: Path) -> None:
    board, graph = load(target), integer_graph(len(target) + 1)
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa, has_native_kernels=True), PlanRequest())
    used = [call.kernel.function for call in schedule.calls]
    assert used.count("tg_convolve_coded_s8") > len(used) // 2
    tables = [{table.name for table in call.kernel.tables} for call in schedule.calls]
    assert all(any(name in names for names in tables) for name in ("factors", "powers", "zero_points", "levels"))
    inputs = [stored_samples(graph, seed) for seed in (2, 3)]
    for sample, outputs in zip(inputs, run_schedule(schedule, Library.PORTABLE, tmp_path, inputs), strict=True):
        for op, output, expected in zip(graph.ops, outputs, evaluate(graph, sample), strict=True):
            assert np.array_equal(output, expected), f"{op.name}: {op.operands[1].type.dtype}"


def test_mxfp4_is_exact_in_integers() -> None:
    """A Gaussian matrix: integers times the channel's scale are what the codes stand for, to the last bit."""
    weights = np.random.default_rng(0).normal(size=(64, 256)).astype(np.float32)
    scheme = CodeScheme(Format.FP4_E2M1FN, granularity=CompressionGranularity.PER_BLOCK)
    filters = encode(weights, scheme, (1, 32)).as_filters(0)
    assert filters is not None
    form = integer_form(filters)
    assert form is not None and form.are_powers and form.has_factors
    real = form.weights.astype(np.float64) * form.scales[:, None, None, None]
    np.testing.assert_array_equal(real, filters.decoded)


def test_scales_of_blocks_keep_15_bits_in_integers() -> None:
    weights = np.random.default_rng(1).normal(size=(64, 256)).astype(np.float32)
    scheme = CodeScheme(Format.INT4, granularity=CompressionGranularity.PER_BLOCK)
    filters = encode(weights, scheme, (1, 32)).as_filters(0)
    assert filters is not None
    form = integer_form(filters)
    assert form is not None and not form.are_powers
    real = form.weights.astype(np.float64) * form.scales[:, None, None, None]
    assert np.abs(real - filters.decoded).max() <= 2.0**-15 * np.abs(filters.decoded).max()


def test_powers_too_far_apart_have_no_form_in_integers() -> None:
    scales = np.array([[[[1.0, 2.0**25]]]]).astype(Format.FP8_E8M0FNU.numpy)
    codes = np.ones((1, 1, 1, 2), Format.FP4_E2M1FN.numpy)
    assert integer_form(Coding(codes, scales)) is None
    assert integer_form(Coding(codes, np.ones_like(scales))) is not None


@pytest.mark.parametrize("form", [*WEIGHTS, Format.FP8_E8M0FNU, Format.FP16, Format.FP32], ids=lambda form: form.value)
def test_packing_is_undone_by_unpacking(form: Format) -> None:
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 5, 8):
        codes = rng.integers(0, 2, count).astype(form.numpy)
        if form in WEIGHTS:
            codes = random_coding(rng, form, (count,), (1,)).codes
        packed = packed_codes(codes)
        assert packed.size == -(-count * form.bits // 8)
        np.testing.assert_array_equal(
            unpacked_codes(packed.tobytes(), form, count).view(np.uint8), codes.view(np.uint8)
        )
        with pytest.raises(ValueError, match="bytes"):
            unpacked_codes(packed.tobytes() + b"\0", form, count)


def test_the_first_code_is_in_the_lowest_bits() -> None:
    assert packed_codes(np.array([1, 2, 3, 4]).astype(Format.INT4.numpy)).tolist() == [0x21, 0x43]
    assert packed_codes(np.array([1, -2, -1, 0, 1]).astype(Format.INT2.numpy)).tolist() == [0b00_11_10_01, 0b01]
    assert packed_codes(np.array([6, -0.5, 1]).astype(Format.FP4_E2M1FN.numpy)).tolist() == [0x97, 0x02]
