"""Random operators side by side in one program: generated, compiled and run, against their numpy references."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.operator_models import BUILDERS, side_by_side
from tests.support.reference import evaluate
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.pipeline import Kernels, Options, compile_model

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
TARGETS = [
    pytest.param("host", Kernels.PORTABLE, True, id="host-portable-sanitized"),
    pytest.param("host", Kernels.CMSIS_NN, False, id="host-cmsis", marks=[requires_cmsis, pytest.mark.cmsis]),
    pytest.param("mps2-an385", Kernels.PORTABLE, False, id="m3-portable", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param(
        "mps2-an386",
        Kernels.CMSIS_NN,
        False,
        id="m4-cmsis",
        marks=[requires_qemu, requires_cmsis, pytest.mark.qemu, pytest.mark.cmsis],
    ),
    pytest.param(
        "mps3-an547",
        Kernels.CMSIS_NN,
        False,
        id="m55-cmsis",
        marks=[requires_qemu, requires_cmsis, pytest.mark.qemu, pytest.mark.cmsis],
    ),
]


@pytest.mark.parametrize(("target", "kernels", "sanitized"), TARGETS)
def test_operators_run(target: str, kernels: Kernels, sanitized: bool, tmp_path: Path) -> None:
    """CMSIS-NN itself shifts negative numbers to the left: no sanitizers there."""
    model = side_by_side([*BUILDERS, *BUILDERS, *OFTEN, *OFTEN, *OFTEN], seed=len(target) + 1)
    source = tmp_path / "operators.tflite"
    source.write_bytes(model.finish())
    compiled = compile_model(source, Options(target=target, kernels=kernels))
    called = {name for name in OWN_FUNCTIONS if f"{name}(" in compiled.files["operators.c"]}
    assert called == (OWN_FUNCTIONS if kernels is Kernels.CMSIS_NN else OWN_FUNCTIONS - {"tg_transpose_conv_s8"})
    folder = tmp_path / "build"
    folder.mkdir()
    image = compiled.build(folder, Measure.INSTRUCTIONS, [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if sanitized else [])
    (outputs,) = execute(image, compiled.schedule, [model.values]).outputs
    for op, output, expected in zip(
        compiled.imported.ops, outputs, evaluate(compiled.imported, model.values), strict=True
    ):
        assert np.array_equal(output, expected), f"{op.source}: {[tensor.shape for tensor in op.operands]}"
