"""Palettes and sparse weights compile: equal to what ONNX says of the file, and narrow in flash and RAM."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.support.listed_network import MODES, listed
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.tools import requires_qemu
from tests.support.weight_network import check_runs_on_int8, compiled_by_table, image
from tinygen.codegen.harness import Measure
from tinygen.frontends import import_model
from tinygen.ir.types import Array, DType
from tinygen.ops.batch import infer
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model

pytestmark = pytest.mark.filterwarnings("ignore:TG-W301")  # depthwise filters have no groups of input channels
ON_BOARDS = ("palette3", "pruned-palette3-groups", "pruned-uint4-block")


def _compiled(file: Path, target: str) -> Compiled:
    return compile_model(file, Options(target=target, allow_float=True))


def _close(found: Array, expected: Array) -> bool:
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()
    return bool(difference <= 1e-5 * np.abs(expected.astype(np.float64)).max())


@pytest.mark.parametrize("mode", MODES)
def test_compiled_models_compute_what_onnx_says(mode: str, tmp_path: Path) -> None:
    file = listed(mode, tmp_path)
    expected = np.asarray(ReferenceEvaluator(onnx.load(file)).run(None, {"image": image()})[0])  # type: ignore[index]
    compiled = _compiled(file, "host")
    weights = [op.filters.weights for op in compiled.graph.ops if op.filters is not None]
    assert sum(each.coding is not None and not each.coding.is_blockwise for each in weights) >= 4
    ((found,),) = compiled.execute([[image()]]).outputs
    assert _close(found, expected)


@needs_onnxruntime
@pytest.mark.parametrize("mode", MODES)
def test_onnxruntime_runs_them_too(mode: str, tmp_path: Path) -> None:
    file = listed(mode, tmp_path)
    (expected,) = run_onnxruntime(file, [image()])
    assert _close(infer(import_model(file), [image()])[0], expected)


@pytest.mark.parametrize("mode", MODES)
def test_c_on_int8_is_the_simulator_to_the_bit(mode: str, tmp_path: Path) -> None:
    compiled = compiled_by_table(listed(mode, tmp_path), "host")
    narrow = 0
    for op in compiled.graph.ops:
        weights = None if op.filters is None else op.filters.weights
        if weights is None or weights.coding is None:
            continue
        assert weights.type.dtype is DType.INT8
        np.testing.assert_array_equal(weights.data, weights.coding.decoded)
        narrow += 1
    assert narrow >= 3 if mode != "palette8" else not narrow  # whose codes and table are no less than int8
    check_runs_on_int8(compiled)


@requires_qemu
@pytest.mark.qemu
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("mode", ON_BOARDS)
def test_boards_compute_the_same(mode: str, target: str, tmp_path: Path) -> None:
    file = listed(mode, tmp_path)
    check_runs_on_int8(compiled_by_table(file, target))
    compiled = _compiled(file, target)
    ((found,),) = compiled.execute([[image()]]).outputs
    assert _close(found, infer(compiled.graph, [image()])[0])


@requires_qemu
@pytest.mark.qemu
@pytest.mark.parametrize("has_table", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("mode", ["palette2-scales", "pruned-palette6", "pruned"])
def test_weights_are_narrow_in_flash_and_never_whole_in_ram(mode: str, has_table: bool, tmp_path: Path) -> None:
    """In the program stand lists and not what they stand for, and there is no room for more than a filter of that."""
    file = listed(mode, tmp_path)
    compiled = compiled_by_table(file, "mps2-an386") if has_table else _compiled(file, "mps2-an386")
    content = compiled.build(tmp_path, Measure.INSTRUCTIONS).elf.read_bytes()
    ops = [op for op in compiled.graph.ops if op.filters is not None and op.filters.weights.coding is not None]
    assert len(ops) >= 4
    stored = 0
    for op in ops:
        assert op.filters is not None
        weights = op.filters.weights
        assert weights.data is not None and weights.coding is not None
        assert np.ascontiguousarray(weights.data).tobytes()[:256] not in content
        stored += weights.coding.bytes
    lists = ("weights", "stored", "mask", "levels", "scales")
    calls = [call.kernel for call in compiled.schedule.calls if "listed" in call.kernel.function]
    tables = [table for kernel in calls for table in kernel.tables if table.name in lists]
    assert all(table.values.tobytes() in content for table in tables)
    assert sum(table.bytes for table in tables) <= stored + 4 * len(ops)
    largest = max(op.filters.weights.type.elements // op.results[0].shape[-1] for op in ops if op.filters is not None)
    assert max(kernel.scratch_bytes for kernel in calls) <= 4 * largest  # floats, or four of int8
