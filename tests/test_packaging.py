"""The wheel, made from the source distribution and installed where no checkout is near: it compiles a model."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS
from tests.support.tools import requires_host_cc
from tinygen import __version__

CHECKOUT = Path(__file__).resolve().parents[1]
DATA = ("boards", "runtime_c", "templates")

pytest.importorskip("hatchling", reason="hatchling is not installed: the wheel is neither built nor installed")
pytestmark = pytest.mark.slow


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command without the settings that could lead back to the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TINYGEN", "VIRTUAL"))}
    environment = {**kept, "TINYGEN_CACHE": str(folder / "cache")}
    return subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def hatchling(target: str, source: Path, out: Path) -> Path:
    """The distribution that hatchling makes, without the network."""
    done = run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", out], source)
    assert done.returncode == 0, done.stderr
    [made] = out.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution."""
    return hatchling("sdist", CHECKOUT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as pip makes it of the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
        archive.extractall(folder / "source")
    [source] = (folder / "source").iterdir()
    return hatchling("wheel", source, folder / "wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that holds the wheel, and sees the dependencies of this one.

    The dependencies are named by a path file, so this environment's own path files, and with them an editable install
    of the checkout, do not count there.
    """
    folder = tmp_path_factory.mktemp("environment")
    assert run([sys.executable, "-m", "venv", folder / "venv"], folder).returncode == 0
    python = folder / "venv" / "bin" / "python"
    done = run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], folder)
    assert done.returncode == 0, done.stderr
    [site] = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = run([python, "-c", "import tinygen; print(tinygen.__file__)"], folder)
    assert Path(where.stdout.strip()) == site / "tinygen" / "__init__.py"
    return python.parent


def test_what_the_wheel_holds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert {name.split("/")[0] for name in contents} == {"tinygen", f"tinygen-{__version__}.dist-info"}
    for folder in DATA:
        expected = {str(file.relative_to(CHECKOUT)) for file in (CHECKOUT / folder).rglob("*") if file.is_file()}
        prefix = f"tinygen/data/{folder}/"
        assert {name.removeprefix("tinygen/data/") for name in contents if name.startswith(prefix)} == expected
    assert {name.split("/")[2] for name in contents if name.startswith("tinygen/data/")} == {
        *DATA,
        "LICENSE",
        "example",
    }
    assert f"tinygen-{__version__}.dist-info/licenses/LICENSE" in contents
    assert not [
        name
        for name in contents
        if "__pycache__" in name or "/test_" in name or "tests/" in name or "third_party" in name
    ]
    named = [name for name, data in contents.items() if str(CHECKOUT).encode() in data]
    assert not named, "they name the folder that the checkout lies in"


def test_the_versions_agree() -> None:
    assert f"\nversion: {__version__}\n" in (CHECKOUT / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__


def test_what_the_source_distribution_holds(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = [member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()]
    own = {
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "CITATION.cff",
        "Makefile",
        "tinygen/cli/__init__.py",
    }
    assert own <= set(names)
    assert "tests/test_packaging.py" in names
    assert not [name for name in names if name.startswith(("third_party", ".venv")) or "__pycache__" in name]
    assert sdist.stat().st_size < 3_200_000  # sources of 3 MB: models, libraries or caches would show


@requires_host_cc
def test_the_installed_command(installed: Path, tmp_path: Path) -> None:
    """It compiles a model in an empty folder, with the kernels that it brings, and `make` builds what it wrote."""
    shutil.copy(DIGITS, tmp_path / "digits.tflite")
    tinygen = installed / "tinygen"
    done = run([tinygen, "compile", "digits.tflite", "-t", "host", "--kernels", "portable", "-o", "out"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert run(["make"], tmp_path / "out").returncode == 0
    assert (tmp_path / "out" / "libdigits.a").is_file()
    for file in (tmp_path / "out").rglob("*.[ch]"):
        text = file.read_text()
        assert str(CHECKOUT) not in text, file
        assert str(tmp_path) not in text, file
    done = run([tinygen, "run", "digits.tflite", "-t", "host", "--json"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"outputs"' in done.stdout


def test_the_installed_tables(installed: Path, tmp_path: Path) -> None:
    tinygen = installed / "tinygen"
    assert run([tinygen, "--version"], tmp_path).stdout.split()[-1] == __version__
    boards = run([tinygen, "targets"], tmp_path)
    assert all(board.stem in boards.stdout for board in (CHECKOUT / "boards").glob("*.toml")), boards.stdout
    operators = run([tinygen, "supported-ops"], tmp_path)
    assert "DEPTHWISE_CONV_2D" in operators.stdout, operators.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_cmsis_nn_the_installed_command_says_where_to_get_it(installed: Path, tmp_path: Path) -> None:
    """No submodule stands beside a wheel."""
    done = run([installed / "tinygen", "inspect", DIGITS], tmp_path)
    assert (done.returncode, "portable (CMSIS-NN not found)" in done.stderr) == (0, True), done.stderr
    done = run([installed / "tinygen", "inspect", DIGITS, "--kernels", "cmsis-nn"], tmp_path)
    assert done.returncode == 6
    assert "--cmsis-nn" in done.stderr
