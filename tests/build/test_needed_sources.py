"""Output folders hold the C that is called and no more, by the symbols of their object files."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS
from tests.support.models import model_file
from tests.support.symbols import symbol_prefix
from tests.support.tools import requires_arm_gcc, requires_cmsis
from tinygen.build.kernel_sources import SourceTree, kernel_library, native, operators
from tinygen.build.toolchain import Opt, for_board
from tinygen.codegen.project import ProjectKind
from tinygen.kernels.base import Library, Objective
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.targets import load

MODELS = {"digits": lambda: DIGITS, "kws": lambda: model_file("kws_ref_model")}
MODELS |= {"ic": lambda: model_file("pretrainedResnet_quant")}


def symbols(files: list[Path], option: str) -> dict[str, frozenset[str]]:
    """Names of each object file: --defined-only or --undefined-only."""
    shown = subprocess.run(
        ["arm-none-eabi-nm", "--extern-only", "-A", option, *files], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, set[str]] = {file.stem: set() for file in files}
    for line in shown.splitlines():
        file, _, rest = line.partition(":")
        found[Path(file).stem].add(rest.split()[-1])
    return {file: frozenset(names) for file, names in found.items()}


def closure(roots: set[str], defined: Mapping[str, frozenset[str]], used: Mapping[str, frozenset[str]]) -> set[str]:
    """The files that a linker takes for `roots`."""
    definer = {name: file for file, names in defined.items() for name in names}
    waiting, found = list(roots), set(roots)
    while waiting:
        needed = {definer[name] for name in used[waiting.pop()] if name in definer}
        waiting += needed - found
        found |= needed
    return found


def check(options: Options, model: str, folder: Path) -> None:
    """Every object file is needed by the model's own, or by one that is needed."""
    compiled = compile_model(MODELS[model](), options)
    files = compiled.folder_files(ProjectKind.MAKE)
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    include = [folder, *sorted({header.parent for header in folder.rglob("*.h")} - {folder})]
    sources = sorted(folder.rglob("*.c"))
    taken: set[str] = set()
    for opt in (Opt.TWO, Opt.SIZE):  # the portable kernels share more at -Os: what either needs is there
        objects = for_board(compiled.board, opt=opt).compile(sources, include, [], folder / opt)
        defined, used = symbols(objects, "--defined-only"), symbols(objects, "--undefined-only")
        taken |= closure({compiled.name, "main"}, defined, used)
    weights = f"{compiled.name}_weights"  # empty where nothing is constant
    assert sorted(set(defined) - taken - {weights}) == []


@requires_arm_gcc
@pytest.mark.parametrize("objective", [Objective.TIME, Objective.RAM, Objective.SIZE])
@pytest.mark.parametrize("board", ["microbit", "mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("model", MODELS)
def test_everything_is_called(model: str, board: str, objective: Objective, tmp_path: Path) -> None:
    check(Options(board, objective=objective), model, tmp_path)


@requires_arm_gcc
@pytest.mark.parametrize(
    ("board", "opt"),
    [("microbit", Opt.TWO), ("mps2-an386", Opt.TWO), ("mps2-an386", Opt.SIZE), ("mps3-an547", Opt.TWO)],
)
def test_nothing_is_missing(board: str, opt: Opt, tmp_path: Path) -> None:
    """What the linker takes for each source is among what is copied with it, and every symbol has the version."""
    prefix = symbol_prefix()
    for tree in (native(), operators(), kernel_library(Library.PORTABLE, None)):
        defined = check_copied(tree, board, opt, tmp_path / tree.name)
        unversioned = [name for names in defined.values() for name in names if not name.startswith(prefix)]
        assert unversioned == [], "not in the header of names, or not declared before it is defined"


@requires_arm_gcc
@requires_cmsis
@pytest.mark.parametrize("board", ["mps2-an385", "mps2-an386", "mps3-an547"])
def test_nothing_of_cmsis_nn_is_missing(board: str, tmp_path: Path) -> None:
    check_copied(kernel_library(Library.CMSIS_NN, None), board, Opt.TWO, tmp_path)


def check_copied(tree: SourceTree, board: str, opt: Opt, folder: Path) -> Mapping[str, frozenset[str]]:
    """What the linker takes for each source is among what is copied with it. Returns the symbols of each."""
    folder.mkdir(parents=True, exist_ok=True)
    toolchain = for_board(load(board), opt=opt)
    archive = toolchain.library(tree.name, tree.sources, tree.include)  # which others have built, mostly
    subprocess.run([toolchain.ar, "x", str(archive)], cwd=folder, check=True)
    objects = sorted(folder.glob("*.o"))
    assert len(objects) == len(tree.sources)
    defined, used = symbols(objects, "--defined-only"), symbols(objects, "--undefined-only")
    for source in tree.sources:
        copied = {file.stem for file in tree.needed([source.stem], load(board).isa)}
        assert closure({source.stem}, defined, used) <= copied, source.name
    return defined
