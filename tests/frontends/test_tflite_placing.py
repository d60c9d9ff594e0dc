"""ONE_HOT, REVERSE_SEQUENCE and SCATTER_ND: depths, bytes without a sign, and sizes that a user gives."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.budget import BudgetError
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ops.quantize import flip_sign_bit


@pytest.mark.parametrize(("depth", "reason"), [(0, r"depth is \[0\]"), (3, r"the vectors have shape \[2, 3\]")])
def test_vectors_have_the_depth_that_is_said(depth: int, reason: str) -> None:
    with pytest.raises(UnsupportedOperatorsError, match=reason):
        import_model(_one_hot(depth))


@needs_litert
def test_bytes_without_a_sign_are_scattered_between_their_zeros() -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (size, 3), "uint8", scale=0.1, zero_point=7) for name, size in (("x", 2), ("y", 4)))
    places = writer.tensor("i", (2, 1), "int32", data=[[3], [1]])
    writer.operator("SCATTER_ND", [places, x, writer.tensor("s", (2,), "int32", data=[4, 3])], [y])
    file, values = writer.finish([x], [y]), [np.arange(6, dtype=np.uint8).reshape(2, 3)]
    (expected,) = run_reference(file, values).outputs
    (found,) = evaluate(import_model(file), [flip_sign_bit(values[0])])
    assert np.array_equal(flip_sign_bit(found.astype(np.int8)), expected)


def test_sizes_are_followed_through_vectors(tmp_path: Path) -> None:
    file = tmp_path / "open.tflite"
    file.write_bytes(_one_hot(4, is_open=True))
    graph = import_tflite(file, shapes={"x": (5,)})
    assert [port.tensor.shape for port in graph.outputs] == [(5, 4)]


def test_places_beyond_the_budget_are_not_made() -> None:
    """A few bytes of a file name any number of them."""
    rows = 1 << 29
    writer = ModelWriter()
    x, y = writer.tensor("x", (1,), scale=0.1), writer.tensor("y", (rows,), scale=0.1)
    places, sizes = (writer.tensor(name, shape, "int32", data=data) for name, shape, data in _of_rows(rows))
    writer.operator("SCATTER_ND", [places, x, sizes], [y])
    with pytest.raises(BudgetError, match=r"the places of SCATTER_ND 'y': 2,147,483,648 bytes for a tensor"):
        import_model(writer.finish([x], [y]))
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, rows), scale=0.1) for name in "xy")
    length = writer.tensor("length", (1,), "int32", data=[rows])
    writer.operator("REVERSE_SEQUENCE", [x, length], [y], seq_dim=1, batch_dim=0)
    with pytest.raises(BudgetError, match=r"the places of REVERSE_SEQUENCE 'y': 2,147,483,648 bytes for a tensor"):
        import_model(writer.finish([x], [y]))
    with pytest.raises(BudgetError, match=r"the vectors of ONE_HOT 'y': 4,294,967,296 bytes for a tensor"):
        import_model(_one_hot(rows, shape=(2, rows)))


def _of_rows(rows: int) -> list[tuple[str, tuple[int, ...], list[int] | list[list[int]]]]:
    return [("i", (1, 1), [[3]]), ("s", (1,), [rows])]


def _one_hot(depth: int, is_open: bool = False, shape: tuple[int, int] = (2, 4)) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (2,), "int32", signature=(-1,) if is_open else None)
    ends = [writer.tensor(name, (), "float32", data=value) for name, value in (("on", 1.0), ("off", 0.0))]
    y = writer.tensor("y", shape, "float32", signature=(-1, 4) if is_open else None)
    writer.operator("ONE_HOT", [x, writer.tensor("d", (), "int32", data=depth), *ends], [y], axis=-1)
    return writer.finish([x], [y])
