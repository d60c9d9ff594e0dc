"""The firmware folder: what is refused, what a board without a known serial port gets, warnings, the official API."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.mlperf.programs import write_firmware
from tests.support.command_line import DIGITS, tinygen
from tests.support.models import model_file
from tests.support.tools import requires_arm_gcc
from tinygen import targets
from tinygen.build.toolchain import WARNINGS, for_board
from tinygen.cli import mlperf as commands
from tinygen.mlperf.tasks import TASKS

PORTABLE = ("--kernels", "portable")
MAKE = ("make", "-s", "-j2")
API = os.environ.get("TINYGEN_MLPERF_API")
requires_api = pytest.mark.skipif(
    API is None,
    reason="$TINYGEN_MLPERF_API (folder benchmark/ of mlcommons/tiny) not set: no firmware is built with it",
)


def _refused(*arguments: str | Path) -> str:
    ended = tinygen("mlperf", *arguments)
    assert ended.code in {2, 3}, ended.stdout
    return ended.stderr.splitlines()[-1].removeprefix("tinygen: ")


def test_wrong_model(tmp_path: Path) -> None:
    said = _refused("kws", DIGITS, "-t", "mps2-an386", *PORTABLE, "-o", tmp_path / "fw")
    assert said == (
        "digits_int8: input 'serving_default_image:0' is int8[1, 8, 8, 1], 490 quantized int8 values were expected for "
        "keyword spotting. Choose the task of this model."
    )
    assert not (tmp_path / "fw").exists()


def test_a_stored_output(tmp_path: Path) -> None:
    more = ("--results", "stored", "-o", tmp_path / "fw")
    assert _refused("kws", model_file("kws_ref_model"), "-t", "mps2-an386", *PORTABLE, *more) == (
        "--results: is stored, resident was expected: the runner asks for the whole output. Leave the option out."
    )


def test_host_is_no_board(tmp_path: Path) -> None:
    assert _refused("kws", model_file("kws_ref_model"), "-t", "host", *PORTABLE, "-o", tmp_path / "fw") == (
        "--target host: is no microcontroller, expected a board. See `tinygen targets`."
    )


def test_wrong_arguments_of_run(tmp_path: Path) -> None:
    elf = tmp_path / "fw.elf"
    elf.write_bytes(b"")
    missing = tmp_path / "none"
    assert _refused("run", missing) == (
        f"{missing}: does not exist, an ELF file or a firmware folder was expected. Correct the path."
    )
    assert _refused("run", elf) == (
        f"{elf}: says nothing of its task, --task was expected: one of kws, ic, vww, ad, sww."
    )
    assert _refused("run", elf, "--task", "cats") == (
        "--task: is 'cats', one of kws, ic, vww, ad, sww was expected. Choose one of them."
    )
    assert _refused("run", elf, "--task", "kws") == (
        "--data: is missing, accuracy mode needs samples and labels. Name a folder or an .npz file."
    )
    assert _refused("run", elf, "--task", "kws", "--mode", "performance") == (
        f"{elf}: its board has no QEMU machine, or is not known. Name a board with -t, or a serial port with --port."
    )
    assert _refused("run", tmp_path) == (
        f"{tmp_path}/mlperf.json: is missing or damaged, a firmware folder was expected. "
        "Make one with `tinygen mlperf TASK MODEL`."
    )
    assert _refused("run", elf, "--mode", "energy") == (
        "--mode: is 'energy', one of accuracy, performance was expected. Choose one of them."
    )


def test_run_looks_at_its_files_before_it_starts(tmp_path: Path) -> None:
    elf = tmp_path / "fw.elf"
    elf.write_bytes(b"MZ")
    asked = ("run", elf, "--task", "kws", "--mode", "performance", "-t", "mps2-an386")
    assert _refused(*asked) == f"{elf}: is no ELF file, firmware was expected. Name what `make` has built."
    results = tmp_path / "results.json"
    results.write_text('{"task": "mine"}')
    assert _refused(*asked) == (
        f"{results}: is there, and not tinygen's; a new name was expected. Choose one, or add --force."
    )
    assert _refused(*asked, "-o", elf, "--force") == (
        f"{elf}: is read by this command, another name was expected. Choose one."
    )
    assert "no ELF file" in _refused(*asked, "--force")
    assert results.read_text() == '{"task": "mine"}'


def test_serve_says_where_the_firmware_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elf = tmp_path / "fw.elf"
    elf.write_bytes(b"\x7fELF")

    @contextmanager
    def listening(*_: object, counts_instructions: bool) -> Iterator[tuple[str, SimpleNamespace]]:
        assert counts_instructions
        yield "/dev/pts/9", SimpleNamespace(process=SimpleNamespace(wait=lambda: 0))

    monkeypatch.setattr(commands, "qemu_pty", listening)
    asked = ("mlperf", "serve", elf, "-t", "mps2-an386")
    assert tinygen(*asked).stdout == "/dev/pts/9\n"
    assert tinygen(*asked, "--json").document == {"pty": "/dev/pts/9"}


def test_models_go_into_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert _refused("models", tmp_path / "file") == (
        f"{tmp_path}/file: cannot be made (File exists), a folder was expected. Choose another one."
    )


def test_unknown_port(tmp_path: Path) -> None:
    elf = tmp_path / "fw.elf"
    elf.write_bytes(b"")
    ended = tinygen("mlperf", "run", elf, "--task", "kws", "--mode", "performance", "--port", tmp_path / "tty")
    assert (ended.code, ended.stderr) == (
        6,
        f"tinygen: {tmp_path}/tty: cannot be opened (No such file or directory), a serial port was expected. "
        "Plug the board in, correct the name, or see to the rights of the port.\n",
    )


def test_boards_of_arm_and_the_machine_of_riscv_have_a_timer_beside_their_uart() -> None:
    for name in targets.names():
        board = targets.load(name)
        assert (board.timer is not None) == name.startswith(("mps", "qemu-"))
        assert board.uart is not None or board.timer is None


@requires_arm_gcc
def test_board_of_ones_own(tmp_path: Path) -> None:
    """Where tinygen knows no serial port, the user's four functions are asked for, and are enough."""
    write_firmware(TASKS["ad"], "netduinoplus2", tmp_path / "fw")
    refused = subprocess.run([*MAKE, "-C", tmp_path / "fw"], capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "make PORT=my_board.c with the four functions of mlperf/port.h" in refused.stderr
    (tmp_path / "fw" / "my_board.c").write_text(
        '#include "port.h"\n'
        "void port_start(void)\n{\n}\n"
        "char port_read(void)\n{\n    return '%';\n}\n"
        "void port_write(char character)\n{\n    (void)character;\n}\n"
        "uint32_t port_microseconds(void)\n{\n    return 0;\n}\n"
    )
    options = ("PORT=my_board.c", "DB_BYTES=2560", "VENDOR=acme")
    subprocess.run([*MAKE, "-C", tmp_path / "fw", *options], check=True)
    assert b"acme" in (tmp_path / "fw" / "ad.elf").read_bytes()


@requires_arm_gcc
@pytest.mark.parametrize("name", ["kws", "ic", "ad"])  # one for each form of input
def test_no_warnings(name: str, tmp_path: Path) -> None:
    """All C of the folder but the kernels', with the project's warnings as errors."""
    compiled = write_firmware(TASKS[name], "mps2-an386", tmp_path)
    sources = [tmp_path / "submission.c", *(tmp_path / "mlperf").glob("*.c"), *(tmp_path / "target").glob("*.c")]
    folders = ("mlperf", "target", "model", "model/names", "model/operators")
    include = [tmp_path, *(tmp_path / name for name in folders)]
    for_board(compiled.board).compile(sources, include, WARNINGS, tmp_path / "objects")


@requires_api
@requires_arm_gcc
def test_official_api(tmp_path: Path) -> None:
    write_firmware(TASKS["kws"], "mps2-an386", tmp_path / "fw")
    subprocess.run([*MAKE, "-C", tmp_path / "fw", f"API={API}"], check=True)
    assert b"unspecified" in (tmp_path / "fw" / "kws.elf").read_bytes()
