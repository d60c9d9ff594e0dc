"""Random operators side by side in one program: generated, compiled and run, against their numpy references."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.support.batches import stacked
from tests.support.operator_models import BUILDERS, side_by_side
from tests.support.reference import evaluate
from tests.support.tools import board_param, requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.ops.quantize import flip_sign_bit
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model

OWN_FUNCTIONS = {
    "tg_arg_max_s8",
    "tg_arg_max_s8_s64",
    "tg_batch_matmul_s8",
    "tg_reduce_extreme_s8",
    "tg_resize_bilinear_s8",
    "tg_resize_nearest_s8",
    "tg_sum_s8",
    "tg_transpose_conv_s8",
}
OFTEN = [
    "ARG_MAX",
    "BATCH_MATMUL",
    "BATCH_MATMUL",
    "TRANSPOSE_CONV",
    "TRANSPOSE_CONV",
    "TRANSPOSE_CONV",
]  # these take many forms
UNSIGNED = ["AVERAGE_POOL_2D", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAX_POOL_2D"]
TARGETS = [
    pytest.param("host", Kernels.PORTABLE, True, id="host-portable-sanitized"),
    pytest.param("host", Kernels.CMSIS_NN, False, id="host-cmsis", marks=requires_cmsis),
    pytest.param("mps2-an385", Kernels.PORTABLE, False, id="m3-portable", marks=[requires_qemu, pytest.mark.qemu]),
    board_param("qemu-rv32", Kernels.PORTABLE, False, id="rv32-portable"),
    pytest.param(
        "mps2-an386",
        Kernels.CMSIS_NN,
        False,
        id="m4-cmsis",
        marks=[requires_qemu, requires_cmsis, pytest.mark.qemu],
    ),
    pytest.param(
        "mps3-an547",
        Kernels.CMSIS_NN,
        False,
        id="m55-cmsis",
        marks=[requires_qemu, requires_cmsis, pytest.mark.qemu],
    ),
]


@pytest.mark.parametrize(("target", "kernels", "sanitized"), TARGETS)
def test_operators_run(target: str, kernels: Kernels, sanitized: bool, tmp_path: Path) -> None:
    """CMSIS-NN itself shifts negative numbers to the left: no sanitizers there."""
    model = side_by_side([*BUILDERS, *BUILDERS, *OFTEN, *OFTEN, *OFTEN], seed=len(target) + 1)
    source = tmp_path / "operators.tflite"
    source.write_bytes(model.finish())
    with stacked():
        compiled = compile_model(source, Options(target=target, kernels=kernels))
    called = {name for name in OWN_FUNCTIONS if f"{name}(" in compiled.files["operators.c"]}
    assert called == (OWN_FUNCTIONS if kernels is Kernels.CMSIS_NN else OWN_FUNCTIONS - {"tg_transpose_conv_s8"})
    for op, output, expected in _run(
        compiled, model.values, evaluate(compiled.imported, model.values), tmp_path, sanitized
    ):
        assert np.array_equal(output, expected), f"{op.source}: {[tensor.shape for tensor in op.operands]}"


@pytest.mark.parametrize(("target", "kernels", "sanitized"), TARGETS)
def test_uint8_runs(target: str, kernels: Kernels, sanitized: bool, tmp_path: Path) -> None:
    model = side_by_side(UNSIGNED * 3, seed=len(target), unsigned=True)
    source = tmp_path / "octets.tflite"
    source.write_bytes(model.finish())
    with stacked():
        compiled = compile_model(source, Options(target=target, kernels=kernels))
    for function in ("tg_average_pool_up_s8", "tg_convolve_asymmetric_s8"):
        assert f"{function}(" in compiled.files["octets.c"]
    expected = evaluate(compiled.imported, [flip_sign_bit(values) for values in model.values])
    stored = [flip_sign_bit(values) for values in expected]
    for op, output, wanted in _run(compiled, model.values, stored, tmp_path, sanitized):
        assert np.array_equal(output, wanted), f"{op.source}: {[tensor.shape for tensor in op.operands]}"


def _run(
    compiled: Compiled, inputs: list[Array], expected: list[Array], tmp_path: Path, sanitized: bool
) -> Iterable[tuple[Op, Array, Array]]:
    """Each operator with its output and what that must be."""
    folder = tmp_path / "build"
    folder.mkdir()
    image = compiled.build(folder, Measure.INSTRUCTIONS, [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if sanitized else [])
    (outputs,) = execute(image, compiled.schedule, [inputs]).outputs
    return zip(compiled.imported.ops, outputs, expected, strict=True)
