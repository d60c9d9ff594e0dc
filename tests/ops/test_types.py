"""Operators type by type: what TFLite Micro runs is imported, and computes the same numbers."""

import numpy as np
import pytest

from tests.support.reference import import_model
from tests.support.tflm import needs_tflm, run_tflm
from tests.support.tflm_types import TFLM_RESULTS, TFLM_TYPES
from tests.support.typed_models import CASES, Case, typed_model
from tinygen.verify import reference

_SEEDS = 4
_UNCHECKED = ("LOGICAL_AND", "LOGICAL_OR")  # TFLite Micro reads bytes of any type as truth values, unasked


def test_every_operator_of_the_table_has_models() -> None:
    assert {case.operator for case in CASES} == {*TFLM_TYPES, *TFLM_RESULTS}


@needs_tflm
def test_the_table_is_what_tflite_micro_runs() -> None:
    asked = [case for case in CASES if case.operator not in _UNCHECKED or case.type == "bool"]
    assert [str(case) for case in asked if _is_run(case)] == [str(case) for case in asked if case.is_in_tflm]


def _is_run(case: Case) -> bool:
    model = typed_model([case], seed=1)
    try:
        run_tflm(model.finish(), model.values, len(model.outputs))
    except RuntimeError:
        return False
    return True


@needs_tflm
@pytest.mark.parametrize("case", [case for case in CASES if case.is_in_tflm], ids=str)
def test_types_are_those_of_tflite_micro(case: Case) -> None:
    for seed in range(_SEEDS):
        model = typed_model([case], seed)
        file = model.finish()
        graph = import_model(file)
        found = reference.outputs(graph, reference.evaluate(graph, model.values))
        for computed, expected in zip(found, run_tflm(file, model.values, len(model.outputs)), strict=True):
            assert (computed.dtype, computed.shape) == (expected.dtype, expected.shape)
            if expected.dtype == np.float32:
                assert np.allclose(computed, expected, rtol=1e-5, atol=1e-5)
            else:
                assert np.array_equal(computed, expected)


@pytest.mark.parametrize("case", [case for case in CASES if case.operator == "ZEROS_LIKE"], ids=str)
def test_stored_zeros_are_zeros_of_any_type(case: Case) -> None:
    """Where no runtime has kernels, too."""
    model = typed_model([case], seed=1)
    graph = import_model(model.finish())
    found = reference.outputs(graph, reference.evaluate(graph, model.values))[0]
    assert found.dtype == np.dtype(case.type) and not found.any()
