"""Quantization at run time: scale, zero point and every level are onnxruntime's to the bit; cores equal the host."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import OnnxWriter
from tests.support.reference import evaluate
from tests.support.tools import requires_qemu
from tinygen.ir.types import Float32Array
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model

SIZE = 37  # not whole vectors, of which onnxruntime takes several at a time
_DENORMAL = np.float32(1e-45)  # the smallest one


def _model(folder: Path) -> Path:
    """Levels, scale and zero point as they are."""
    writer = OnnxWriter()
    levels = writer.node("DynamicQuantizeLinear", [writer.port([SIZE])], count=3)
    for name in (levels, f"{levels}.1", f"{levels}.2"):
        writer.output(writer.node("Cast", [name], {"to": TensorProto.FLOAT}))
    path = folder / "dynamic.onnx"
    path.write_bytes(writer.finish())
    return path


def _compiled(model: Path, target: str) -> Compiled:
    return compile_model(model, Options(target=target, kernels=Kernels.PORTABLE))


def _repeated(*values: float) -> Float32Array:
    return np.resize(np.asarray(values, np.float32), SIZE)


def _edges() -> list[Float32Array]:
    """Zeros, constants, one-sided and huge ranges, and denormal ones whose scale is denormal, or 0."""
    return [
        _repeated(0.0),
        _repeated(-0.0),
        _repeated(1.0),
        _repeated(-3.0),
        _repeated(0.5, 1, 2, 3),
        _repeated(-0.5, -1, -2, -3),
        _repeated(-3e38, 3e38, 1, 0),
        _repeated(3.4e38, 2e38, -1),
        _repeated(1e-38, -1e-38, 2e-39, 1e-41),
        *(_repeated(*(np.array(steps) * _DENORMAL)) for steps in _DENORMAL_STEPS),
    ]


_DENORMAL_STEPS = [(1, 0), (50, 0, -20, 1), (-50, 0, -1), (127, 0), (128, 0, 1, 3), (100, -282, 7), (-382, 0, -200)]


def _drawn(count: int) -> list[Float32Array]:
    """Numbers of every magnitude, about 0 and away from it."""
    random = np.random.default_rng(12)
    found = []
    for _ in range(count):
        width, middle = 10.0 ** random.integers(-44, 37), random.choice([0, 10.0 ** random.integers(-40, 37)])
        found.append((random.normal(size=SIZE) * width + middle).astype(np.float32))
    return found


@needs_onnxruntime
def test_s1_16_levels_are_those_of_onnxruntime(tmp_path: Path) -> None:
    """3,000 tensors and edge cases by the numpy reference, the generated C equal to it on each."""
    model = _model(tmp_path)
    compiled = _compiled(model, "host")
    samples = [[x] for x in (*_edges(), *_drawn(3000))]
    for sample, found in zip(samples, compiled.execute(samples).outputs, strict=True):
        expected = run_onnxruntime(model, sample)
        assert not any(np.isnan(array).any() for array in found)
        for ours, reference, theirs in zip(found, evaluate(compiled.imported, sample), expected, strict=True):
            assert np.array_equal(ours, theirs), sample
            assert np.array_equal(reference, theirs), sample


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", ["mps2-an385", "mps2-an386", "mps3-an547"])
def test_on_cores(board: str, tmp_path: Path) -> None:
    """With and without a floating-point unit; infinities and NaN give the reference's levels too."""
    compiled = _compiled(_model(tmp_path), board)
    odd = [_repeated(np.inf, 1), _repeated(-np.inf, 1), _repeated(np.nan, 1, -2), _repeated(np.nan)]
    samples = [[x] for x in (*_edges(), *_drawn(20), *odd)]
    for sample, found in zip(samples, compiled.execute(samples).outputs, strict=True):
        for ours, reference in zip(found, evaluate(compiled.imported, sample), strict=True):
            assert np.array_equal(ours, reference), sample
