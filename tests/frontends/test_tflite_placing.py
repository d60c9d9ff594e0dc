"""ONE_HOT and SCATTER_ND: what their readers refuse, bytes without a sign, and sizes that a user gives."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ops.quantize import flip_sign_bit

Build = Callable[[ModelWriter, int], None]


def _scatter(*indices: list[int], shape: tuple[int, ...] = (5, 6), rows: int = 2) -> Build:
    def build(writer: ModelWriter, x: int) -> None:
        updates = writer.tensor("u", (rows, 6), scale=0.1)
        writer.operator("SLICE", [x, *(writer.tensor(n, (2,), "int32", data=d) for n, d in _part(rows))], [updates])
        places = writer.tensor("i", (len(indices), len(indices[0])), "int32", data=indices)
        sizes = writer.tensor("s", (len(shape),), "int32", data=shape)
        writer.operator("SCATTER_ND", [places, updates, sizes], [writer.tensor("y", (5, 6), scale=0.1)])

    return build


def _part(rows: int) -> list[tuple[str, list[int]]]:
    return [("begin", [0, 0]), ("size", [rows, 6])]


REFUSED: dict[str, tuple[Build, str]] = {
    "twice": (
        _scatter([3], [3]),
        "an index occurs twice, whose updates would be added; different ones were expected",
    ),
    "outside": (_scatter([3], [5]), "index [5] is outside of [5]"),
    "negative": (_scatter([-1], [3]), "index [-1] is outside of [5]"),
    "too few updates": (_scatter([1], [2], [3]), "indices [3, 1] and updates [2, 6] do not fit a shape of [5, 6]"),
    "too deep": (_scatter([1, 2, 3], [0, 0, 0]), "indices [2, 3] and updates [2, 6] do not fit a shape of [5, 6]"),
    "another shape": (_scatter([1], [2], shape=(6, 6)), "scatters to shape [6, 6], the output has shape [5, 6]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_said_with_its_values(case: str) -> None:
    build, reason = REFUSED[case]
    writer = ModelWriter()
    x = writer.tensor("x", (4, 6), scale=0.1)
    build(writer, x)
    with pytest.raises(UnsupportedOperatorsError) as error:
        import_model(writer.finish([x], [x]))
    assert [fault.reason for fault in error.value.operators] == [reason]


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


def _one_hot(depth: int, is_open: bool = False) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (2,), "int32", signature=(-1,) if is_open else None)
    ends = [writer.tensor(name, (), "float32", data=value) for name, value in (("on", 1.0), ("off", 0.0))]
    y = writer.tensor("y", (2, 4), "float32", signature=(-1, 4) if is_open else None)
    writer.operator("ONE_HOT", [x, writer.tensor("d", (), "int32", data=depth), *ends], [y], axis=-1)
    return writer.finish([x], [y])
