"""Operators that move elements: the references against LiteRT, before and after the passes."""

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.movement_models import OPERATORS, random_model
from tests.support.reference import evaluate, import_model
from tinygen import passes


@needs_litert
@pytest.mark.parametrize("name", OPERATORS)
def test_references_move_what_litert_moves(name: str) -> None:
    model = random_model([name], seed=sum(map(ord, name)), each=60)
    content = model.finish()
    expected = run_reference(content, model.values).outputs
    graph = import_model(content)
    for variant in (graph, passes.run(graph)):
        for number, (output, want) in enumerate(zip(evaluate(variant, model.values), expected, strict=True)):
            np.testing.assert_array_equal(output, want, err_msg=f"{name}, output {number}")
