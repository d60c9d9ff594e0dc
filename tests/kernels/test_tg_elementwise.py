"""Elementwise operators in C: random networks against LiteRT, with sanitizers and without warnings."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.ops.test_binary import add_operator, add_prelu
from tests.ops.test_quantize import SCALES, ZERO_POINTS, int8_type, real_values
from tests.support.litert import needs_litert, run_reference
from tests.support.operator_models import OperatorModel, random_int8
from tests.support.symbols import KernelLibrary
from tests.support.tools import requires_cmsis
from tinygen.build.execute import execute
from tinygen.build.kernel_sources import VERSION
from tinygen.build.toolchain import WARNINGS, Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.ops.quantize import dequantize, flip_sign_bit, quantize
from tinygen.options import Kernels, Options
from tinygen.paths import RUNTIME_C
from tinygen.pipeline import compile_model
from tinygen.planner.schedule.schedule import Call
from tinygen.system.work import work_folder

OPERATORS = RUNTIME_C / "operators"
HEADERS = ("tg_elementwise.h", "tg_quantize.h", "tg_broadcast_rows.h")
BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
COPIES = 12  # of each operator, in one model
SAMPLES = 5
SANITIZERS = {
    Kernels.PORTABLE: (Sanitizer.ADDRESS, Sanitizer.UNDEFINED),
    Kernels.CMSIS_NN: (Sanitizer.ADDRESS,),  # CMSIS-NN shifts negative numbers to the left
}


def sources() -> list[Path]:
    """The C files of the family."""
    return [
        file
        for file in sorted(OPERATORS.glob("*.c"))
        if any(f'#include "{header}"' in file.read_text() for header in HEADERS)
    ]


def all_operators() -> OperatorModel:
    """One model with many operators of each kind, every one with inputs and an output of its own."""
    model = OperatorModel(np.random.default_rng(7))
    for name in BINARY:
        for _ in range(COPIES):
            add_operator(name, model)
    for alpha_shape in ((5,), (3, 4, 5), (1, 4, 1), (1,)):
        add_prelu(alpha_shape, model)
    return model


@needs_litert
@pytest.mark.slow
@pytest.mark.parametrize("kernels", [Kernels.PORTABLE, pytest.param(Kernels.CMSIS_NN, marks=requires_cmsis)])
def test_networks_against_litert(kernels: Kernels, tmp_path: Path) -> None:
    model = all_operators()
    file = tmp_path / "elementwise.tflite"
    file.write_bytes(model.finish())
    samples = [model.values, *([random_int8(model.rng, v.shape) for v in model.values] for _ in range(SAMPLES - 1))]
    compiled = compile_model(file, Options(kernels=kernels, target="host"))
    functions = {step.kernel.function for step in compiled.schedule.steps if isinstance(step, Call)}
    assert {"tg_add_s8", "tg_sub_s8", "tg_mul_s8", "tg_maximum_s8", "tg_minimum_s8", "tg_prelu_s8"} < functions
    assert {"tg_squared_difference_s8", "tg_lookup_s8", "arm_maximum_s8", "arm_elementwise_mul_s8"} < functions
    with work_folder() as folder:
        image = compiled.build(folder, Measure.INSTRUCTIONS, SANITIZERS[kernels])
        outputs = execute(image, compiled.schedule, samples).outputs
    for sample, actual in zip(samples, outputs, strict=True):
        expected = run_reference(file, sample).outputs
        for index, (a, e) in enumerate(zip(actual, expected, strict=True)):
            np.testing.assert_array_equal(a, e, f"output {index}")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The family's C functions on the host, trapping undefined behaviour."""
    file = tmp_path_factory.mktemp("operators") / "operators.so"
    flags = ("-std=c11", "-O1", *WARNINGS, "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
    command = ["gcc", *flags, "-shared", "-fPIC", f"-I{VERSION}", *map(str, sources()), "-o", str(file)]
    subprocess.run(command, check=True)
    return KernelLibrary(str(file))


@pytest.mark.parametrize("scale", SCALES)
def test_quantize_equals_its_reference(scale: float, library: ctypes.CDLL) -> None:
    """The reference is held against LiteRT elsewhere."""
    beyond = np.array([np.nan, -np.nan, np.inf, -np.inf, 3e38, -3e38, 1024 * scale, -1024 * scale], np.float32)
    values = np.concatenate([real_values(scale), beyond])
    for zero_point in ZERO_POINTS:
        stored_type = int8_type(scale, zero_point, values.size)
        actual = np.empty(values.size, np.int8)
        library.tg_quantize_f32_s8(
            ctypes.c_void_p(values.ctypes.data),
            ctypes.c_void_p(actual.ctypes.data),
            values.size,
            ctypes.c_float(scale),
            zero_point,
        )
        np.testing.assert_array_equal(actual, quantize(values, stored_type))


@pytest.mark.parametrize("scale", SCALES)
def test_dequantize_equals_its_reference(scale: float, library: ctypes.CDLL) -> None:
    values = np.arange(-128, 128).astype(np.int8)
    for zero_point in ZERO_POINTS:
        actual = np.empty(256, np.float32)
        library.tg_dequantize_s8_f32(
            ctypes.c_void_p(values.ctypes.data),
            ctypes.c_void_p(actual.ctypes.data),
            256,
            ctypes.c_float(scale),
            zero_point,
        )
        np.testing.assert_array_equal(actual, dequantize(values, int8_type(scale, zero_point, 256)))


def test_uint8_equals_its_reference(library: ctypes.CDLL) -> None:
    stored = np.arange(256, dtype=np.uint8)
    signed, back = np.empty(256, np.int8), np.empty(256, np.uint8)
    library.tg_quantize_u8_s8(ctypes.c_void_p(stored.ctypes.data), ctypes.c_void_p(signed.ctypes.data), 256)
    np.testing.assert_array_equal(signed, flip_sign_bit(stored))
    library.tg_dequantize_s8_u8(ctypes.c_void_p(signed.ctypes.data), ctypes.c_void_p(back.ctypes.data), 256)
    np.testing.assert_array_equal(back, stored)


@pytest.mark.parametrize(
    "compiler",
    [
        ("gcc",),
        ("clang",),
        ("arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"),
        ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    ],
    ids=("gcc", "clang", "cortex-m0", "cortex-m4"),
)
@pytest.mark.parametrize("opt", ["-Os", "-O3"])
def test_no_warnings(compiler: tuple[str, ...], opt: str, tmp_path: Path) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not installed: its warnings were not looked at")
    command = [*compiler, "-std=c11", "-ffreestanding", opt, *WARNINGS, f"-I{VERSION}", "-c", *map(str, sources())]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
