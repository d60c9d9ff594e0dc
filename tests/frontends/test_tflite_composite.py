"""STABLEHLO_COMPOSITE: an operator with a subgraph that says what it computes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.litert import run_reference
from tests.support.reference import evaluate
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model


def _model(folder: Path, decomposition: int | None) -> Path:
    """Twice (x + c) * x by the same subgraph, the second time of the first one's result."""
    writer = ModelWriter()
    quant: dict[str, Any] = {"scale": 0.1, "zero_point": 3}
    x, between, y = (writer.tensor(name, (1, 6), **quant) for name in ("x", "between", "y"))
    for source, target in ((x, between), (between, y)):
        writer.operator("STABLEHLO_COMPOSITE", [source], [target], decomposition=decomposition)
    writer.next_subgraph([x], [y])
    own = writer.tensor("x", (1, 6), **quant)
    constant = writer.tensor("c", (1, 6), scale=0.2, data=np.arange(6).reshape(1, 6))
    total = writer.tensor("sum", (1, 6), scale=0.15)
    result = writer.tensor("y", (1, 6), **quant)
    writer.operator("ADD", [own, constant], [total])
    writer.operator("MUL", [total, own], [result])
    path = folder / "model.tflite"
    path.write_bytes(writer.finish([own], [result]))
    return path


def test_is_what_its_subgraph_computes(tmp_path: Path) -> None:
    path = _model(tmp_path, 1)
    graph = import_model(path)
    assert [type(op).__name__ for op in graph.ops] == ["Add", "Mul", "Add", "Mul"]
    inputs = [np.array([[-128, -9, 3, 17, 60, 127]], np.int8)]
    [expected] = run_reference(path, inputs).outputs
    assert np.array_equal(evaluate(graph, inputs)[0], expected)
    assert len(np.unique(expected)) > 2


@pytest.mark.parametrize(
    ("decomposition", "reason"),
    [
        (None, "has no subgraph that says what it computes, it was expected"),
        (0, "runs subgraph 0, 1 to 1 were expected"),
        (-1, "runs subgraph -1, 1 to 1 were expected"),
        (7, "runs subgraph 7, 1 to 1 were expected"),
    ],
)
def test_refusals(decomposition: int | None, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperatorsError) as error:
        import_model(_model(tmp_path, decomposition))
    assert f"operator 0 (STABLEHLO_COMPOSITE 'between'): {reason}." in str(error.value)
