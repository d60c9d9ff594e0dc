"""Names of models on terminals: nothing in them acts, forges a line or ends a command; documents keep them."""

import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

from tests.support.command_line import tinygen
from tinygen.cli.terminal import Terminal
from tinygen.report.plain import indented, one_line, shown, shown_json

_HOSTILE = "x\x1b[2J\x9b31m\u202eko\u2066\u200f\x07\x08\x7f\u2028\U000e0041\r\ntinygen: ok, 0 mismatches\nexact yes"
_PORTABLE = ("--allow-float", "--kernels", "portable")
_COMMANDS = (
    ("inspect", "--ops", *_PORTABLE),
    ("inspect",),
    ("run", "-t", "host", *_PORTABLE),
    ("validate", "-t", "host", "--per-layer", *_PORTABLE),
    ("compile", "-v", "-o", "out", *_PORTABLE),
    ("validate", "-t", "host", "--data", "none.npz", *_PORTABLE),
)
_TERMINALS = (
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "ascii:surrogateescape"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "C"},
    {"PYTHONIOENCODING": "latin-1"},
)


def _model(folder: Path, name: str, operator: str = "Relu") -> Path:
    """One operator; its name and those of its tensors are `name` with a letter behind."""
    values = [make_tensor_value_info(f"{name}{end}", TensorProto.FLOAT, (1, 4)) for end in "io"]
    node = make_node(operator, [f"{name}i"], [f"{name}o"], name=f"{name}n")
    model = make_model(make_graph([node], "net", values[:1], values[1:]), opset_imports=[make_opsetid("", 18)])
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


def _check_harmless(text: str) -> None:
    acting = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert acting == []
    assert not re.search(r"^\s?(exact yes|tinygen: ok)", text, re.MULTILINE)


@pytest.mark.parametrize("arguments", _COMMANDS, ids=" ".join)
def test_names_do_nothing_to_a_terminal(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = _model(tmp_path, _HOSTILE)
    ended = tinygen(arguments[0], model, *arguments[1:])
    assert "internal" not in ended.stderr
    for text in (ended.stdout, ended.stderr):
        _check_harmless(text)
    if arguments[0] in ("inspect", "run"):
        assert r"x\x1b[2J\x9b31m\u202eko\u2066\u200f\x07\x08\x7f\u2028\U000e0041\r" in ended.stdout + ended.stderr


def test_unsupported_operators_and_the_parsers_messages(tmp_path: Path) -> None:
    for ended in (
        tinygen("inspect", _model(tmp_path, _HOSTILE, "NonMaxSuppression")),
        tinygen("inspect", "net.onnx", f"--{_HOSTILE}"),
        tinygen(_HOSTILE),
        tinygen("inspect", f"{_HOSTILE}.onnx"),
    ):
        assert ended.code in (2, 3)
        assert "x\\x1b[2J" in ended.stderr
        _check_harmless(ended.stderr)


def test_documents_are_harmless_and_keep_the_names(tmp_path: Path) -> None:
    model = _model(tmp_path, _HOSTILE)
    ran = tinygen("run", model, "-t", "host", "--json", *_PORTABLE)
    _check_harmless(ran.stdout)
    assert list(ran.document["outputs"]) == [f"{_HOSTILE}o"]
    refused = tinygen("inspect", model, "--json")
    _check_harmless(refused.stdout)
    assert refused.document["unsupported"][0]["name"] == f"{_HOSTILE}o"


@pytest.mark.parametrize("terminal", _TERMINALS, ids=str)
def test_terminals_without_unicode(terminal: dict[str, str], tmp_path: Path) -> None:
    model = _model(tmp_path, "größe→\N{GRINNING FACE}")
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONUTF8", "PYTHONIOENCODING")}
    for options, code in ((("--ops", "--allow-float"), 0), (("--json",), 3)):
        done = subprocess.run(
            [sys.executable, "-c", "from tinygen.cli import main; main()", "inspect", model, *options],
            env=environment | terminal,
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    encoding = "latin-1" if "latin-1" in terminal.values() else "utf-8"
    assert json.loads(done.stdout.decode(encoding))["unsupported"][0]["name"] == "größe→\N{GRINNING FACE}o"


def test_plain_text() -> None:
    assert shown("a\tb\nc\x1b\x9b\u202e\udcff é→") == "a\tb\nc\\x1b\\x9b\\u202e\\udcff é→"
    assert one_line("a\tb\n") == "a\\tb\\n"
    assert indented("a:\n  b\nc") == "a:\n  b\n  c"
    text = json.dumps({"é\x9b\u202e\U000e0041": "\x1b"}, ensure_ascii=False, indent=1)
    assert shown_json(text).isprintable() is False  # its own line breaks stay
    assert json.loads(shown_json(text)) == json.loads(text)
    assert shown_json(text).splitlines()[1] == ' "é\\u009b\\u202e\\udb40\\udc41": "\\u001b"'


class Screen(io.StringIO):
    """Where text is shown."""

    def isatty(self) -> bool:
        return True


def test_searches_show_what_they_look_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with Terminal(verbose=False, quiet=False, json=False).searching("planning net") as watch:
        watch("the smallest arena, best so far 1,024 bytes", 1, 2)
    assert "planning net: the smallest arena, best so far 1,024 bytes" in screen.getvalue()


def test_progress_has_a_rate_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setattr("rich.console.monotonic", lambda: now[0])
    with Terminal(verbose=False, quiet=False, json=False).progress("sweeping") as step:
        for seconds, done in ((0.0, 2), (10.0, 7), (60.0, 32)):  # 0.5 a second
            now[0] = seconds
            step(done, 92)
    assert "0.5/s" in screen.getvalue() and "0:02:00" in screen.getvalue()
