"""The documentation as a site: every page is on it, commands on its guides run as they stand, links lead somewhere."""

import os
import re
import shlex
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from inspect import signature
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

import tinygen
from tests.support.litert import needs_litert
from tests.support.shared import shared_file
from tests.support.tools import requires_host_cc, requires_qemu
from tests.test_readme import CHECKOUT, blocks, run
from tinygen.cli import app
from tinygen.options import Options

DOCS = CHECKOUT / "docs"
SETTINGS = CHECKOUT / "mkdocs.yml"
PAGES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
GUIDES = [page for page in PAGES if page.startswith("guides/")]
RUN_ELSEWHERE = {"gallery.md", "sweep.md"}  # below, and by tests/sweeping/test_docs.py
NETWORKS = (
    *("mlperf_tiny/kws_ref_model", "mlperf_tiny/str_ww_ref_model", "mlperf_tiny/vww_96_int8"),
    *("mlperf_tiny/ad01_int8", "open/silabs_rock_paper_scissors"),
)

_WITHOUT_FLAG = {"model", "data", "errors", "format"}  # arguments of commands, or said by file names there

pytestmark = pytest.mark.slow


def _text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def test_every_page_is_on_the_site_once() -> None:
    shown = re.findall(r"[\w/-]+\.md$", SETTINGS.read_text(encoding="utf-8").partition("\nnav:\n")[2], re.MULTILINE)
    assert sorted(shown) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_commands_stand_where_they_are_run_or_say_why_not(page: str) -> None:
    text = _text(page)
    fences = re.findall(r"^```sh(.*)$", text, re.MULTILINE)
    assert all(re.fullmatch(r'|\s*title="(Needs|Not run by a test: ).+"', fence) for fence in fences), fences
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"^    (?:\$ )?(?:tinygen|make|python|pip|git) .*", outside, re.MULTILINE)


@requires_host_cc
@requires_qemu
@needs_litert
@pytest.mark.qemu
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(_text(page), "sh") and page not in RUN_ELSEWHERE])
def test_commands_run_as_they_stand(page: str, tmp_path: Path) -> None:
    if page in GUIDES:
        run(["tinygen", "example", "digits"], tmp_path)
    for block in blocks(_text(page), "sh"):
        run(["sh", "-e"], tmp_path, block)
    for made in tmp_path.glob("digits/c"):
        [text] = blocks(_text(page), "c")
        (made / "application.c").write_text(text)
        run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I.", "-Inames", "-c", "application.c"], made)
        assert "What each goal would give" in (made / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["../README.md", *PAGES])
def test_all_commands_and_their_options_are_known(page: str) -> None:
    """Of those that are not run, too."""
    for block in re.findall(r"^```(?:sh|console)[^\n]*\n(.*?)^```$", _text(page), re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?:\$ )?tinygen (.*)", block.replace("\\\n", ""), re.MULTILINE):
            words = shlex.split(line.partition(" > ")[0], comments=True)
            context = get_command(app).make_context("tinygen", words)
            while isinstance(context.command, TyperGroup):
                name, found, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
                assert found is not None, line
                context = found.make_context(name, rest, parent=context)


@requires_host_cc
@pytest.mark.parametrize("network", [None, *NETWORKS])
def test_each_network_of_the_gallery_is_one_command(network: str | None, tmp_path: Path) -> None:
    lines = [line for line in _text("gallery.md").splitlines() if line.startswith("tinygen compile")]
    assert len(lines) == 1 + len(NETWORKS)
    name = "digits_int8" if network is None else Path(network).name.removeprefix("silabs_")
    [line] = [line for line in lines if f"/{name}.tflite" in line]
    if network is None:
        run(["tinygen", "example", "digits"], tmp_path)
    else:
        model = shared_file(f"models/{network}.tflite")
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / f"{name}.tflite").symlink_to(model)
    run(["sh", "-e"], tmp_path, line)
    [report] = tmp_path.rglob("report.html")
    assert "<svg" in report.read_text(encoding="utf-8")


def test_the_page_of_the_api_has_all_options_from_where_they_are_declared() -> None:
    found = spec_from_file_location("site_options", DOCS / "site_options.py")
    assert found is not None and found.loader is not None
    hook = module_from_spec(found)
    found.loader.exec_module(hook)
    plain = _text("api.md")
    made = hook.on_page_markdown(plain, page=None)
    assert "options of tinygen" in plain and "options of tinygen" not in made
    functions = (tinygen.compile, tinygen.inspect, tinygen.run, tinygen.validate, tinygen.bench)
    for function in (*functions, tinygen.calibrate, tinygen.quantize):
        sections = [part for part in made.split("\n### ") if f"`{function.__name__}`" in part.partition("\n")[0]]
        listed = {keyword for part in sections for keyword in re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)}
        assert signature(function).parameters.keys() - _WITHOUT_FLAG <= listed, function.__name__
    assert f"| `target` | `{Options.target}` | Board, path" in made


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[a](missing.md)", "missing.md"),
        ("[a](../missing.py)", "../missing.py"),
        ("[a](limits.md#no-such-part)", "no-such-part"),
    ],
)
def test_a_strict_build_refuses_links_that_lead_nowhere(text: str, fault: str, tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed: the site is not built")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "limits.md").write_text("# Limits\n")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "docs" / "index.md").write_text(f"[fine](../pyproject.toml) {text}\n")
    settings = re.sub(r"^(nav|  - mkdocstrings):.*?(?=^\w|\Z)", "", SETTINGS.read_text(), flags=re.M | re.S)
    (tmp_path / "mkdocs.yml").write_text(settings.replace("docs/site_", f"{DOCS}/site_"))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and fault in done.stderr and done.stderr.count("WARNING -") == 1, done.stderr
