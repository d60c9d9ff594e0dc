"""Sizes are attributed to model, kernels and harness by the linker map."""

from pathlib import Path

import pytest

from tests.support.program import run_program
from tests.support.tools import requires_qemu
from tinygen import targets
from tinygen.build import sizes, target_runtime, toolchain
from tinygen.build.link_map import parse
from tinygen.build.sizes import ObjectRole
from tinygen.build.source import sources_of
from tinygen.build.toolchain import Opt, map_file
from tinygen.codegen.linker import linker_script

# Functions in assembly, so that their bytes are known: 100, 40 and (dropped by the linker) 60.
MODEL = r"""
#include <stdint.h>
#include <string.h>
#define CODE(name, halfwords) \
    __asm__(".section .text." #name ",\"ax\",%progbits\n.thumb\n.global " #name "\n.thumb_func\n" #name \
            ":\n.rept " #halfwords " - 1\nnop\n.endr\nbx lr\n.size " #name ",.-" #name "\n.text")
CODE(model_step, 50);
void model_step(void);
void kernel(void);
void fetch(void);
void model_run(void);
/* A model named "str...": its constants are no string literals, whatever their section is called. */
static const int8_t str_weights[1000] = {1, 2, 3};
const char *model_error(void);
const char *model_error(void)
{
    return "a literal of 24 letters.";
}
static const int32_t biases[10] = {4, 5, 6};
__attribute__((section(".tg_arena"))) int8_t model_arena[1024];
static volatile uint32_t runs = 1;
void model_run(void)
{
    memcpy(model_arena, str_weights, sizeof str_weights);
    runs += (uint32_t)biases[runs % 10U];
    model_step();
    kernel();
    fetch();
}
"""

KERNEL = r"""
#define CODE(name, halfwords) \
    __asm__(".section .text." #name ",\"ax\",%progbits\n.thumb\n.global " #name "\n.thumb_func\n" #name \
            ":\n.rept " #halfwords " - 1\nnop\n.endr\nbx lr\n.size " #name ",.-" #name "\n.text")
CODE(kernel, 20);
CODE(unused_kernel, 30);
"""

HARNESS = r"""
#include "tg_target.h"
#include <stdlib.h>
void model_run(void);
const char *model_error(void);
void fetch(void);
static volatile char text[] = "12";
static volatile char held[100];
/* What a harness gives to a model stays harness, with all that it needs. */
void fetch(void)
{
    held[1] = (char)atoi((const char *)text);
}
int main(void)
{
    model_run();
    held[0] = model_error()[0];
    tg_report("twelve", (uint64_t)atoi((const char *)text));
    return 0;
}
"""


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("name", ["mps2-an386", "mps3-an547", "microbit"])
def test_attribution(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))
    tools = toolchain.for_board(targets.load(name), opt=Opt.SIZE)
    for file, text in {"model": MODEL, "kernel": KERNEL, "harness": HARNESS}.items():
        (tmp_path / f"{file}.c").write_text(text)
    model = tools.compile([tmp_path / "model.c"], [], [], tmp_path)
    kernels = tools.library("kernel", sources_of(tmp_path / "kernel.c"), [])
    others = [tmp_path / "harness.c", *target_runtime.sources(tools.board)]
    harness = tools.compile(others, [target_runtime.INCLUDE], target_runtime.flags(tools.board), tmp_path)
    script = tmp_path / "linker.ld"
    script.write_text(linker_script(tools.board))
    elf = tools.link([*harness, *model, kernels], script, tmp_path / "program.elf")
    assert run_program(tools, elf, tmp_path).values == {"twelve": 12}

    roles = {model[0]: ObjectRole.MODEL, kernels: ObjectRole.KERNELS} | dict.fromkeys(harness, ObjectRole.HARNESS)
    measured = sizes.measure(elf, roles)
    symbols = sizes.symbol_sizes(elf)
    assert measured.const_bytes == 1000 + 40
    assert measured.arena_bytes == 1024
    assert measured.static_bytes == 4
    known = 100 + 40 + symbols["model_run"] + symbols["model_error"] + 25 + 4  # the literal, and the image of `runs`
    assert measured.code_bytes == known + _library_bytes(elf, name)
    assert "unused_kernel" not in symbols
    named = {each.name: (each.flash_bytes, each.ram_bytes) for each in measured.symbols}
    assert named["(string literals)"] == (25, 0)
    assert {name: named[name] for name in ("str_weights", "biases", "model_step", "runs")} == {
        "str_weights": (1000, 0),
        "biases": (40, 0),
        "model_step": (100, 0),
        "runs": (4, 4),  # its image is copied from flash
    }
    assert sum(flash for flash, _ in named.values()) == measured.code_bytes + measured.const_bytes
    assert sum(ram for _, ram in named.values()) == measured.static_bytes
    assert measured.flash_bytes > measured.code_bytes + measured.const_bytes + symbols["strtol"]
    assert measured.bss_bytes >= 100
    swapped = sizes.measure(elf, roles | {harness[0]: ObjectRole.MODEL})
    assert swapped.code_bytes > measured.code_bytes + 300  # atoi brings strtol and its data


def _library_bytes(elf: Path, name: str) -> int:
    """What the model's own C library calls take: memcpy, and on ARMv6-M the division by ten."""
    expected = {"-memcpy"} | ({"_udivsi3", "_dvmd_tls"} if name == "microbit" else set())
    placed = parse(map_file(elf).read_text()).placements
    found = [item for item in placed for member in expected if member in item.file]
    assert found
    return sum(item.size for item in found if item.output in (".text", ".rodata", ".data"))
