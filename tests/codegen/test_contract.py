"""What an application may rely on, tried by an application: instances, pointers, statuses."""

import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import DIGITS, DIGITS_DATA
from tests.support.models import model_file
from tests.support.reference import evaluate
from tests.support.tiny_models import fused_then_gather, lookup_then_gather
from tests.support.tools import requires_host_cc
from tinygen import passes
from tinygen.build.toolchain import WARNINGS
from tinygen.codegen.model import ModelText
from tinygen.codegen.project import ProjectKind
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.kernels.base import Library, Toolbox
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.planner.plan import PlanRequest, plan
from tinygen.targets import load

SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

TWO_MODELS = """
#include "one.h"
#include "two.h"
#include <stdio.h>
#include <string.h>

static _Alignas(ONE_ARENA_ALIGN) int8_t arena_a[ONE_ARENA_BYTES];
static _Alignas(ONE_ARENA_ALIGN) int8_t arena_b[ONE_ARENA_BYTES];
static _Alignas(TWO_ARENA_ALIGN) int8_t arena_c[TWO_ARENA_BYTES];

static void show(const int8_t *output)
{
    for (int i = 0; i < ONE_OUTPUT0_ELEMENTS; ++i) {
        printf("%d ", output[i]);
    }
    printf("\\n");
}

int main(int count, char **arguments)
{
    static int8_t images[3][ONE_INPUT0_BYTES];
    int8_t output[ONE_OUTPUT0_BYTES];
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    one_context a, b;
    two_context c;

    if (!file || one_init(&a, arena_a) != 0 || one_init(&b, arena_b) != 0 || two_init(&c, arena_c) != 0) {
        return 1;
    }
    while (fread(images, sizeof images, 1, file) == 1) {
        memcpy(one_input(&a, 0), images[0], sizeof images[0]);
        memcpy(one_input(&b, 0), images[1], sizeof images[1]);
        memcpy(two_input(&c, 0), images[2], sizeof images[2]);
        if (one_invoke(&b) != 0 || two_invoke(&c) != 0 || one_invoke(&a) != 0) {
            return 2;
        }
        if (one_run(images[2], output) != 0 || memcmp(output, two_output(&c, 0), sizeof output) != 0) {
            return 3;
        }
        if (two_run(images[0], output) != 0 || memcmp(output, one_output(&a, 0), sizeof output) != 0) {
            return 4;
        }
        show(one_output(&a, 0));
        show(one_output(&b, 0));
        show(two_output(&c, 0));
    }
    return fclose(file);
}
"""

REFUSALS = """
#include "net.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    static _Alignas(NET_ARENA_ALIGN) int8_t arena[NET_ARENA_BYTES + NET_ARENA_ALIGN];
    const int8_t values[4] = {-10, 20, -30, 40};
    const int32_t indices[][2] = {{3, 0}, {0, 4}, {-1, 2}, {2, INT32_MAX}, {2, 1}};
    int8_t output[2] = {77, 77};
    net_context context = {0};

    printf("%d ", net_init(&context, NULL));
    printf("%d ", context.arena == NULL);
    for (int i = 1; i < NET_ARENA_ALIGN; ++i) {
        printf("%d ", net_init(&context, arena + i));
    }
    printf("%d ", net_init(&context, arena));
    printf("%d\\n", context.arena == arena);
    for (int i = -1; i < 4; ++i) {
        printf("%d%d ", net_input(&context, i) != NULL, net_output(&context, i) != NULL);
    }
    for (int i = 0; i < 5; ++i) {
        int status;

        memcpy(net_input(&context, 0), values, sizeof values);
        memcpy(net_input(&context, 1), indices[i], sizeof indices[i]);
        status = net_invoke(&context);
        printf("\\n%d %d ", status, net_run(values, indices[i], output));
        printf("%d %d ", output[0], output[1]);
        printf("%d", status != 0 || memcmp(output, net_output(&context, 0), sizeof output) == 0);
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Model:
    """A model under a name."""

    file: Path
    name: str


def program(folder: Path, text: str, models: list[Model]) -> Path:
    """The application with the generated folders of all models, whose kernels are linked once."""
    sources: dict[str, str] = {}
    for model in models:
        options = Options(name=model.name, kernels=Kernels.PORTABLE, target="host")
        sources |= compile_model(model.file, options).folder_files(ProjectKind.MAKE)
    sources["main.c"] = text
    for file, content in sources.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content)
    include = sorted({f"-I{Path(file).parent}" for file in sources if file.endswith(".h")})
    c_files = [file for file in sources if file.endswith(".c")]
    command = ["cc", "-std=c11", *WARNINGS, *SANITIZED, *include, *c_files, "-lm", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


@requires_host_cc
def test_two_models_and_two_instances_side_by_side(tmp_path: Path) -> None:
    executable = program(tmp_path, TWO_MODELS, [Model(DIGITS, "one"), Model(DIGITS, "two")])
    images = np.load(DIGITS_DATA)["in0"][:30]
    (tmp_path / "images.bin").write_bytes(images.tobytes())
    shown = subprocess.run([executable, tmp_path / "images.bin"], capture_output=True, text=True, check=True).stdout
    graph = import_model(DIGITS)
    expected: list[Array] = [evaluate(graph, [image[np.newaxis]])[0] for image in images]
    assert shown.split("\n")[:-1] == [" ".join(map(str, output.reshape(-1))) + " " for output in expected]


@requires_host_cc
def test_what_is_refused(tmp_path: Path) -> None:
    """Memory that cannot serve, ports that are not there, and an operator that fails: the second one, GATHER."""
    (tmp_path / "net.tflite").write_bytes(lookup_then_gather())
    executable = program(tmp_path, REFUSALS, [Model(tmp_path / "net.tflite", "net")])
    shown = subprocess.run([executable], capture_output=True, text=True, check=True).stdout.split("\n")
    align = int(re.findall(r"#define NET_ARENA_ALIGN (\d+)", (tmp_path / "net.h").read_text())[0])
    assert align > 1
    assert shown[0] == f"-1 1 {'-1 ' * (align - 1)}0 1"
    assert shown[1] == "00 11 10 00 00 "
    assert shown[2:] == ["0 0 40 10 1", *["2 2 40 10 1"] * 3, "0 0 30 20 1"]


STATUSES = """
#include "net.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    static _Alignas(NET_ARENA_ALIGN) int8_t arena[NET_ARENA_BYTES];
    const int32_t indices[2] = {1, 4};
    net_context context;

    if (net_init(&context, arena) != 0) {
        return 1;
    }
    memcpy(net_input(&context, 1), indices, sizeof indices);
    printf("%d %d %d", NET_LOOKUP_3, NET_GATHER_4, net_invoke(&context));
    return 0;
}
"""


@requires_host_cc
def test_operators_have_their_numbers_in_the_file(tmp_path: Path) -> None:
    """Status, enumerator, symbol and comment agree; of ABS and TANH, which are one table, TANH's result is written."""
    (tmp_path / "net.tflite").write_bytes(fused_then_gather())
    executable = program(tmp_path, STATUSES, [Model(tmp_path / "net.tflite", "net")])
    assert subprocess.run([executable], capture_output=True, text=True, check=True).stdout == "3 4 4"
    source, header = (tmp_path / "net.c").read_text(), (tmp_path / "net.h").read_text()
    assert " * net.tflite, operator 3 (ABS 'positive', TANH 'bent')\n" in source
    assert " * net.tflite, operator 4 (GATHER 'chosen')\n" in source
    assert re.findall(r"^static (?:int|void) (\w+)\(int8_t", source, re.MULTILINE) == ["lookup_3", "gather_4"]
    assert re.findall(r"NET_AFTER_CALL\(context, (NET\w+),", source) == ["NET_LOOKUP_3", "NET_GATHER_4"]
    assert "    NET_LOOKUP_3 = 3, /* ABS 'positive', TANH 'bent' */\n" in header


def test_several_operators_of_one_node_share_its_number() -> None:
    """Their symbols count on."""
    imported = import_model(DIGITS)
    ops = tuple(replace(op, source=replace(op.source, index=0)) for op in imported.ops)
    board = load("host")
    schedule = plan(
        passes.run(replace(imported, ops=ops)), board, Toolbox(Library.PORTABLE, board.isa), PlanRequest(1 << 20)
    )
    operators = ModelText("net", schedule).operators
    assert {operator.number for operator in operators} == {1}
    assert (
        len({operator.symbol for operator in operators}) == len({item.status for item in operators}) == len(operators)
    )
    assert [operator.label for operator in operators][:2] == ["1", "1_2"]


@requires_host_cc
@pytest.mark.parametrize("section", ["", ".my_arena"])
def test_the_static_arena_may_be_placed(section: str, tmp_path: Path) -> None:
    options = Options(name="net", kernels=Kernels.PORTABLE, target="host")
    for file, text in compile_model(DIGITS, options).folder_files(ProjectKind.MAKE).items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    flags = [f'-DNET_ARENA_SECTION="{section}"'] if section else []
    command = [
        "cc",
        "-std=c11",
        *WARNINGS,
        *flags,
        "-Inames",
        "-Iportable",
        "-Ioperators",
        "-S",
        "net.c",
        "-o",
        "net.s",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (".my_arena" in (tmp_path / "net.s").read_text()) == bool(section)


@pytest.mark.parametrize("name", ["digits", "kws_ref_model", "vww_96_int8"])
def test_s2_03_multiplications_are_calls_of_the_library(name: str) -> None:
    model = DIGITS if name == "digits" else model_file(name)
    compiled = compile_model(model, Options(target="cortex-m4", kernels=Kernels.PORTABLE))
    calls = compiled.schedule.calls
    in_library = sum(call.op.macs for call in calls if call.kernel.function.startswith("arm_"))
    assert in_library >= 0.9 * sum(call.op.macs for call in calls) > 0
    assert not re.search(r"\b(malloc|calloc|realloc|free)\s*\(", "".join(compiled.files.values()))
