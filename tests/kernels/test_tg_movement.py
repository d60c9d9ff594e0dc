"""Generated C that moves elements, on the host and on emulated cores, against LiteRT."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.support.kernel_calls import build_library
from tests.support.litert import needs_litert, run_reference
from tests.support.movement_models import OPERATORS, MovementModel, random_model
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_arm_gcc, requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.build.kernel_sources import VERSION, operators
from tinygen.build.toolchain import WARNINGS, Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.errors import TinygenError
from tinygen.kernels.tinygen_c.transpose_in_place import passes
from tinygen.options import Kernels, Options
from tinygen.paths import RUNTIME_C
from tinygen.pipeline import compile_model

SANITIZERS = (Sanitizer.ADDRESS, Sanitizer.UNDEFINED)
MATRICES = (((7, 9), (1, 0)), ((2, 5, 11), (0, 2, 1)), ((3, 2, 4, 9), (0, 1, 3, 2)), ((2, 3, 4), (2, 0, 1)))


def _model(each: int) -> MovementModel:
    """Random operators of every kind, and transposes that CMSIS-NN does faster."""
    model = random_model(list(OPERATORS), seed=11, each=each)
    for shape, permutation in MATRICES:
        x, y = model.input(shape, "int8"), model.output([shape[axis] for axis in permutation], "int8")
        model.writer.operator("TRANSPOSE", [x, model.constant(permutation)], [y])
    return model


@needs_litert
@pytest.mark.parametrize(
    ("target", "kernels"),
    [
        ("host", Kernels.PORTABLE),
        pytest.param("host", Kernels.CMSIS_NN, marks=requires_cmsis),
        pytest.param("mps2-an386", Kernels.PORTABLE, marks=requires_qemu),
        pytest.param("mps2-an386", Kernels.CMSIS_NN, marks=[requires_qemu, requires_cmsis]),
        pytest.param("mps3-an547", Kernels.CMSIS_NN, marks=[requires_qemu, requires_cmsis]),
    ],
    ids=lambda value: value.value if isinstance(value, Kernels) else value,
)
def test_generated_code_moves_what_litert_moves(target: str, kernels: Kernels, tmp_path: Path) -> None:
    model = _model(each=4)
    path = tmp_path / "moves.tflite"
    path.write_bytes(model.finish())
    compiled = compile_model(path, Options(target=target, kernels=kernels))
    sanitizers = SANITIZERS if target == "host" else ()
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS, sanitizers)
    (outputs,) = execute(image, compiled.schedule, [model.values]).outputs
    for output, want in zip(outputs, run_reference(path, model.values).outputs, strict=True):
        np.testing.assert_array_equal(output, want)
    functions = {call.kernel.function for call in compiled.schedule.calls}
    assert functions >= {"arm_concatenation_s8_x", "arm_pad_s8", "tg_gather", "tg_strided_copy"}


@needs_litert
def test_outputs_that_are_inputs_constants_or_each_other_are_right(tmp_path: Path) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (2, 6), scale=0.1)
    constant = writer.tensor("constant", (3,), scale=0.1, data=[1, -2, 3])
    flat, flat_again = writer.tensor("flat", (12,), scale=0.1), writer.tensor("flat_again", (3, 4), scale=0.1)
    twice = writer.tensor("twice", (2, 40_000), scale=0.1)
    long = writer.tensor("long", (1, 40_000), scale=0.1)
    writer.operator("RESHAPE", [x, writer.tensor("s", (1,), "int32", data=[12])], [flat], new_shape=[12])
    writer.operator("RESHAPE", [flat, writer.tensor("t", (2,), "int32", data=[3, 4])], [flat_again], new_shape=[3, 4])
    writer.operator("CONCATENATION", [long, long], [twice], axis=0)
    path = tmp_path / "outputs.tflite"
    path.write_bytes(writer.finish([x, long], [x, constant, flat, flat_again, twice]))
    values = [np.arange(12, dtype=np.int8).reshape(2, 6), (np.arange(40_000) % 251 - 128).astype(np.int8)[None]]
    compiled = compile_model(path, Options(kernels=Kernels.PORTABLE, target="host"))
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS, SANITIZERS)
    (outputs,) = execute(image, compiled.schedule, [values]).outputs
    for output, want in zip(outputs, run_reference(path, values).outputs, strict=True):
        np.testing.assert_array_equal(output, want)


def test_an_index_out_of_range_is_reported_as_the_operator_that_failed(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y = writer.tensor("x", (4, 3), scale=0.1), writer.tensor("y", (2, 3), scale=0.1)
    indices = writer.tensor("indices", (2,), "int32")
    writer.operator("GATHER", [x, indices], [y], axis=0)
    path = tmp_path / "gather.tflite"
    path.write_bytes(writer.finish([x, indices], [y]))
    compiled = compile_model(path, Options(kernels=Kernels.PORTABLE, target="host"))
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS, SANITIZERS)
    rows = np.arange(12, dtype=np.int8).reshape(4, 3)
    (outputs,) = execute(image, compiled.schedule, [[rows, np.array([3, 0], np.int32)]]).outputs
    np.testing.assert_array_equal(outputs[0], rows[[3, 0]])
    for wrong in (-1, 4):
        with pytest.raises(TinygenError, match=r"operator 0 \(GATHER 'y'\) returned an error"):
            execute(image, compiled.schedule, [[rows, np.array([0, wrong], np.int32)]])


@pytest.mark.parametrize(
    "compiler",
    [
        ("gcc",),
        ("clang",),
        ("arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"),
        ("arm-none-eabi-gcc", "-mcpu=cortex-m55"),
    ],
    ids=("gcc", "clang", "cortex-m0", "cortex-m55"),
)
def test_no_compiler_warns(compiler: tuple[str, ...], tmp_path: Path) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not installed: its warnings were not looked at")
    path = tmp_path / "moves.tflite"
    path.write_bytes(_model(each=2).finish())
    compiled = compile_model(path, Options(kernels=Kernels.PORTABLE, target="host"))
    for name, text in compiled.files.items():
        (tmp_path / name).write_text(text)
    operators = RUNTIME_C / "operators"
    sources = [
        operators / "tg_strided_copy.c",
        operators / "tg_gather.c",
        operators / "tg_transpose_in_place.c",
        tmp_path / "moves.c",
    ]
    includes = [f"-I{folder}" for tree in compiled.trees for folder in tree.include]
    command = [*compiler, "-std=c11", "-O2", "-ffreestanding", *WARNINGS, *includes, "-S", *map(str, sources)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@requires_arm_gcc
@pytest.mark.parametrize(
    ("name", "most"), [("tg_strided_copy", 184), ("tg_gather", 116), ("tg_transpose_in_place", 432)]
)
def test_the_functions_are_small(name: str, most: int, tmp_path: Path) -> None:
    """.text at -Os on Cortex-M4; 180, 114 and 428 bytes with arm-none-eabi-gcc 12.2.1."""
    source, built = RUNTIME_C / "operators" / f"{name}.c", tmp_path / "built.o"
    options = ["-mcpu=cortex-m4", "-mthumb", "-std=c11", "-Os", f"-I{VERSION}"]
    subprocess.run(["arm-none-eabi-gcc", *options, "-c", str(source), "-o", str(built)], check=True)
    sizes = subprocess.run(["arm-none-eabi-size", str(built)], check=True, capture_output=True, text=True).stdout
    assert int(sizes.splitlines()[1].split()[0]) <= most


def test_moving_up_over_itself(tmp_path: Path) -> None:
    """Any length, distance and alignment: what memmove does, and no byte beside it."""
    move_up = build_library([operators()], ["tg_move_up"], tmp_path).tg_move_up
    move_up.restype = None
    rng = np.random.default_rng(0)
    for size in (*range(40), 63, 64, 65, 200):
        for distance in (*range(1, 20), 33, 100):
            memory = rng.integers(0, 256, 400, np.uint8)
            first = int(rng.integers(0, 16))
            expected = memory.copy()
            expected[first + distance : first + distance + size] = memory[first : first + size]
            address = memory.ctypes.data + first
            move_up(ctypes.c_void_p(address + distance), ctypes.c_void_p(address), ctypes.c_int32(size))
            np.testing.assert_array_equal(memory, expected, err_msg=f"{size} bytes by {distance}")


class _MatricesC(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("count", "rows", "columns", "element_bytes")]


def test_transposing_in_place_is_what_numpy_does(tmp_path: Path) -> None:
    """Elements of all sizes, any order of axes: numpy's transpose, and no byte beside it."""
    transpose = build_library([operators()], ["tg_transpose_in_place"], tmp_path).tg_transpose_in_place
    transpose.restype = None
    rng = np.random.default_rng(3)
    shapes = [tuple(int(size) for size in rng.integers(1, 14, rng.integers(2, 6))) for _ in range(60)]
    for shape in [*shapes, (1, 3, 37, 41), (1, 67, 1, 71), (2, 100), (1, 64, 8, 16), (130, 3)]:
        for dtype in (np.int8, np.int16, np.float32):
            permutation = tuple(int(axis) for axis in rng.permutation(len(shape)))
            values = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]
            memory = np.concatenate(
                [np.full(9, 7, np.uint8), values.view(np.uint8).reshape(-1), np.full(9, 7, np.uint8)]
            )
            for each in passes(shape, permutation, values.itemsize):
                matrices = _MatricesC(each.count, each.rows, each.columns, each.element_bytes)
                transpose(ctypes.byref(matrices), ctypes.c_void_p(memory.ctypes.data + 9))
            expected = np.ascontiguousarray(values.transpose(permutation)).view(np.uint8).reshape(-1)
            np.testing.assert_array_equal(memory[9:-9], expected, err_msg=f"{shape} {permutation} {dtype}")
            assert set(memory[:9]) | set(memory[-9:]) == {7}


def test_images_are_transposed_in_two_passes_of_small_matrices() -> None:
    """A search for cycles among few elements each, not among those of the image."""
    to_pixels, to_planes = (passes((1, 3, 96, 96), order, 1) for order in ((0, 2, 3, 1), (0, 2, 1, 3)))
    assert [(each.rows * each.columns, each.count * each.element_bytes) for each in to_pixels] == [(288, 96), (288, 96)]
    assert [(each.rows * each.columns, each.count * each.element_bytes) for each in to_planes] == [(288, 96)]
