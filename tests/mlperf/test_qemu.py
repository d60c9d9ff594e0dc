"""The firmware under QEMU: all tasks over both transports, with the results of TFLite Micro; a line that misbehaves."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.mlperf.programs import MODELS, Vector, vectors, write_firmware
from tests.support.command_line import interruptible_process, tinygen
from tests.support.models import model_file
from tests.support.shared import shared_file
from tests.support.tools import requires_cmsis, requires_qemu, requires_riscv_qemu
from tinygen.errors import ToolError
from tinygen.kernels.base import Library
from tinygen.mlperf import session
from tinygen.mlperf.device import Device
from tinygen.mlperf.runner import MINIMUM_S
from tinygen.mlperf.tasks import TASKS, InputForm, Task
from tinygen.mlperf.transport import TransportKind, open_port, open_pty, qemu_pty

pytestmark = [pytest.mark.qemu, requires_qemu]

BOARD = "mps2-an386"
OTHER_BOARDS = ("mps2-an500", "mps2-an505", "mps3-an547")
UART, SEMIHOSTING = TransportKind.UART, TransportKind.SEMIHOSTING


@contextmanager
def _running(folder: Path, transport: TransportKind) -> Iterator[Device]:
    program = session.find_program(folder, transport)
    assert program.machine is not None
    with session.start(program, program.machine, transport) as ends:
        yield Device(ends)


def _check(device: Device, vector: Vector) -> None:
    """Right results, however many inferences run: each begins with the same input. The clock moves."""
    device.load(vector.download)
    for iterations, warmups in ((1, 0), (2, 1)):
        found = device.infer(iterations, warmups)
        assert np.allclose(found.results, vector.results, rtol=1e-5, atol=1.1e-3 if len(vector.results) == 1 else 1e-9)
        assert 0 < found.elapsed_us < 10_000_000


SLOW = {"vww": pytest.mark.slow}  # its images take 893 commands


@pytest.mark.parametrize("task", [pytest.param(TASKS[name], id=name, marks=SLOW.get(name, ())) for name in TASKS])
def test_every_task(task: Task, tmp_path: Path) -> None:
    """All samples through semihosting, one over the UART."""
    expected = vectors(task, write_firmware(task, BOARD, tmp_path / "fw"))
    with _running(tmp_path / "fw", SEMIHOSTING) as device:
        assert device.identify().model == task.model_version
        for vector in expected:
            _check(device, vector)
    with _running(tmp_path / "fw", UART) as device:
        assert device.identify().model == task.model_version
        _check(device, expected[0])


@requires_riscv_qemu
def test_item_24_keyword_spotting_on_riscv(tmp_path: Path) -> None:
    """Over a UART of the 16550 kind and through semihosting, with the machine timer's microseconds."""
    expected = vectors(TASKS["kws"], write_firmware(TASKS["kws"], "qemu-rv32", tmp_path / "fw"))
    for transport, count in ((SEMIHOSTING, len(expected)), (UART, 1)):
        with _running(tmp_path / "fw", transport) as device:
            assert device.identify().model == TASKS["kws"].model_version
            for vector in expected[:count]:
                _check(device, vector)


@requires_cmsis
@pytest.mark.parametrize("board", OTHER_BOARDS)
def test_other_boards(board: str, tmp_path: Path) -> None:
    """Accuracy mode from the command line, with CMSIS-NN, over both transports: the same results."""
    data = shared_file("eval/kws01.npz")
    made = tinygen("mlperf", "kws", model_file(MODELS["kws"]), "-t", board, "-o", tmp_path / "fw", "--json")
    assert made.code == 0, made.stderr
    assert made.document["target"] == board
    found = [
        tinygen("mlperf", "run", tmp_path / "fw", "--data", data, "--samples", count, "--transport", kind, "--json")
        for kind, count in (("uart", "4"), ("semihosting", "12"))
    ]
    assert [ended.code for ended in found] == [0, 0], [ended.stderr for ended in found]
    by_uart, by_semihosting = (ended.document["accuracy"] for ended in found)
    assert by_uart["files"] == by_semihosting["files"][:4]
    with np.load(data) as arrays:
        reference = (arrays["ref_out_int8"][:12].astype(float) + 128) / 256
    assert np.array_equal([file["results"] for file in by_semihosting["files"]], np.floor(reference * 1000) / 1000)


@requires_cmsis
@pytest.mark.slow
@pytest.mark.parametrize("board", OTHER_BOARDS)
@pytest.mark.parametrize("task", [task for task in TASKS.values() if task.name != "kws"], ids=lambda task: task.name)
def test_every_task_on_other_boards(task: Task, board: str, tmp_path: Path) -> None:
    """The whole protocol with CMSIS-NN: over the UART, but for images through semihosting."""
    kind = SEMIHOSTING if task.form is InputForm.IMAGE else UART
    expected = vectors(task, write_firmware(task, board, tmp_path / "fw", Library.CMSIS_NN))
    with _running(tmp_path / "fw", kind) as device:
        assert device.identify().model == task.model_version
        _check(device, expected[0])


@requires_cmsis
@pytest.mark.slow
def test_keyword_spotting_accuracy(tmp_path: Path) -> None:
    """All 1,000 official samples through semihosting, 50 over the UART."""
    write_firmware(TASKS["kws"], BOARD, tmp_path / "fw", Library.CMSIS_NN)
    data = shared_file("eval/kws01.npz")
    whole = tinygen("mlperf", "run", tmp_path / "fw", "--data", data, "--transport", "semihosting", "--json").document
    assert (whole["accuracy"]["samples"], whole["accuracy"]["correct"]) == (1000, 901)
    assert whole["accuracy"]["is_met"]
    some = tinygen("mlperf", "run", tmp_path / "fw", "--data", data, "--samples", "50", "--json").document
    assert some["accuracy"]["files"] == whole["accuracy"]["files"][:50]


def test_performance_mode(tmp_path: Path) -> None:
    """Too few inferences: measured, and refused by the rules. (Valid windows take a minute.)"""
    write_firmware(TASKS["ad"], BOARD, tmp_path / "fw")
    run = ("mlperf", "run", tmp_path / "fw", "--mode", "performance", "--iterations", "20", "--json")
    found = tinygen(*run, "--output", tmp_path / "r.json")
    assert found.code == 0, found.stderr
    measured = found.document["performance"]
    throughputs = sorted(window["throughput"] for window in measured["windows"])
    assert measured["median_throughput"] == throughputs[2] > 1
    is_short = measured["host_s"] < MINIMUM_S  # not so on a busy machine
    assert not measured["is_valid"] and len(measured["violations"]) == 1 + is_short
    assert (tmp_path / "r.json").read_text() == found.stdout


def test_streamed_input(tmp_path: Path) -> None:
    """A model that fetches its input by rows takes them from the download."""
    options = ("-t", BOARD, "-O", "ram", "--input", "streamed", "--kernels", "portable")
    made = tinygen("mlperf", "kws", model_file(MODELS["kws"]), *options, "-o", tmp_path / "fw")
    assert made.code == 0, made.stderr
    expected = vectors(TASKS["kws"], write_firmware(TASKS["kws"], BOARD, tmp_path / "whole"))
    with _running(tmp_path / "fw", SEMIHOSTING) as device:
        for vector in expected:
            _check(device, vector)


@requires_cmsis
@pytest.mark.parametrize("kind", [SEMIHOSTING, UART])
def test_wake_word_as_a_stream(kind: TransportKind, tmp_path: Path) -> None:
    """A whole window begins anew; then each column goes on, and gives what the window that ends with it gives."""
    options = ("-t", BOARD, "-O", "ram", "--stream", "time")
    made = tinygen("mlperf", "sww", model_file(MODELS["sww"]), *options, "-o", tmp_path / "fw", "--json")
    assert made.code == 0, made.stderr
    assert made.document["macs"] <= 60_000 and made.document["arena_bytes"] <= 4_200
    with np.load(shared_file("eval/sww01.npz")) as data:
        columns, activations = data["spec_q"], (data["activations_ref"].astype(float) + 128) / 256
    expected = np.floor(activations * 1000) / 1000
    with _running(tmp_path / "fw", kind) as device:
        for first in (200, 60):
            device.load(columns[first : first + 30].tobytes())
            assert np.array_equal(device.infer(1, 0).results, expected[first])
        for column in range(90, 100):
            device.load(columns[column].tobytes())
            assert np.array_equal(device.infer(1, 0).results, expected[column - 29])
        device.load(bytes(41))
        assert "e-[Input has 41 bytes, expected 1200 or 40]" in device.command("infer 1 0")


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Vector]:
    """A folder of keyword spotting, and something to ask it."""
    folder = tmp_path_factory.mktemp("kws") / "fw"
    return folder, vectors(TASKS["kws"], write_firmware(TASKS["kws"], BOARD, folder))[0]


@pytest.fixture(scope="module")
def kws(firmware: tuple[Path, Vector]) -> Iterator[tuple[str, Vector]]:
    """The pty of running firmware, and something to ask it."""
    folder, vector = firmware
    program = session.find_program(folder, UART)
    assert program.machine is not None
    with qemu_pty(program.elf, program.machine) as (path, _):
        yield path, vector


def test_times_of_the_official_runner_are_the_same_on_any_machine(firmware: tuple[Path, Vector]) -> None:
    """The clock moves with the instructions, of which portable kernels take 28 million for a keyword."""
    folder, vector = firmware
    program = session.find_program(folder, UART)
    assert program.machine is not None
    with (
        qemu_pty(program.elf, program.machine, counts_instructions=True) as (path, emulator),
        open_pty(path, emulator) as port,
    ):
        device = Device(port)
        device.load(vector.download)
        first, second = (device.infer(2, warmups) for warmups in (0, 1))
    assert first.elapsed_us == pytest.approx(second.elapsed_us, rel=0.01)
    assert first.elapsed_us == pytest.approx(2 * 27.85e6 * 64 / 1000, rel=0.05)


def _digits(count: int) -> str:
    return "5a" * count


def test_a_board_at_a_serial_port(kws: tuple[str, Vector]) -> None:
    path, _ = kws
    with open_port(path, TASKS["kws"].baud) as port:
        assert Device(port).command("nonsense") == ["e-[Unknown command: nonsense]"]


def test_misbehaving_line(kws: tuple[str, Vector]) -> None:
    """Whatever came before, the next good session works."""
    path, vector = kws
    with open_pty(path) as port:
        device = Device(port)
        assert device.command("nonsense 1 2") == ["e-[Unknown command: nonsense]"]
        assert device.command("") == ["e-[Unknown command: ]"]
        assert device.command("x" * 5000) == ["e-[Command longer than 80 characters]"]
        assert device.command("db load 27649") == ["Supplied buffer size 27649 exceeds maximum of 27648"]
        assert device.command("db load 490") == ["m-[Expecting 490 bytes]"]
        assert device.command("db 5a5") == ["e-[Insufficient number of hex digits]"]
        assert device.command("db 5a5g") == ["e-[Invalid hex digit '5g']"]
        assert device.command(f"db {_digits(31)}") == []
        assert device.command("infer 1 0")[0] == "e-[Input has 32 bytes, expected 490]"
        assert device.command("results") == ["e-[No results: no input]"]
        _check(device, vector)


def test_download_longer_than_announced(kws: tuple[str, Vector]) -> None:
    path, vector = kws
    with open_pty(path) as port:
        device = Device(port)
        assert device.command("db load 27648") == ["m-[Expecting 27648 bytes]"]
        device.command("db load 40")
        assert device.command(f"db {_digits(31)}") == []
        assert device.command(f"db {_digits(31)}") == ["m-load-done"]
        for _ in range(100):
            assert device.command(f"db {_digits(31)}") == ["e-[40 of 40 bytes are loaded]"]
        assert device.command("db print")[-1] == "m-buffer-" + "-".join(["5a"] * 8)
        _check(device, vector)


def test_bytes_lost_in_the_middle(kws: tuple[str, Vector]) -> None:
    """A terminator is lost: two commands run into one, which is refused."""
    path, vector = kws
    with open_pty(path) as port:
        device = Device(port)
        device.command("db load 490")
        port.write(f"db {_digits(20)}".encode(), 1)
        assert device.command("db 00") == []  # the digits of the first; a word after them is not looked at
        port.write(f"db {_digits(31)}".encode(), 1)
        assert device.command(f"db {_digits(31)}") == ["e-[Command longer than 80 characters]"]
        assert device.command("infer 1 0")[-1] == "e-[No results: no input]"
        _check(device, vector)


def test_second_runner(kws: tuple[str, Vector]) -> None:
    """Another one opens the port in the middle of a command, asks, and goes: the first one starts again."""
    path, vector = kws
    with open_pty(path) as port:
        device = Device(port)
        device.command("db load 490")
        port.write(b"db 5a5", 1)
        with open_pty(path) as other_port:
            other = Device(other_port)
            assert other.command("name")[0].startswith("e-[")  # what the first one had begun spoils its first question
            assert other.identify().model == "kws01"
            _check(other, vector)
        device.identify()
        _check(device, vector)
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)  # and one that sends and leaves without reading
    os.write(descriptor, b"help%help%name%db load 5%db 01")
    os.close(descriptor)
    time.sleep(2)  # until it is answered, on a busy machine too: a new runner forgets what came before
    with open_pty(path) as port:
        device = Device(port)
        device.command("")
        _check(device, vector)


def test_serve(tmp_path: Path) -> None:
    """Firmware on a pty for other programs, until it is interrupted; the shim shows them the pty."""
    write_firmware(TASKS["ad"], BOARD, tmp_path / "fw")
    with interruptible_process("mlperf", "serve", tmp_path / "fw", cwd=tmp_path) as serving:
        assert serving.stdout is not None and serving.stderr is not None
        path = serving.stdout.readline().strip()
        hint = serving.stderr.readline()
        with open_pty(path) as port:
            assert Device(port).identify().model == "ad01"
        serving.send_signal(signal.SIGINT)
        assert serving.wait(20) == 130
    assert f"TINYGEN_SERIAL_PORTS={path}=0483:374B PYTHONPATH=" in hint


def test_firmware_that_ends(firmware: tuple[Path, Vector]) -> None:
    """The runner says so instead of waiting, on both transports."""
    for transport in (UART, SEMIHOSTING):
        with _running(firmware[0], transport) as device:
            device.identify()
            assert device.transport.emulator is not None
            device.transport.emulator.process.kill()
            with pytest.raises(ToolError) as caught:
                device.command("name")
            assert str(caught.value).startswith("firmware: ended with code -9, an answer was expected.")


def test_only_stale_programs_are_built(firmware: tuple[Path, Vector]) -> None:
    """A program made with options of the user's stays, until its sources change."""
    folder, _ = firmware
    subprocess.run(["make", "-s", "-C", folder, "VENDOR=acme"], check=True)
    elf = session.find_program(folder, UART).elf
    assert b"acme" in elf.read_bytes()
    assert session.find_program(folder / "kws-semihosting.elf", UART).elf == elf
    (folder / "submission.c").touch()
    assert b"acme" not in session.find_program(elf, UART).elf.read_bytes()
