"""Issue 16: operators that only readers of ONNX make, over random layers, as C against their references, to the bit.

The references stand against real arithmetic in tests/ops: test_standardize.py, test_resize.py, and against onnxruntime
in tests/frontends: test_onnx_operators.py, test_onnx_int16.py.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.compiled_graph import compiled_graph
from tests.support.onnx_backend import merged
from tests.support.onnx_models import combined
from tests.support.stored_operators import random_function, random_interpolation, random_standardize
from tests.support.tools import board_param
from tinygen.build.execute import execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.ir.graph import Graph, Op, Port
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify import reference
from tinygen.verify.samples import random_samples

_TARGETS = ["host", board_param("mps2-an386"), board_param("mps3-an547")]
_CASES = ["chains", "float constants", "instance normalization", "layer normalization", "resize to odd sizes"]
_DRAWN: tuple[tuple[Callable[[np.random.Generator], Op], int], ...] = (
    (random_standardize, 24),
    (random_interpolation, 12),
    (random_function, 8),
)


def _alone(op: Op) -> Graph:
    ports = [tuple(Port(t.name, t, t.type) for t in tensors) for tensors in (op.variable_operands, op.results)]
    return Graph("one", ports[0], ports[1], (op,))


def _check(compiled: Compiled, folder: Path) -> None:
    """Of three samples over the whole range and one of a single value; on the host with sanitizers."""
    folder.mkdir()
    sanitizers = [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if compiled.options.target == "host" else []
    image = compiled.build(folder, Measure.INSTRUCTIONS, sanitizers)
    drawn = random_samples(compiled.imported.inputs, 3, seed=16)
    samples = [*drawn, [np.full_like(values, values.reshape(-1)[0]) for values in drawn[0]]]
    found = execute(image, compiled.schedule, samples).outputs
    for sample, outputs in zip(samples, found, strict=True):
        arrays = reference.evaluate(compiled.imported, sample)
        wanted = reference.outputs(compiled.imported, arrays)
        for port, output, expected in zip(compiled.imported.outputs, outputs, wanted, strict=True):
            assert np.array_equal(output, expected), port.name


@pytest.mark.parametrize("target", _TARGETS)
def test_16_random_operators_on_stored_integers_run(target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(len(target))
    drawn = [draw(rng) for draw, count in _DRAWN for _ in range(count)]
    graph = merged({f"{type(op).__name__}{number}": _alone(op) for number, op in enumerate(drawn)}, "operators")
    _check(compiled_graph(graph, target), tmp_path / "build")


@pytest.mark.parametrize("target", _TARGETS)
def test_16_quantized_operators_of_onnx_run(target: str, tmp_path: Path) -> None:
    """Cases that onnxruntime is compared with, as kernels of each core."""
    file = tmp_path / "model.onnx"
    file.write_bytes(combined(_CASES).finish())
    _check(compile_model(file, Options(target=target, kernels=Kernels.PORTABLE)), tmp_path / "build")
