"""Several networks in one folder: one memory, kernels once, the same results as alone."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tinygen
from tests.support.command_line import DIGITS
from tests.support.command_line import tinygen as run
from tests.support.program import build_program, run_program
from tests.support.shared import shared_file
from tests.support.stateful import variables_model
from tests.support.tflite_writer import ModelWriter
from tests.support.tiny_models import classifier
from tests.support.tools import requires_cmsis, requires_host_cc, requires_qemu
from tinygen.build.toolchain import for_board
from tinygen.codegen.project import ProjectKind
from tinygen.errors import DoesNotFitError, UsageError
from tinygen.ir.types import Array
from tinygen.kernels.base import Library, Objective
from tinygen.options import Joining, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.product import JointModels, product
from tinygen.targets import load
from tinygen.verify.samples import random_samples

ROUNDS = 3
MAIN = """
#include "fw.h"
#include "tg_target.h"

#include <string.h>

static _Alignas(FW_ARENA_ALIGN) int8_t before[FW_ARENA_BYTES + 64];

int main(void)
{
    static fw_context context;
    const int from = tg_open_read("in.bin"), to = tg_open_write("out.bin");

    memset(before, 0x5a, sizeof before);
    if (fw_init(&context, before) != 0 || fw_init(&context, NULL) == 0) {
        tg_exit(2);
    }
    for (int i = 0; i < %d; ++i) {
%s
    }
    for (int i = 0; i < 64; ++i) {
        if (before[FW_ARENA_BYTES + i] != 0x5a) {
            tg_exit(3);
        }
    }
    tg_close(to);
    tg_exit(0);
}
"""
RUN = """
        for (int j = 0; j < {upper}_INPUT_COUNT; ++j) {{
            static const uint32_t bytes[] = {{{inputs}}};
            if (!{skips}) {{
                (void)tg_read(from, {name}_input(&context.{name}, j), bytes[j]);
            }}
        }}
        if ({name}_invoke(&context.{name}) != 0) {{
            tg_exit(4);
        }}
        for (int j = 0; j < {upper}_OUTPUT_COUNT; ++j) {{
            static const uint32_t bytes[] = {{{outputs}}};
            (void)tg_write(to, {name}_output(&context.{name}, j), bytes[j]);
        }}
"""


def compiled(folder: Path, target: str, *names: str) -> list[Compiled]:
    """Networks by the names of their kinds."""
    models = {"tiny": classifier(), "kept": variables_model(3), "first": shifted(1), "second": shifted(2)}
    found = []
    for name in names:
        file = DIGITS
        if name in models:
            file = folder / f"{name}.tflite"
            file.write_bytes(models[name])
        found.append(compile_model(file, Options(target=target, name=name)))
    return found


def shifted(by: int, scale: float = 0.5) -> bytes:
    """x [1, 2, 3, 4] -> x + by, at one scale."""
    model = ModelWriter()
    x = model.tensor("x", (1, 2, 3, 4), "int8", scale=0.5, zero_point=-3)
    y = model.tensor("y", (1, 2, 3, 4), "int8", scale=scale, zero_point=-3)
    constant = np.full((1, 2, 3, 4), 2 * by - 3 - np.arange(24).reshape(1, 2, 3, 4) % 5, np.int8)
    other = model.tensor("c", (1, 2, 3, 4), "int8", data=constant, scale=0.5, zero_point=-3)
    model.operator("ADD", [x, other], [y])
    return model.finish([x], [y])


def calls(member: Compiled, skips: bool = False) -> str:
    """C that runs a network on what stands in the file, but for inputs that it has already."""
    upper = member.name.upper()
    sizes = [
        ", ".join(f"{upper}_{role}{i}_BYTES" for i in range(len(ports)))
        for role, ports in (("INPUT", member.graph.inputs), ("OUTPUT", member.graph.outputs))
    ]
    return RUN.format(name=member.name, upper=upper, inputs=sizes[0], outputs=sizes[1], skips=int(skips))


def outputs(made: JointModels, folder: Path, samples: Sequence[Sequence[Sequence[Array]]], taken: str = "") -> bytes:
    """What the networks give, one after the other, again and again: linked from plain objects in one memory."""
    for file, text in made.folder_files(ProjectKind.MAKE).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    (folder / "main.c").write_text(MAIN % (ROUNDS, "".join(calls(m, m.name == taken) for m in made.members)))
    inputs = (array.tobytes() for turn in zip(*samples, strict=True) for sample in turn for array in sample)
    (folder / "in.bin").write_bytes(b"".join(inputs))
    toolchain = for_board(made.members[0].board)
    include = sorted({header.parent for header in folder.rglob("*.h")})
    elf = build_program(toolchain, sorted(folder.rglob("*.c")), folder, include)
    ended = run_program(toolchain, elf, folder)
    assert ended.exit_code == 0, ended.text
    return (folder / "out.bin").read_bytes()


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", ["mps2-an385", "mps2-an386", "mps3-an547"])
def test_item_20_three_networks_in_one_arena_are_those_in_three(target: str, tmp_path: Path) -> None:
    """One of them keeps a state, which the others leave alone."""
    members = compiled(tmp_path, target, "digits", "kept", "tiny")
    made = product("fw", members, Joining())
    alone = [member.schedule.arena_bytes for member in members]
    assert max(alone) <= made.joint.arena_bytes < sum(alone)
    samples = [random_samples(member.graph.inputs, ROUNDS, seed) for seed, member in enumerate(members)]
    expected = [member.execute(given).outputs for member, given in zip(members, samples, strict=True)]
    (tmp_path / "fw").mkdir()
    wanted = b"".join(array.tobytes() for turn in zip(*expected, strict=True) for sample in turn for array in sample)
    assert outputs(made, tmp_path / "fw", samples) == wanted


@requires_host_cc
def test_item_20_a_cascade_hands_its_output_on_where_it_lies(tmp_path: Path) -> None:
    members = compiled(tmp_path, "host", "second", "digits", "first")
    made = product("fw", members, Joining(cascade=(("first", "second"),)))
    samples = [random_samples(member.graph.inputs, ROUNDS, 0) for member in members]
    first, second, digits = members[2], members[0], members[1]
    middle = first.execute(samples[2]).outputs
    expected = (middle, second.execute(middle).outputs, digits.execute(samples[1]).outputs)
    ordered = JointModels("fw", (first, second, digits), made.joint)
    (tmp_path / "fw").mkdir()
    wanted = b"".join(array.tobytes() for turn in zip(*expected, strict=True) for sample in turn for array in sample)
    given = [samples[2], [[] for _ in range(ROUNDS)], samples[1]]
    assert outputs(ordered, tmp_path / "fw", given, taken="second") == wanted


def overlap(made: JointModels, one: str, other: str) -> bool:
    """Whether the arenas of two networks have a byte in common."""
    ends = []
    for name in (one, other):
        [offset] = [offset for (network, _), offset in made.joint.offsets.items() if network == name]
        ends.append((offset, offset + made.joint.schedules[name].arena_bytes))
    (first, first_end), (second, second_end) = ends
    return first < second_end and second < first_end


def test_item_20_networks_that_interrupt_each_other_have_no_byte_in_common(tmp_path: Path) -> None:
    members = compiled(tmp_path, "host", "digits", "tiny", "first")
    sizes = {member.name: member.schedule.arena_bytes for member in members}
    assert product("fw", members, Joining()).joint.arena_bytes == max(sizes.values())
    made = product("fw", members, Joining(together=(("tiny", "digits"),)))
    assert made.joint.arena_bytes == sizes["digits"] + sizes["tiny"]
    assert not overlap(made, "tiny", "digits")
    assert overlap(made, "first", "digits") or overlap(made, "first", "tiny")


def test_states_are_never_shared(tmp_path: Path) -> None:
    members = compiled(tmp_path, "host", "kept", "digits", "first")
    made = product("fw", members, Joining())
    schedule = members[0].schedule
    offsets = {network: offset for (network, _), offset in made.joint.offsets.items()}
    kept = {
        offsets["kept"] + schedule.address(state.tensor) + byte
        for state in schedule.graph.states
        for byte in range(state.tensor.type.bytes)
    }
    assert kept
    for member in members[1:]:
        first = offsets[member.name]
        assert kept.isdisjoint(range(first, first + member.schedule.arena_bytes))


def test_the_command_writes_one_folder(tmp_path: Path) -> None:
    (tmp_path / "tiny.tflite").write_bytes(classifier())
    arguments = ("compile", f"net={DIGITS}", tmp_path / "tiny.tflite", "-o", tmp_path / "fw", "--json")
    document = run(*arguments, "--kernels", "portable", "-t", "cortex-m4").document
    files = document["files"]
    assert {"fw.h", "fw.c", "net.h", "net.c", "tiny.h", "tiny_weights.c", "net_selftest.c", "README.md"} <= set(files)
    assert len([file for file in files if file.endswith("arm_convolve_s8.c")]) == 1
    assert max(file.count("/") for file in files) == 1
    assert [network["name"] for network in document["networks"]] == ["net", "tiny"]
    assert document["arena_bytes"] == max(network["arena_bytes"] for network in document["networks"])
    header = (tmp_path / "fw" / "fw.h").read_text()
    assert f"#define FW_ARENA_BYTES {document['arena_bytes']}\n" in header
    assert json.loads((tmp_path / "fw" / ".tinygen.json").read_text())["files"].keys() == set(files)


@requires_host_cc
@pytest.mark.skipif(shutil.which("make") is None, reason="make missing: the example is not built")
def test_item_20_the_example_runs_and_every_file_has_its_licence(tmp_path: Path) -> None:
    models = [
        tinygen.compile(DIGITS, name="digits", target="host"),
        tinygen.compile(DIGITS, name="other", optimize="ram", target="host"),
    ]
    folder = tinygen.join("fw", models, together=[["digits", "other"]]).write(tmp_path / "fw")
    flags = "CFLAGS=-O1 -Wall -Wextra -Wconversion -Wshadow -Wcast-qual -Werror"
    subprocess.run(["make", "-s", "-j2", "example", flags], cwd=folder, check=True)
    assert subprocess.run([folder / "example"], check=False).returncode == 0
    files = [file for file in folder.iterdir() if file.is_file() and file.suffix in (".c", ".h", ".md", "")]
    files += folder.glob("*/*.[ch]")
    without = {file.name for file in files if "SPDX-License-Identifier" not in file.read_text(errors="replace")[:400]}
    assert without == {"LICENSE", "example"}
    spoiled = (folder / "digits_selftest.c").read_text()
    (folder / "digits_selftest.c").write_text(spoiled.replace("expected0[10] = {\n    ", "expected0[10] = {\n    1 + "))
    subprocess.run(["make", "-s", "example", flags], cwd=folder, check=True)
    assert subprocess.run([folder / "example"], check=False).returncode == 1


def refusal(members: Sequence[Compiled], name: str = "fw", **joining: tuple[tuple[str, ...], ...]) -> str:
    with pytest.raises(UsageError) as caught:
        product(name, members, Joining(**joining))
    return str(caught.value)


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    members = compiled(tmp_path, "host", "digits", "first", "second", "tiny")
    assert refusal([*members, members[0]]).startswith("digits: is the name of two networks")
    assert refusal(members, "tiny").startswith("--name tiny: is the name of a network too")
    assert refusal(members, together=(("digits", "x"),)).startswith("--together: names 'x', networks of digits, first")
    assert refusal(members, together=(("digits",),)).startswith("--together: is 'digits', two or more")
    assert refusal(members, cascade=(("digits", "first"),)) == (
        "--cascade digits,first: no output of the first (i8[1, 10], scale 0.00390625, zero point -128) is like an "
        "input of the second (i8[1, 2, 3, 4], scale 0.5, zero point -3), the same type, shape and scale were expected. "
        "Copy and convert it in the application."
    )
    pair = ("first", "second")
    assert "may interrupt each other" in refusal(members, cascade=(pair,), together=(pair,))
    assert refusal(members, cascade=(pair, pair)).startswith("--cascade: first gives to two networks")
    assert "comes before itself" in refusal(members, cascade=(pair, pair[::-1]))
    other = compile_model(DIGITS, Options("mps2-an386", name="other"))
    assert refusal([*members, other]).startswith("fw: has networks for the boards host, mps2-an386, one was expected")


def test_limits_hold_for_all_together(tmp_path: Path) -> None:
    members = [compile_model(DIGITS, Options(name=name, ram_bytes=800, target="host")) for name in ("one", "two")]
    product("fw", members, Joining()).check_fits()
    with pytest.raises(DoesNotFitError, match=r"its networks need 1,536 bytes of ram, at most 800 were expected"):
        product("fw", members, Joining(together=(("one", "two"),))).check_fits()
    assert run("compile", DIGITS, "--together", "a,b", "-o", tmp_path / "out").stderr == (
        "tinygen: --together, --cascade: are given for one network, several were expected. Leave them out.\n"
    )
    assert load("host").main_ram.name == "ram"


@requires_cmsis
def test_members_have_one_library_where_memory_chooses_portable_kernels_for_some() -> None:
    """Image classification takes less with them, keyword spotting does not."""
    options = Options("mps2-an386", objective=Objective.RAM)
    names = ("kws_ref_model", "pretrainedResnet_quant")
    members = [
        compile_model(shared_file(f"models/mlperf_tiny/{name}.tflite"), replace(options, name=short))
        for name, short in zip(names, ("kws", "ic"), strict=True)
    ]
    assert {member.library for member in members} == set(Library)
    assert {member.library for member in product("both", members, Joining()).members} == {Library.PORTABLE}
