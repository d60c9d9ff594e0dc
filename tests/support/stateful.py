"""Networks with a memory for tests: variables of every kind, and programs that call them in turn."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.litert import interpreter
from tests.support.tflite_writer import ModelWriter
from tinygen.build.execute import Sample, execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.codegen.project import ProjectKind
from tinygen.ir.types import Array
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.schedule.interpret import interpret_calls

_ROWS = (1, 2, 1, 4)


def variables_model(seed: int, kept_rows: int = 3) -> bytes:
    """x [1, 2, 1, 4] -> the largest of the last rows; a running sum, which is an output itself; the difference of two
    variables that are exchanged in every call; x plus a variable that never changes."""
    rng = np.random.default_rng(seed)
    model = ModelWriter()
    quant: dict[str, float | int] = {"scale": 0.5, "zero_point": -3}

    def tensor(name: str, shape: Sequence[int] = _ROWS) -> int:
        return model.tensor(name, shape, "int8", **quant)  # type: ignore[arg-type]

    def handle(name: str) -> int:
        index = model.tensor(f"handle of {name}", (), "resource")
        model.operator("VAR_HANDLE", [], [index], container="", shared_name=name)
        return index

    def numbers(name: str, *values: int) -> int:
        return model.tensor(name, (len(values),), "int32", data=np.array(values, np.int32))

    model.operator("CALL_ONCE", [], [], init_subgraph_index=1)
    handles = {name: handle(name) for name in ("rows", "sum", "one", "other", "fixed")}
    shapes = {name: (1, kept_rows, 1, 4) if name == "rows" else _ROWS for name in handles}
    x = tensor("x")
    read = {name: tensor(name, shapes[name]) for name in handles}
    for name, index in read.items():
        model.operator("READ_VARIABLE", [handles[name]], [index])
    window, last = tensor("window", (1, kept_rows + 2, 1, 4)), tensor("last", shapes["rows"])
    model.operator("CONCATENATION", [read["rows"], x], [window], axis=1)
    begin, end = numbers("begin", 0, -kept_rows, 0, 0), numbers("end", 0, 0, 0, 0)
    sliced = [window, begin, end, numbers("strides", 1, 1, 1, 1)]
    model.operator("STRIDED_SLICE", sliced, [last], begin_mask=13, end_mask=15)
    largest, total, difference, moved = tensor("largest", (1, 1, 1, 4)), tensor("total"), tensor("d"), tensor("moved")
    height = kept_rows + 2
    model.operator(
        "MAX_POOL_2D", [window], [largest], padding=1, stride_h=1, stride_w=1, filter_height=height, filter_width=1
    )
    model.operator("ADD", [read["sum"], x], [total])
    model.operator("SUB", [read["one"], read["other"]], [difference])
    model.operator("ADD", [x, read["fixed"]], [moved])
    for name, value in {"rows": last, "sum": total, "one": read["other"], "other": read["one"]}.items():
        model.operator("ASSIGN_VARIABLE", [handles[name], value], [])
    model.next_subgraph([x], [largest, total, difference, moved])
    for name, shape in shapes.items():
        start = rng.integers(-60, 60, shape).astype(np.int8)
        constant = model.tensor(f"start of {name}", shape, "int8", data=start, **quant)  # type: ignore[arg-type]
        model.operator("ASSIGN_VARIABLE", [handle(name), constant], [])
    return model.finish([], [])


def rings_model(seed: int) -> bytes:
    """x [1, rows, 1, channels] -> depthwise convolutions of any taps, dilation and stride, each along a variable of
    older rows and x behind them."""
    rng = np.random.default_rng(seed)
    rows, channels = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    model = ModelWriter()
    x = model.tensor("x", (1, rows, 1, channels), "int8", scale=0.5, zero_point=-7)
    starts, outputs = {}, []
    model.operator("CALL_ONCE", [], [], init_subgraph_index=1)
    for name in "abcd":
        taps, dilation, stride = int(rng.integers(2, 18)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
        kept = (taps - 1) * dilation + int(rng.integers(0, 3)) + rows
        starts[name] = rng.integers(-128, 128, (1, kept, 1, channels)).astype(np.int8)
        outputs.append(_convolved(model, name, x, starts[name], taps, dilation, stride, rng))
    model.next_subgraph([x], outputs)
    for name, start in starts.items():
        handle = model.tensor(f"handle of {name}", (), "resource")
        constant = model.tensor(f"start of {name}", start.shape, "int8", data=start, scale=0.5, zero_point=-7)
        model.operator("VAR_HANDLE", [], [handle], container="", shared_name=name)
        model.operator("ASSIGN_VARIABLE", [handle, constant], [])
    return model.finish([], [])


def _convolved(
    model: ModelWriter, name: str, x: int, start: Array, taps: int, dilation: int, stride: int, rng: np.random.Generator
) -> int:
    """A convolution along a variable and x, the last of whose rows become the variable."""
    (_, kept, _, channels), rows = start.shape, model.shape(x)[1]
    handle = model.tensor(f"handle of {name}", (), "resource")
    old = model.tensor(f"old {name}", start.shape, "int8", scale=0.5, zero_point=-7)
    model.operator("VAR_HANDLE", [], [handle], container="", shared_name=name)
    model.operator("READ_VARIABLE", [handle], [old])
    window = model.tensor(f"window {name}", (1, kept + rows, 1, channels), "int8", scale=0.5, zero_point=-7)
    model.operator("CONCATENATION", [old, x], [window], axis=1)
    data = rng.integers(-127, 128, (1, taps, 1, channels)).astype(np.int8)
    weights = model.tensor(f"weights {name}", data.shape, "int8", data=data, scale=0.01)
    bias = rng.integers(-3000, 3000, channels).astype(np.int32)
    biases = model.tensor(f"bias {name}", bias.shape, "int32", data=bias, scale=0.005)
    height = (kept + rows - (taps - 1) * dilation - 1) // stride + 1
    scale, zero_point = float(rng.uniform(0.2, 2)), int(rng.integers(-128, 100))
    y = model.tensor(f"y {name}", (1, height, 1, channels), "int8", scale=scale, zero_point=zero_point)
    model.operator(
        "DEPTHWISE_CONV_2D",
        [window, weights, biases],
        [y],
        padding=1,
        stride_h=stride,
        stride_w=stride,
        dilation_h_factor=dilation,
        dilation_w_factor=1,
        depth_multiplier=1,
        fused_activation_function=int(rng.integers(0, 2)),
    )
    last = model.tensor(f"last {name}", start.shape, "int8", scale=0.5, zero_point=-7)
    begin = model.tensor(f"begin {name}", (4,), "int32", data=np.array([0, rows, 0, 0], np.int32))
    size = model.tensor(f"size {name}", (4,), "int32", data=np.array(start.shape, np.int32))
    model.operator("SLICE", [window, begin, size], [last])
    model.operator("ASSIGN_VARIABLE", [handle, last], [])
    return y


def compiled_model(
    folder: Path, model: bytes, target: str = "host", kernels: Kernels = Kernels.AUTO, **others: Any
) -> Compiled:
    """A TFLite model, compiled from a file in the folder."""
    file = folder / "stateful.tflite"
    file.write_bytes(model)
    return compile_model(file, Options(target=target, kernels=kernels, **others))


def random_calls(compiled: Compiled, seed: int, count: int) -> Array:
    """Values for input 0 of so many calls, of all that int8 has."""
    (tensor,) = compiled.graph.input_tensors
    return np.random.default_rng(seed).integers(-128, 128, (count, *tensor.shape)).astype(np.int8)


def assert_calls(
    compiled: Compiled,
    calls: Sequence[Sample],
    expected: Sequence[Sequence[Array]],
    folder: Path,
    sanitizers: tuple[Sanitizer, ...] = (Sanitizer.ADDRESS, Sanitizer.UNDEFINED),
) -> None:
    """Fails unless all outputs of consecutive calls are those that are expected, in C (here with sanitizers) and as the
    planner's interpreter has them."""
    image = compiled.build(folder, Measure.INSTRUCTIONS, sanitizers if compiled.board.is_host else ())
    for run in (execute(image, compiled.schedule, calls).outputs, interpret_calls(compiled.schedule, calls)):
        for index, (actual, wanted) in enumerate(zip(run, expected, strict=True)):
            for port, one, other in zip(compiled.graph.outputs, actual, wanted, strict=True):
                np.testing.assert_array_equal(one, other, f"call {index}, {port.name}")


def litert_calls(model: bytes, calls: Array) -> list[list[Array]]:
    """The outputs of LiteRT's reference kernels, call by call."""
    loaded = interpreter(model)
    (port,) = loaded.get_input_details()
    found = []
    for x in calls:
        loaded.set_tensor(port["index"], x)
        loaded.invoke()
        found.append([loaded.get_tensor(detail["index"]) for detail in loaded.get_output_details()])
    return found


def run_two_instances(compiled: Compiled, calls: Array, expected: Array, folder: Path) -> None:
    """Fails unless two contexts, one some calls behind, a reset in between, and the one-shot function all give
    `expected`, the bytes of output 0, for the bytes of `calls`, which are those of input 0."""
    arrays = "\n".join(_bytes_array(name, array) for name, array in (("calls", calls), ("expected", expected)))
    text = arrays + _TWO_INSTANCES.replace("NAME", compiled.name).replace("UPPER", compiled.name.upper())
    run_with_model(compiled, {"two.c": text.replace("COUNT", str(len(calls)))}, folder)


def run_with_model(compiled: Compiled, files: Mapping[str, str], folder: Path) -> None:
    """Fails unless a program of the model's own sources and `files`, with sanitizers, ends with 0 and says nothing."""
    own = {name for name in compiled.folder_files(ProjectKind.MAKE) if name.endswith((".c", ".h"))}
    for name, text in {**compiled.folder_files(ProjectKind.MAKE), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    names = sorted({*own, *files})
    include = sorted({folder, *((folder / name).parent for name in names if name.endswith(".h"))})
    sources = [str(folder / name) for name in names if name.endswith(".c") and not name.startswith("example")]
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-fsanitize=address,undefined"]
    command = ["cc", *flags, *(f"-I{path}" for path in include), *sources, "-lm", "-o", str(folder / "program")]
    subprocess.run(command, check=True)
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _bytes_array(name: str, values: Array) -> str:
    rows = np.ascontiguousarray(values).reshape(len(values), -1).view(np.int8)
    text = ",\n".join("{" + ", ".join(map(str, row)) + "}" for row in rows.tolist())
    return f"static const signed char {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{text}\n}};\n"


_TWO_INSTANCES = """
#include "NAME.h"

#include <string.h>

static _Alignas(UPPER_ARENA_ALIGN) int8_t first[UPPER_ARENA_BYTES];
static _Alignas(UPPER_ARENA_ALIGN) int8_t second[UPPER_ARENA_BYTES];
static NAME_context contexts[2];

static int is_right(int which, int index)
{
    memcpy(NAME_input(&contexts[which], 0), calls[index], sizeof calls[0]);
    return NAME_invoke(&contexts[which]) == 0
           && memcmp(NAME_output(&contexts[which], 0), expected[index], sizeof expected[0]) == 0;
}

int main(void)
{
    memset(first, 0x55, sizeof first);
    memset(second, 0x55, sizeof second);
    if (NAME_init(&contexts[0], first) != 0 || NAME_init(&contexts[1], second) != 0) {
        return 1;
    }
    for (int i = 0; i < COUNT; ++i) {
        if (!is_right(0, i)) {
            return 2;
        }
    }
    NAME_reset(&contexts[0]);
    for (int i = 0; i < COUNT; ++i) {
        if (!is_right(0, i) || (i >= 7 && !is_right(1, i - 7))) {
            return 3;
        }
    }
    return 0;
}
"""
