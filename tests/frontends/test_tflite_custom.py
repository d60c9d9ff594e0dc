"""Custom operators that other projects put into TFLite files."""

import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.reference import evaluate
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.ir.types import Array

Reals = npt.NDArray[np.float32] | npt.NDArray[np.float64]
_SAME, _VALID = 1, 2


def _file(folder: Path, input: Array, weights: Array, bias: Array, output: tuple[int, ...], options: bytes) -> Path:
    writer = ModelWriter()
    x = writer.tensor("x", input.shape, "float32")
    constants = [writer.tensor(name, a.shape, "float32", data=a) for name, a in (("w", weights), ("b", bias))]
    y = writer.tensor("y", output, "float32")
    writer.operator("CUSTOM", [x, *constants], [y], custom_code="Convolution2DTransposeBias", custom_options=options)
    path = folder / "model.tflite"
    path.write_bytes(writer.finish([x], [y]))
    return path


def _scattered(input: Reals, weights: Reals, bias: Reals, stride: tuple[int, int], is_same: bool) -> Reals:
    """As MediaPipe's kernel does it: each input is added to all outputs that it reaches."""
    _, height, width, _ = input.shape
    filters, rows, columns, _ = weights.shape
    full = np.zeros((stride[0] * (height - 1) + rows, stride[1] * (width - 1) + columns, filters), np.float64)
    for y in range(height):
        for x in range(width):
            at = full[stride[0] * y : stride[0] * y + rows, stride[1] * x : stride[1] * x + columns]
            at += np.einsum("c,fhwc->hwf", input[0, y, x], weights)
    if is_same:
        lost = [max(0, k - (n - 1) % s - 1) for n, k, s in zip((height, width), (rows, columns), stride, strict=True)]
        tops = [each // 2 for each in lost]
        ends = [size - each + top for size, each, top in zip(full.shape, lost, tops, strict=False)]
        full = full[tops[0] : ends[0], tops[1] : ends[1]]
    return (full + bias)[np.newaxis]


@pytest.mark.parametrize("is_same", [True, False])
@pytest.mark.parametrize(
    ("size", "filter", "stride"),
    [((4, 6), (2, 2), (2, 2)), ((5, 4), (3, 4), (2, 2)), ((3, 5), (5, 3), (3, 1)), ((2, 2), (1, 2), (2, 3))],
)
def test_transposed_convolutions_with_a_bias(
    size: tuple[int, int], filter: tuple[int, int], stride: tuple[int, int], is_same: bool, tmp_path: Path
) -> None:
    random = np.random.default_rng(7)
    shapes = (1, *size, 3), (4, *filter, 3), (4,)
    input, weights, bias = (random.normal(size=shape).astype(np.float32) for shape in shapes)
    expected = _scattered(input, weights, bias, stride, is_same)
    options = struct.pack("<3i", _SAME if is_same else _VALID, stride[1], stride[0])
    graph = import_model(_file(tmp_path, input, weights, bias, expected.shape, options))
    [found] = evaluate(graph, [input])
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "output", "message"),
    [
        (b"", (1, 4, 4, 1), "has 0 bytes of options, 12 were expected"),
        (struct.pack("<3i", 0, 2, 2), (1, 4, 4, 1), "has padding 0 and stride 2x2, padding 1 or 2"),
        (struct.pack("<3i", 1, 0, 2), (1, 4, 4, 1), "has padding 1 and stride 2x0, padding 1 or 2"),
        (struct.pack("<3i", 1, 2, 2), (1, 5, 4, 1), r"output \[1, 5, 4, 1\] does not fit, \[1, 4, 4, 1\] was expected"),
    ],
)
def test_what_does_not_go_together(options: bytes, output: tuple[int, ...], message: str, tmp_path: Path) -> None:
    zeros = np.zeros((1, 2, 2, 1), np.float32)
    path = _file(tmp_path, zeros, zeros, np.zeros(1, np.float32), output, options)
    with pytest.raises(UnsupportedOperatorsError, match=message):
        import_model(path)
