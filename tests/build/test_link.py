"""Programs on a board behind a serial line: QEMU's pty, and in front of it faults of every kind."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command_line import DIGITS
from tests.support.faulty_line import faulty_line
from tests.support.tools import board_param, requires_qemu
from tinygen.build import desk as desk_module
from tinygen.build.desk import Desk, Flasher, flash
from tinygen.build.link import CycleCounter, LinkLimits, LinkMode, SerialLine, WrongProgramError, serve
from tinygen.build.link_frames import PAYLOAD_BYTES, FrameReader, FrameType, LinkFrame
from tinygen.build.qemu import Machine
from tinygen.codegen.harness import Measure
from tinygen.errors import ToolError, UsageError
from tinygen.mlperf.session import own_pty
from tinygen.mlperf.transport import qemu_pty
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.system import serial_port
from tinygen.targets import UartKind, load
from tinygen.verify.reference import evaluate, outputs
from tinygen.verify.samples import random_samples
from tinygen.verify.validate import validate

pytest.importorskip("serial", reason="pyserial missing: nothing is run over a serial line")

FAST = 921_600  # baud: what is lost is asked for sooner


@cache
def _compiled(target: str = "mps2-an386") -> Compiled:
    return compile_model(Path(DIGITS), Options(target=target, kernels=Kernels.PORTABLE))


@contextmanager
def _board(folder: Path, target: str = "mps2-an386") -> Iterator[str]:
    """QEMU with the program of the network: the path of its pty."""
    elf = replace(_compiled(target), desk=Desk(port="-", baud=FAST)).build(folder, Measure.INSTRUCTIONS).elf
    board = load(target)
    assert board.qemu is not None
    with qemu_pty(elf, Machine(board.qemu.machine, board.qemu.cpu, board.toolset)) as (path, _):
        yield path


def _on(port: Path | str) -> Compiled:
    return replace(_compiled(), desk=Desk(port=str(port), baud=FAST))


@pytest.mark.qemu
@requires_qemu
def test_nothing_is_lost_on_a_faulty_line(tmp_path: Path) -> None:
    """Every kind of fault, many times; unplugged twice. Outputs are the references', and so is each operator."""
    samples = random_samples(_compiled().graph.inputs, 20, 0)
    expected = [outputs(_compiled().graph, evaluate(_compiled().graph, inputs)) for inputs in samples]
    with _board(tmp_path) as device:
        with faulty_line(device, tmp_path, 1 / 300, unplugs=(1000, 3000)) as line:
            found = _on(line.link).execute(samples).outputs
        for ours, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours[0], wanted[0])
        assert line.faults["unplugged"] == 2
        assert min(line.faults[kind] for kind in ("lost", "doubled", "damaged")) >= 10
        with faulty_line(device, tmp_path, 1 / 2000) as line:
            proof = validate(_on(line.link), samples=1)
        assert proof.exact and proof.mismatches == 0
        assert sum(line.faults.values()) >= 5


@pytest.mark.qemu
@requires_qemu
def test_cycles_operators_and_stack(tmp_path: Path) -> None:
    compiled = _compiled()
    samples = random_samples(compiled.graph.inputs, 2, 0)
    with _board(tmp_path) as device:
        total = _on(device).execute(samples).outcome.values
        by_operator = _on(device).execute(samples, Measure.INSTRUCTIONS_PER_OPERATOR).outcome.values
        stack = _on(device).execute(samples, Measure.STACK).outcome.values["stack_bytes"]
    assert 0 < total["first_cycles"] < total["cycles"]
    assert len(by_operator) == len(compiled.schedule.graph.ops) and min(by_operator.values()) > 0
    assert stack == compiled.execute(samples, Measure.STACK).outcome.values["stack_bytes"]


@pytest.mark.parametrize(
    ("target", "counter"),
    [
        board_param("lm3s6965evb", CycleCounter.SYSTICK),
        board_param("microbit", CycleCounter.SYSTICK),
        board_param("netduinoplus2", CycleCounter.SYSTICK),
        board_param("qemu-rv32", CycleCounter.MCYCLE),
    ],
)
def test_every_kind_of_uart(target: str, counter: CycleCounter, tmp_path: Path) -> None:
    """Two sessions, the second behind a restart of the program."""
    compiled = _compiled(target)
    samples = random_samples(compiled.graph.inputs, 2, 0)
    expected = [outputs(compiled.graph, evaluate(compiled.graph, inputs)) for inputs in samples]
    with _board(tmp_path, target) as device:
        on_board = replace(compiled, desk=Desk(port=device, baud=FAST))
        for _ in range(2):
            found = on_board.execute(samples)
            for ours, wanted in zip(found.outputs, expected, strict=True):
                np.testing.assert_array_equal(ours[0], wanted[0])
            assert found.outcome.values["counter"] == counter


def test_kinds_of_uarts_are_all_tried() -> None:
    boards = ("lm3s6965evb", "microbit", "mps2-an386", "netduinoplus2", "qemu-rv32")
    assert {uart.kind for board in boards if (uart := load(board).uart)} == set(UartKind)


@pytest.mark.qemu
@requires_qemu
def test_another_program(tmp_path: Path) -> None:
    other = compile_model(Path(DIGITS), replace(_compiled().options, name="another"))
    with _board(tmp_path) as device:
        with pytest.raises(WrongProgramError) as caught:
            replace(other, desk=Desk(port=device, baud=FAST)).execute(random_samples(other.graph.inputs, 1, 0))
        assert str(caught.value) == (
            f"{device}: the program of another network or build answers, that of this one was expected. Have it "
            "flashed with --flash-with pyocd or openocd; or write it with --firmware FILE, flash that, and try again."
        )


@given(st.integers(0, 255), st.integers(0, 65535), st.integers(0, 65535), st.binary(max_size=PAYLOAD_BYTES))
def test_frames_come_back(type: int, session: int, number: int, payload: bytes) -> None:
    frame = LinkFrame(type, session, number, payload)
    reader = FrameReader()
    assert 0 not in frame.encoded()[1:-1]
    assert reader.feed(b"noise" + frame.encoded() + frame.encoded()) == [frame, frame]


@given(st.binary(max_size=PAYLOAD_BYTES), st.lists(st.tuples(st.integers(0, 2), st.integers(0), st.integers(1, 255))))
def test_damaged_frames_are_dropped(payload: bytes, damages: list[tuple[int, int, int]]) -> None:
    frame = LinkFrame(FrameType.WRITE, 7, 9, payload)
    data = bytearray(frame.encoded())
    for kind, where, value in damages:
        at = where % len(data)
        if kind == 0:
            data[at] ^= value
        elif kind == 1:
            data.insert(at, value)
        elif len(data) > 1:
            del data[at]
    assert all(found == frame for found in FrameReader().feed(bytes(data)))


def test_a_line_of_noise_takes_no_memory() -> None:
    reader = FrameReader()
    for _ in range(100):
        reader.feed(b"\xaa" * 10_000)
    assert len(reader._pending) < 300


class _Impostor:
    """A device that says what it is told to, at the other end of a pty."""

    def __init__(self, end: int, says: list[tuple[FrameType, bytes]]) -> None:
        self._end, self._says, self._ends = end, says, False
        self._thread = threading.Thread(target=self._talk)
        self._thread.start()

    def close(self) -> None:
        self._ends = True
        self._thread.join()

    def _talk(self) -> None:
        reader, session, at = FrameReader(), 0, 0
        os.set_blocking(self._end, False)
        while not self._ends:
            try:
                frames = reader.feed(os.read(self._end, 4096))
            except OSError:
                frames = []
            for frame in frames:
                session = frame.session
                at = 0 if frame.type == FrameType.START else (frame.number + 1) & 0xFFFF
                if at < len(self._says):
                    type, payload = self._says[at]
                    os.write(self._end, LinkFrame(type, session, at, payload).encoded())
            time.sleep(0.005)


HELLO = (FrameType.HELLO, b"\1\1programs")


@pytest.mark.parametrize(
    ("says", "limits", "message"),
    [
        (
            [],
            LinkLimits(hello_s=0.3),
            "no program of tinygen's answers at 921600 baud, that of this network was expected.",
        ),
        (
            [(FrameType.HELLO, b"\2\1programs")],
            LinkLimits(),
            "a program of another tinygen answers, that of this one was expected.",
        ),
        (
            [HELLO],
            LinkLimits(silent_s=0.3),
            "the program has asked nothing for 0.3 s, a question was expected. It hangs,",
        ),
        (
            [HELLO, (FrameType.OPEN, b"\1/etc/passwd")],
            LinkLimits(),
            "opens '/etc/passwd', one of out.bin was expected.",
        ),
        ([HELLO, (FrameType.READ, b"\3\0\0\0\0\1\0")], LinkLimits(), "names a file that is not open."),
        (
            [HELLO, (FrameType.OPEN, b"\1out.bin"), (FrameType.WRITE, b"\0\0\0\0\0" + b"x" * 200)],
            LinkLimits(written_bytes=100),
            "writes 200 bytes at 0 of out.bin, which do not belong there.",
        ),
        (
            [HELLO, (FrameType.OPEN, b"\1out.bin"), (FrameType.WRITE, b"\0\xff\xff\xff\x7fx")],
            LinkLimits(),
            "writes 1 bytes at 2147483647 of out.bin, which do not belong there.",
        ),
        (
            [HELLO, (FrameType.OPEN, b"\0in.bin"), (FrameType.WRITE, b"\0\0\0\0\0x")],
            LinkLimits(),
            "writes 1 bytes at 0 of in.bin, which do not belong there.",
        ),
        ([HELLO, *[(FrameType.PRINT, b"x" * 256)] * 300], LinkLimits(), "prints more than 65,536 bytes."),
        (
            [HELLO, (FrameType.EXIT, b"\0\0\0\0\1\0\0\0")],
            LinkLimits(),
            "has read or written other bytes than this side.",
        ),
        (
            [HELLO, (FrameType.START, b""), (FrameType.EXIT, b"")],
            LinkLimits(silent_s=0.3),
            "has asked nothing for 0.3 s",
        ),
        ([HELLO, (99, b"")], LinkLimits(), "asks for 99, which is not known."),
    ],
)
def test_what_an_impostor_says(
    says: list[tuple[FrameType, bytes]], limits: LinkLimits, message: str, tmp_path: Path
) -> None:
    """A port is not trusted: no wait without end, no byte outside of the files, no memory that grows."""
    (tmp_path / "in.bin").write_bytes(b"")
    with own_pty() as (path, end):
        impostor = _Impostor(end, says)
        line = SerialLine(path, FAST, 1)
        try:
            with pytest.raises(ToolError) as caught:
                serve(
                    line, b"programs", LinkMode.CYCLES, tmp_path, frozenset({"in.bin"}), frozenset({"out.bin"}), limits
                )
        finally:
            line.close()
            impostor.close()
    assert message in str(caught.value)
    assert not (tmp_path / "out.bin").exists() or (tmp_path / "out.bin").stat().st_size == 0


def test_a_port_that_is_not_there(tmp_path: Path) -> None:
    line = SerialLine(str(tmp_path / "none"), FAST, 0.1)
    with pytest.raises(ToolError, match=r"none: cannot be opened \(.*\), a serial port was expected\."):
        line.write(b"x")


def test_without_pyserial(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(serial_port, "import_module", missing)
    with pytest.raises(ToolError) as caught:
        SerialLine("/dev/ttyACM0", FAST, 1).write(b"x")
    assert str(caught.value) == (
        "pyserial: is not installed, needed for --port. Install it with pip install 'tinygen[serial]'."
    )


def _tool(folder: Path, name: str, script: str) -> Callable[[], str]:
    """A program of that name, and what it was called with."""
    file = folder / name
    file.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{script}\n')
    file.chmod(0o755)
    return lambda: (folder / "calls").read_text()


def test_flashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    elf = tmp_path / "digits.elf"
    called = _tool(tmp_path, "pyocd", "exit 0")
    flash(elf, load("stm32h743zi"), Flasher.PYOCD)
    assert called() == f"load -t stm32h743xx --no-wait {elf}\nreset -t stm32h743xx --no-wait\n"
    (tmp_path / "calls").unlink()
    called = _tool(tmp_path, "openocd", "exit 0")
    flash(elf, load("stm32f407vg"), Flasher.OPENOCD)
    assert called() == f"-f interface/cmsis-dap.cfg -f target/stm32f4x.cfg -c program {{{elf}}} verify reset exit\n"
    _tool(tmp_path, "pyocd", "echo No target device available; exit 1")
    with pytest.raises(
        ToolError,
        match=r"pyocd: failed with exit code 1, see to probe and board\. It says:\nNo target device available",
    ):
        flash(elf, load("nrf52840"), Flasher.PYOCD)
    with pytest.raises(UsageError, match=r"--flash-with pyocd: mps2-an386 has no \[part\] with pyocd in its file"):
        flash(elf, load("mps2-an386"), Flasher.PYOCD)


def test_a_tool_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(desk_module, "_FLASHING_S", 0.1)
    _tool(tmp_path, "pyocd", "exec sleep 5")
    with pytest.raises(ToolError, match=r"pyocd: has not ended within 0\.1 s"):
        flash(tmp_path / "x.elf", load("nrf52840"), Flasher.PYOCD)


def test_options_that_need_a_port() -> None:
    with pytest.raises(UsageError) as caught:
        _ = Desk(flash_with=Flasher.PYOCD).chosen
    assert str(caught.value) == (
        "--flash-with: is for a board at --port, which is not given, it was expected. Name the port."
    )


def test_boards_without_a_serial_port(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--port: stm32vldiscovery has no \[uart\] in its file"):
        replace(_compiled("stm32vldiscovery"), desk=Desk(port="-")).build(tmp_path, Measure.INSTRUCTIONS)
