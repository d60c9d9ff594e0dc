"""What the Makefile's targets of tests run, and that they say how many there were."""

import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
requires_make = pytest.mark.skipif(shutil.which("make") is None, reason="make missing: its targets are not looked at")


def _commands(*arguments: str) -> str:
    """What `make` would run."""
    asked = subprocess.run(["make", "-n", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return asked.stdout


@requires_make
def test_the_target_of_cmsis_nn_fails_without_it_before_all_that_are_marked_run() -> None:
    found, marked = (_commands("test-cmsis").index(text) for text in ("-m tests.support.tools", "-m cmsis"))
    assert found < marked


@requires_make
@pytest.mark.parametrize("door", ["torch", "tensorflow", "tvm"])
def test_each_door_has_an_environment_of_its_own(door: str) -> None:
    commands = _commands(f"test-door-{door}")
    assert f".venv-doors/{door}/bin/python -m pytest" in commands
    files = re.findall(r"tests/\S+\.py", commands.split("-m pytest")[-1])
    assert len(files) > 3 and all((CHECKOUT / file).is_file() for file in files)
    assert f"test-door-{door}" in _commands("-p", "test-doors", "DOORS=" + door)


def test_runs_say_how_many_tests_there_were() -> None:
    """With the options that the project gives to all."""
    command = [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", "tests/test_class_names.py"]
    ended = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert re.search(r"^\d+ passed in ", ended.stdout, re.MULTILINE)


def test_every_folder_of_tests_is_looked_into(pytestconfig: pytest.Config) -> None:
    """pytest leaves folders of some names out, `build` among them."""
    folders = {file.parent.name for file in Path(__file__).parent.rglob("test_*.py")}
    patterns = pytestconfig.getini("norecursedirs")
    assert not [name for name in folders for pattern in patterns if fnmatch(name, pattern)]
