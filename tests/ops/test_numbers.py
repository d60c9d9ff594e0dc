"""Comparisons, logic, selection, casts, integers and cumulative sums against LiteRT and TFLite Micro."""

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.number_models import CASES, NumberModel, model_of
from tests.support.reference import evaluate, import_model
from tests.support.tflm import needs_tflm, run_tflm
from tinygen.ir.types import Array

_SEEDS = 6
_NOT_IN_LITERT = ("CUMSUM-int8", "ZEROS_LIKE-int8", "FILL-int8", "ADD_N-int8", "DIV-int8", "RSQRT-int16")
_IN_BOTH = (
    "ABS-int16",
    "BATCH_MATMUL-int16",
    "GATHER_ND-int8-3",
    "L2_NORMALIZATION-int8",
    "LOG_SOFTMAX-int8",
    "PADV2-int16",
    "RESIZE_NEAREST_NEIGHBOR-int16",
)
_FOR_HOSTS = ("LOCAL_RESPONSE_NORMALIZATION",)  # whose reference kernel leaves out the last channel of each window
_IN_TFLM_ALONE = (*_NOT_IN_LITERT, "EQUAL-int8", "LESS-int8", "SELECT_V2-int8", "LOGICAL_AND", "CAST-float32-int8")


def _assert_same(model: NumberModel, case: str, expected: list[Array]) -> None:
    computed = evaluate(import_model(model.finish()), model.values)
    for found, wanted in zip(computed, expected, strict=True):
        assert found.shape == wanted.shape
        if wanted.dtype == np.float32:
            assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6), case
        else:
            assert np.array_equal(found, wanted), case


@needs_litert
@pytest.mark.parametrize("case", [case for case in CASES if case not in _NOT_IN_LITERT])
def test_numbers_are_litert_s(case: str) -> None:
    for seed in range(_SEEDS):
        model = model_of([case], seed)
        expected = run_reference(model.finish(), model.values, optimized=case in _FOR_HOSTS).outputs
        _assert_same(model, case, expected)


@needs_tflm
@pytest.mark.parametrize("case", (*_IN_TFLM_ALONE, *_IN_BOTH))
def test_numbers_are_those_of_tflite_micro(case: str) -> None:
    for seed in range(_SEEDS):
        model = model_of([case], seed)
        _assert_same(model, case, run_tflm(model.finish(), model.values, 1))
