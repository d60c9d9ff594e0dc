"""Converters run in a process of their own: what they do to it stays there, and its limits hold."""

import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from tinygen.errors import ToolError, UnsupportedModelError
from tinygen.frontends.conversion import ConversionLimits, convert

_CONVERTERS = "tests.support.converters"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file to convert."""
    file = tmp_path / "net.h5"
    file.write_bytes(b"model")
    return file


def _refusal(source: Path, function: str, limits: ConversionLimits | None = None) -> str:
    with pytest.raises(UnsupportedModelError) as caught:
        convert(f"{_CONVERTERS}:{function}", source, source.with_name("out.tflite"), limits=limits)
    _check_clean(source)
    return str(caught.value)


def _check_clean(source: Path) -> None:
    assert {file.name for file in source.parent.iterdir()} - {"net.h5", "pids"} == set()


def test_a_conversion(source: Path) -> None:
    out = source.with_name("out.tflite")
    assert convert(f"{_CONVERTERS}:copy", source, out) == "hello\n"
    assert out.read_bytes() == b"model\0"
    assert convert(f"{_CONVERTERS}:copy", source, out, trusts=True) == "hello\n"
    assert out.read_bytes() == b"model\1"


def test_errors_come_through_and_leave_nothing_behind(source: Path) -> None:
    for _ in range(2):
        with pytest.raises(ToolError) as caught:
            convert(f"{_CONVERTERS}:stop", source, source.with_name("out.tflite"))
        assert str(caught.value) == "net.h5: stopped, with ä and \x1b."
        _check_clean(source)


def test_16_special_errors_come_through_as_their_base(source: Path) -> None:
    assert _refusal(source, "spend") == "net.h5: 5 operators, at most 4 were expected. Make the model smaller."


def test_other_ends_are_messages(source: Path) -> None:
    assert _refusal(source, "crash").startswith(
        "net.h5: its conversion ended with signal 6, a converted model was expected. Convert it by hand. Its last "
    )
    assert "RuntimeError: unthought-of" in _refusal(source, "fail")
    for function in ("nothing", "link"):
        assert _refusal(source, function) == (
            "net.h5: its conversion gave no file of at most 2,147,483,648 bytes, one was expected. Convert it by hand."
        )


def test_a_limit_of_memory(source: Path) -> None:
    assert _refusal(source, "hoard", ConversionLimits(memory_bytes=1 << 29)) == (
        "net.h5: its conversion takes more than 536,870,912 bytes of memory, a small network was expected. "
        "Convert it by hand."
    )


def test_a_limit_of_output(source: Path) -> None:
    assert _refusal(source, "pour", ConversionLimits(file_bytes=1 << 20)) == (
        "net.h5: its conversion writes a file of more than 1,048,576 bytes, a small network was expected. "
        "Convert it by hand."
    )


def test_a_limit_of_time_ends_all_processes(source: Path) -> None:
    """The converter waits for ever: whatever the limit, it is exceeded. It is long enough to get that far."""
    assert _refusal(source, "hang", ConversionLimits(seconds=5)) == (
        "net.h5: its conversion takes more than 5 s, an end was expected. Convert it by hand."
    )
    assert len(_pids(source)) == 2
    _wait_until_gone(source)


def test_a_conversion_ends_with_its_parent(source: Path) -> None:
    """Killed, the parent can do nothing itself: the other end of a pipe goes."""
    code = (
        "from pathlib import Path; from tinygen.frontends.conversion import convert; "
        f"convert('{_CONVERTERS}:hang', Path('net.h5'), Path('out.tflite'))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=source.parent)
    while len(_pids(source)) < 2:
        assert process.poll() is None
    process.kill()
    process.wait()
    _wait_until_gone(source)


def _pids(source: Path) -> list[int]:
    """Of the converter and of what it has started."""
    file = source.with_name("pids")
    return list(map(int, file.read_text().split())) if file.is_file() else []


def _wait_until_gone(source: Path) -> None:
    for pid in _pids(source):
        while _state(pid) not in ("", "Z"):
            sleep(0.01)


def _state(pid: int) -> str:
    """Of a process: Z where it has ended, and nobody has asked how; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
