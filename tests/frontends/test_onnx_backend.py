"""The onnx package's own node tests, by the numpy references and as compiled C; docs/onnx.md lists what fails."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.compiled_graph import compiled_graph
from tests.support.onnx_backend import BackendCase, backend_cases, constant_cases, discrete_cases, merged
from tinygen.errors import TinygenError
from tinygen.ir.graph import Graph
from tinygen.verify import reference

_DOCS = Path(__file__).parents[2] / "docs"
_SHARE = 0.95  # that must pass
_PER_BUILD = 60


def _graph(case: BackendCase, folder: Path) -> Graph | None:
    """The network of a test whose references give what is expected."""
    try:
        graph = case.import_graph(folder)
    except TinygenError:
        return None
    found = reference.outputs(graph, reference.evaluate(graph, list(case.inputs)))
    return graph if case.agrees(found) else None


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[BackendCase, Graph]:
    """The networks of all tests that pass by the references."""
    folder = tmp_path_factory.mktemp("backend")
    found = {case: _graph(case, folder) for case in backend_cases()}
    return {case: graph for case, graph in found.items() if graph is not None}


def test_share_by_references(graphs: dict[BackendCase, Graph]) -> None:
    cases = backend_cases()
    assert len(cases) > 300
    assert len(graphs) >= _SHARE * len(cases), sorted(case.name for case in cases if case not in graphs)


def test_failures_are_documented(graphs: dict[BackendCase, Graph]) -> None:
    text = (_DOCS / "onnx.md").read_text()
    listed = set(re.findall(r"^\| `(test_\w+)`", text, re.MULTILINE))
    assert listed == {case.name for case in backend_cases() if case not in graphs}
    assert f"{len(graphs)} of {len(backend_cases())}" in text


def test_compiled(graphs: dict[BackendCase, Graph]) -> None:
    passing = list(graphs)
    wrong = []
    for first in range(0, len(passing), _PER_BUILD):
        batch = passing[first : first + _PER_BUILD]
        wrong += _disagreeing(batch, merged({case.name: graphs[case] for case in batch}, "backend"))
    assert wrong == []


def test_integers_and_truth_values(tmp_path: Path) -> None:
    cases = discrete_cases()
    assert len(cases) > 60
    graphs = {case: _graph(case, tmp_path) for case in cases}
    assert [case.name for case, graph in graphs.items() if graph is None] == []
    assert _disagreeing(list(cases), merged({case.name: g for case, g in graphs.items() if g}, "backend")) == []


def test_constants(tmp_path: Path) -> None:
    """What is computed when the model is read has the numbers, and the types, of the tests."""
    refused = Counter[str]()
    for case in constant_cases():
        try:
            graph = case.import_graph(tmp_path)
        except TinygenError:
            refused[case.operator] += 1
        else:
            assert case.agrees(reference.outputs(graph, reference.evaluate(graph, list(case.inputs)))), case.name
    assert len(constant_cases()) > 280
    # shifts of integers with a sign, texts, models of opset 1, arrays without elements
    assert refused == {"BitShift": 10, "Equal": 2, "Not": 3, "Reshape": 1}


def _disagreeing(cases: list[BackendCase], graph: Graph) -> list[str]:
    compiled = compiled_graph(graph)
    outputs = iter(compiled.execute([[values for case in cases for values in case.inputs]]).outputs[0])
    return [case.name for case in cases if not case.agrees([next(outputs) for _ in case.outputs])]
