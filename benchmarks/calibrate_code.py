"""Measure the code of all kernels, function by function; writes tinygen/kernels/code_tables/.

    python -m benchmarks.calibrate_code

Needs the compilers, CMSIS-NN and the models of ../shared/models. Sources are compiled with -O2, where each function has
a section of its own, and what that refers to are the functions and tables it needs. Those of the C library are linked
alone. What is generated around kernels is compiled for some plans, and fitted to what stands in them.
"""

import argparse
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path, PurePath

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from benchmarks.calibrate_costs import BOARDS, Sample, fit
from benchmarks.goals import MODELS
from tinygen.build import link_map
from tinygen.build.kernel_sources import SourceTree, kernel_library, native, operators
from tinygen.build.toolchain import Toolchain, for_board, map_file
from tinygen.kernels.base import Library, Objective
from tinygen.kernels.code_sizes import C_LIBRARY, CODE, LAYERS, table_file
from tinygen.kernels.prices import OWN, table_name
from tinygen.options import Kernels, Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import compile_model
from tinygen.planner.cost.code import generated, layers_of
from tinygen.system.work import work_folder
from tinygen.targets import load
from tinygen.targets.board import Board

_KEPT = (".text", ".rodata", ".data", ".srodata", ".sdata")
_VERSION = re.compile(r"^tg_v\d+_(?=arm_)|(?<=^tg_)v\d+_")
_NETWORKS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")
_PLANS = tuple(product(_NETWORKS, (Objective.TIME, Objective.RAM), (Kernels.AUTO, Kernels.PORTABLE)))
_SCRIPT = "ENTRY(tg_entry) SECTIONS { .text : { *(.text*) *(.rodata*) *(.srodata*) *(.data*) *(.sdata*) } }"

Sections = dict[str, list[int | str]]  # bytes, then what is needed


def sections(object: Path) -> Iterator[tuple[str, int, set[str]]]:
    """Functions and tables of an object file: name, bytes, and what they refer to."""
    with object.open("rb") as file:
        elf = ELFFile(file)
        symbols = list(elf.get_section_by_name(".symtab").iter_symbols())
        is_kept = {
            n: s["sh_flags"] & SH_FLAGS.SHF_ALLOC and s.name.startswith(_KEPT)
            for n, s in enumerate(elf.iter_sections())
        }
        names = {n: f"{s.name}@{object.stem}" for n, s in enumerate(elf.iter_sections()) if is_kept[n]}
        for symbol in symbols:
            if symbol["st_info"]["bind"] != "STB_LOCAL" and symbol["st_shndx"] in names:
                names[symbol["st_shndx"]] = plain(symbol.name)
        uses: dict[int, set[str]] = {n: set() for n in names}
        for relocations in (s for s in elf.iter_sections() if isinstance(s, RelocationSection)):
            for each in relocations.iter_relocations():
                symbol = symbols[each["r_info_sym"]]
                used = names.get(symbol["st_shndx"]) or (
                    plain(symbol.name) if symbol["st_shndx"] == "SHN_UNDEF" else None
                )
                if used and relocations["sh_info"] in uses:
                    uses[relocations["sh_info"]].add(used)
        for n, name in names.items():
            if elf.get_section(n)["sh_size"]:
                yield name, int(elf.get_section(n)["sh_size"]), uses[n] - {name}


def plain(symbol: str) -> str:
    """A function as kernels call it: without the version of its symbol."""
    return _VERSION.sub("", symbol)


def tree_sections(tree: SourceTree, toolchain: Toolchain) -> Sections:
    """Of all sources of a tree."""
    found: Sections = {}
    with work_folder() as folder:
        archive = toolchain.library(tree.name, tree.sources, tree.include)
        subprocess.run([toolchain.ar, "x", str(archive)], cwd=folder, check=True)
        for object in sorted(folder.glob("*.o")):
            found |= {name: [bytes, *sorted(used)] for name, bytes, used in sections(object)}
    return found


def library_sections(wanted: Iterable[str], toolchain: Toolchain) -> Sections:
    """Of functions of the C library and the compiler's: what is linked with each alone."""
    found: Sections = {}
    with work_folder() as folder:
        script = folder / "all.ld"
        script.write_text(_SCRIPT)
        for name in sorted(wanted):
            source = folder / "used.c"
            source.write_text(
                f'extern char wanted[] __asm__("{name}"); const char *tg_entry(void) {{ return wanted; }}\n'
            )
            objects = toolchain.compile([source], [], [], folder)
            image = toolchain.link(objects, script, folder / "used.elf")
            placed = link_map.parse(map_file(image).read_text()).placements
            members = [each for each in placed if "(" in each.file and each.section.startswith(_KEPT)]
            keys = {f"{PurePath(each.file).name}{each.section}": each.size for each in members}
            found[name] = [0, *sorted(keys)]
            found |= {key: [size] for key, size in keys.items()}
    return found


def own_sections(folder: Path, board: Board, model: str, goal: Objective, kernels: Kernels) -> Iterator[Sample]:
    """What is generated for a plan: its code, and the descriptions of its layers."""
    without = WITHOUT_CMSIS_NN if kernels is Kernels.AUTO else None
    options = Options(board.name, objective=goal, kernels=kernels, cmsis_nn=without)
    compiled = compile_model(MODELS / "mlperf_tiny" / f"{model}.tflite", options)
    for name, text in compiled.files.items():
        (folder / name).write_text(text)
    include = [folder, *(path for tree in compiled.trees for path in tree.include)]
    objects = for_board(board).compile([folder / f"{compiled.name}.c"], include, [], folder / "objects")
    found = list(sections(objects[0]))
    code = sum(bytes for name, bytes, _ in found if not name.startswith(".rodata"))
    yield Sample(generated(compiled.schedule), code)
    yield Sample(layers_of(compiled.schedule), sum(bytes for _, bytes, _ in found) - code)


def needed(parts: dict[str, Sections]) -> set[str]:
    """What no part has."""
    known = {name for part in parts.values() for name in part}
    return {str(used) for part in parts.values() for _, *all in part.values() for used in all} - known


def written(parts: dict[str, Sections], generated_terms: dict[str, dict[str, float]]) -> str:
    """A table as its file holds it: a line for each function."""
    lines = ["{", ' "made_by": "python -m benchmarks.calibrate_code",', f' "generated": {json.dumps(generated_terms)},']
    lines.append(' "functions": {')
    for part, functions in sorted(parts.items()):
        rows = [f"   {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(functions.items())]
        lines += [f'  "{part}": {{', ",\n".join(rows), "  },"]
    lines[-1] = "  }"
    return "\n".join([*lines, " }", "}", ""])


def generated_before(table: Path) -> dict[str, dict[str, float]]:
    """What the table has of generated code so far, which stays there where a measurement is ended half way."""
    if not table.is_file():
        return {kind: {"": 0.0} for kind in (CODE, LAYERS)}
    stored: dict[str, dict[str, float]] = json.loads(table.read_text(encoding="utf-8"))["generated"]
    return stored


def measure(board: Board) -> None:
    """Write the table of its instruction set, of kernels first: plans are made with it."""
    toolchain, table = for_board(board), table_file(table_name(board.isa, board.has_thumb2))
    parts = {library.value: tree_sections(kernel_library(library, None), toolchain) for library in Library}
    parts[OWN] = tree_sections(operators(), toolchain) | tree_sections(native(), toolchain)
    parts[C_LIBRARY] = library_sections(needed(parts) | {"memcpy", "memmove"}, toolchain)
    table.write_text(written(parts, generated_before(table)), encoding="utf-8")
    with work_folder() as folder:
        samples = [sample for asked in _PLANS for sample in own_sections(folder, board, *asked)]
    terms = {kind: fit([each for each in samples if each.work.function == kind]) for kind in (CODE, LAYERS)}
    table.write_text(written(parts, terms), encoding="utf-8")


def main() -> None:
    """Measure all instruction sets, and write their tables."""
    parser = argparse.ArgumentParser(description="Measure the code of kernels.")
    parser.add_argument("--board", action="append", choices=BOARDS, help="one for each instruction set; without: all")
    for board in map(load, parser.parse_args().board or BOARDS):
        measure(board)


if __name__ == "__main__":
    main()
