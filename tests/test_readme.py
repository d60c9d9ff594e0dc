"""What the README and the pages beside it show is what happens: commands, Python, C. Named tests exist.

Numbers are those of `test_figures.py`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import DIGITS, DIGITS_DATA
from tests.support.litert import needs_litert
from tests.support.tools import requires_host_cc, requires_host_cxx, requires_qemu
from tinygen.build.toolchain import WARNINGS
from tinygen.codegen.project import ProjectKind
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
GENERATED_CODE = (CHECKOUT / "docs" / "generated-code.md").read_text(encoding="utf-8")
INCLUDE = ["-I.", "-Inames", "-Iportable", "-Ioperators"]
MAIN = """
#include <stdio.h>
#include "digits.h"

int read_digit(const int8_t image[DIGITS_INPUT0_BYTES]);

int main(void)
{
    int8_t image[DIGITS_INPUT0_BYTES];

    while (fread(image, sizeof image, 1, stdin) == 1) {
        printf("%d ", read_digit(image));
    }
    return 0;
}
"""


def blocks(page: str, language: str) -> list[str]:
    """Fenced blocks."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def run(command: list[str], folder: Path, text: str | None = None) -> str:
    """A command that finds this environment's `tinygen` first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        command, cwd=folder, input=text, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@requires_qemu
@needs_litert
@pytest.mark.qemu
@pytest.mark.slow
def test_the_tutorial_works_when_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [tutorial] = blocks(README, "sh")
    assert len(tutorial.splitlines()) == 10
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    shown = run(["sh", "-ex"], CHECKOUT, tutorial)
    [folder] = tmp_path.glob("tmp.*")
    assert (folder / "digits" / "libdigits.a").is_file()
    assert (folder / "small" / "digits.c").is_file()
    with np.load(folder / "scores.npz") as scores, np.load(DIGITS_DATA) as data:
        [values] = scores.values()
        assert (values.argmax(axis=-1) == data["labels"]).sum() == 361  # as LiteRT: examples/digits/README.md
    assert re.search(r"exact +yes", shown)
    assert re.search(r"instructions +[1-9]", shown)


@requires_qemu
@needs_litert
@pytest.mark.qemu
@pytest.mark.slow
def test_the_python_works_when_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [text] = blocks(README, "python")
    assert len([line for line in text.splitlines() if line]) == 4
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    shown = run([sys.executable, "-"], tmp_path, text)
    [folder] = (tmp_path / "tmp").glob("*/digits")
    assert f"[0 1 2 3 4 5 6 7 8 9] True {folder}" in shown
    assert (folder / "Makefile").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"examples", "tmp"}  # nothing is left in the checkout


def _application(folder: Path) -> list[str]:
    """Write what the README shows, and the network that it calls, whose files are returned."""
    [text] = blocks(README, "c")
    files = compile_model(DIGITS, Options(name="digits", kernels=Kernels.PORTABLE, target="host")).folder_files(
        ProjectKind.MAKE
    )
    for file, content in {**files, "application.c": text, "main.c": MAIN}.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content)
    return [file for file in files if file != "main.c"]


@requires_host_cxx
def test_the_application_is_cxx_too(tmp_path: Path) -> None:
    _application(tmp_path)
    flags = ["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run(["g++", *flags, *INCLUDE, "-c", "application.c"], tmp_path)


@requires_host_cc
def test_the_application_compiles_and_reads_digits(tmp_path: Path) -> None:
    sources = ["application.c", "main.c", *(file for file in _application(tmp_path) if file.endswith(".c"))]
    run(["cc", "-std=c11", *WARNINGS, *INCLUDE, *sources, "-lm", "-o", "program"], tmp_path)
    with np.load(DIGITS_DATA) as data:
        images, labels = data["in0"], data["labels"]
    done = subprocess.run([tmp_path / "program"], input=images.tobytes(), capture_output=True, check=True)
    assert (np.array(done.stdout.split(), int) == labels).sum() == 361


def test_excerpts_of_generated_code_are_true() -> None:
    sources = sorted((CHECKOUT / "tests" / "codegen" / "golden").glob("*.c"))
    golden = [source.read_text(encoding="utf-8") for source in sources]
    excerpts = blocks(GENERATED_CODE, "c")
    assert len(excerpts) == 4
    for excerpt in excerpts:
        lines = [line.strip() for line in excerpt.splitlines()]
        assert any("\n".join(lines) in "\n".join(map(str.strip, text.splitlines())) for text in golden), excerpt


@pytest.mark.parametrize(
    "page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/generated-code.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (CHECKOUT / page).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_tests_that_are_named_are_there(page: str) -> None:
    named = re.findall(r"\btests?[/_][\w/.]*\w", (CHECKOUT / page).read_text(encoding="utf-8"))
    files = [name for name in named if name.endswith(".py") or "/" in name]
    assert [name for name in files if not (CHECKOUT / name).exists()] == []
    assert set(named) == set(files), "a test is named by its file"


def test_each_decision_names_its_test() -> None:
    text = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Where this deviates")[0]
    said = re.findall(r"^- \*\*.*?(?=^- |^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(said) > 30
    assert [sentence.splitlines()[0] for sentence in said if "`tests/" not in sentence] == []
