"""ScatterND and ScatterElements of quantized tensors: elements only move, and what is refused says why."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.onnx_writer import OnnxWriter
from tinygen.budget import BudgetError, Limit
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.passes import run
from tinygen.verify import reference

_SCALE, _ZERO_POINT = 0.0625, -3


def _network(operator: str, indices: Array, updates: tuple[int, ...], **attributes: int | str) -> bytes:
    writer = OnnxWriter(opset=18)
    data, new = (writer.input(shape, _SCALE, _ZERO_POINT) for shape in ((3, 4, 5), updates))
    found = writer.node(operator, [data, writer.constant(indices), new], attributes)
    writer.output(writer.requantized(found, _SCALE, _ZERO_POINT))
    return writer.finish()


def _run(file: Path, content: bytes, data: Array, new: Array) -> Array:
    file.write_bytes(content)
    graph = run(import_model(file))
    assert not any(tensor.type.dtype.is_real for op in graph.ops for tensor in op.results)
    (found,) = reference.outputs(graph, reference.evaluate(graph, [data, new]))
    return found


def _values(*shape: int) -> Array:
    return (_SCALE * np.random.default_rng(len(shape)).integers(-100, 100, shape)).astype(np.float32)


def test_rows_come_to_their_places(tmp_path: Path) -> None:
    data, new = _values(3, 4, 5), _values(3, 5)
    indices = np.array([[2, 1], [0, -1], [2, 1]])
    found = _run(tmp_path / "net.onnx", _network("ScatterND", indices, (3, 5)), data, new)
    expected = data.copy()
    for (first, second), row in zip(indices, new, strict=True):
        expected[first, second] = row
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_come_to_their_places(axis: int, tmp_path: Path) -> None:
    data, new = _values(3, 4, 5), _values(2, 3, 4)
    size = data.shape[axis]
    indices = np.stack([np.random.default_rng(seed).permutation(size)[:2] for seed in range(12)])
    indices = np.resize(indices, (2, 3, 4))
    found = _run(tmp_path / "net.onnx", _network("ScatterElements", indices, (2, 3, 4), axis=axis), data, new)
    expected = data.copy()
    for place in np.ndindex(2, 3, 4):
        target = list(place)
        target[axis] = indices[place]
        expected[tuple(target)] = new[place]
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("operator", "indices", "updates", "reason"),
    [
        ("ScatterND", [[0, 4]], (1, 5), r"indices name places outside of \[3, 4\]"),
        ("ScatterND", [[0, 1]], (2, 5), r"indices \[1, 2\] and updates \[2, 5\] do not fit data of \[3, 4, 5\]"),
        ("ScatterElements", [[[3]]], (1, 1, 1), r"indices name places outside of \[3, 4, 5\]"),
        ("ScatterElements", [[0]], (1, 1), r"indices \[1, 1\] and updates \[1, 1\] do not fit data of \[3, 4, 5\]"),
    ],
)
def test_what_is_refused(
    operator: str, indices: list[object], updates: tuple[int, ...], reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(_network(operator, np.array(indices), updates))
    with pytest.raises(UnsupportedOperatorsError, match=reason):
        import_model(file)


def test_an_unknown_reduction_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(_network("ScatterND", np.array([[0, 1]]), (1, 5), reduction="mean"))
    with pytest.raises(UnsupportedOperatorsError, match="reduction is 'mean', one of none, add, mul, max, min was"):
        import_model(file)


def test_updates_to_one_place_are_limited(tmp_path: Path) -> None:
    """As copies of the data are: whatever their number is, without looking at all of them for each."""
    file = tmp_path / "net.onnx"
    file.write_bytes(_network("ScatterND", np.zeros((200_000, 3), np.int64), (200_000,), reduction="add"))
    with pytest.raises(UnsupportedOperatorsError, match="200000 updates to one place, at most 16 were expected"):
        import_model(file)


@pytest.mark.parametrize("operator", ["ScatterND", "ScatterElements"])
def test_data_without_elements_is_refused(operator: str, tmp_path: Path) -> None:
    writer = OnnxWriter(opset=18)
    data, new = (writer.constant(np.zeros((3, 0), np.float32)) for _ in range(2))
    indices = writer.constant(np.zeros((3, 1), np.int64))
    writer.output(writer.node("Add", [writer.port((3, 1)), writer.node(operator, [data, indices, new])]))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(UnsupportedOperatorsError, match=r"do not fit data of \[3, 0\]"):
        import_model(file)


@pytest.mark.parametrize("operator", ["ScatterND", "ScatterElements"])
def test_data_beyond_the_budget_is_refused_before_places_are_made(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinygen.frontends.onnx.operators.scatter.TENSOR_BYTES", Limit(4 * 3 * 4 * 5 - 1, "bytes"))
    file = tmp_path / "net.onnx"
    file.write_bytes(
        _network(
            operator,
            np.zeros((1, 1, 1) if operator != "ScatterND" else (1, 3), np.int64),
            (1,) * 3 if operator != "ScatterND" else (1,),
        )
    )
    with pytest.raises(BudgetError, match=r"240 bytes, at most 239 were expected"):
        import_model(file)
