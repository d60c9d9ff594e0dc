"""What help and shells offer: basic options first, the others in panels; commands, options and values completed."""

import os
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from typer import Typer
from typer.main import get_command

from tinygen.cli.group import ENTRIES
from tinygen.option import HelpPanel

_MOST_BASIC = 13
_PLANNING = ("compile", "inspect", "run", "validate", "bench", "diff")


def panels(command: str) -> Counter[str | None]:
    """How many options a command's help has in each panel; None: in the first one."""
    entry = next(entry for entry in ENTRIES if entry.name == command)
    app = Typer(add_completion=False)
    app.command()(import_module(entry.module).command)
    parameters = get_command(app).params
    return Counter(getattr(p, "rich_help_panel", None) for p in parameters if p.param_type_name == "option")


@pytest.mark.parametrize("command", [*_PLANNING, "calibrate", "quantize", "quantize-weights", "sweep", "simulate"])
def test_basic_options_come_first(command: str) -> None:
    found = panels(command)
    assert 0 < found[None] <= _MOST_BASIC
    assert set(found) - {None, "The suite"} <= set(HelpPanel)
    if command in _PLANNING:
        assert {HelpPanel.PLAN, HelpPanel.KERNELS, HelpPanel.READING, HelpPanel.QUANTIZATION} <= set(found)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["comp"], {"compile"}),
        (["ins"], {"inspect"}),
        (["compile", "--opt"], {"--optimize"}),
        (["validate", "--per"], {"--per-layer"}),
        (["compile", "-O", "b"], {"balanced"}),
        (["compile", "--kernels", "n"], {"native"}),
        (["inspect", "-t", "stm32f407"], {"stm32f407ve", "stm32f407vg"}),
        (["inspect", "-t", "mps3-an5"], {"mps3-an524", "mps3-an547"}),
    ],
)
def test_a_shell_completes(words: list[str], offered: set[str], tmp_path: Path) -> None:
    line = ["tinygen", *words]
    environment = {
        **os.environ,
        "_TINYGEN_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from tinygen.cli import main; main()"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert set(done.stdout.split()) & offered, done.stdout
    assert all(word.startswith(words[-1]) for word in done.stdout.split())
