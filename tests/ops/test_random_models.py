"""The numpy references against LiteRT's reference kernels: random models of one operator, byte by byte.

Two operators of LiteRT's do not mean what TFLite Micro computes:
 - FULLY_CONNECTED rounds once: at most 1 away, here and nowhere else. What it must be stands in test_matmul.py.
 - SUM of int8 is broken in its reference kernels (the multiplier is never set); its optimized kernels compute in float,
   at most 1 away. What it must be stands in test_reduction.py.
"""

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.operator_models import BUILDERS, random_model
from tests.support.reference import evaluate, import_model

CASES = 60
TOLERANCE = {"FULLY_CONNECTED": 1, "SUM": 1}


@needs_litert
@pytest.mark.parametrize("name", BUILDERS)
def test_s2_13_the_reference_is_litert_s(name: str) -> None:
    for seed in range(CASES):
        model = random_model(name, seed, always_bias=True)
        file = model.finish()
        expected = run_reference(file, model.values, optimized=name == "SUM").outputs[0]
        computed = evaluate(import_model(file), model.values)[0]
        assert (computed.dtype, computed.shape) == (expected.dtype, expected.shape), f"{name}, seed {seed}"
        worst = np.abs(computed.astype(np.int64) - expected.astype(np.int64)).max()
        assert worst <= TOLERANCE.get(name, 0), f"{name}, seed {seed}"
