"""The power monitor of energy mode, emulated: it answers as an LPM01A does, and sees the time stamps of the firmware.

An emulator draws no power, so each sample is the same nominal one: a session with it shows that a board's would come
to its end, and says nothing of energy. In energy mode the runner talks to the firmware through an interface board,
which is here too: lines go at the pace of that mode, and one with a time stamp is the edge that a board would give on
its pin. Between the two stamps of an inference the monitor's time is the firmware's, so that a measurement is as long
as the firmware says, however busy the machine is; otherwise it is the host's.
"""

import os
import re
import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

SAMPLE = "1000-09"  # joules of a millisecond: 1 mW
SAMPLES_PER_S = 1000
BAUD = 9600  # of the firmware in energy mode
_BITS = 10  # of a character on the line
_LAP = re.compile(rb"^m-lap-us-(\d+)\r?$")
_COUNTER_US = 1 << 32  # where time stamps begin anew
_READ_BYTES = 4096
_LOOK_S = 0.005
_LONGEST_COMMAND = 1024
_DUT = "dut "  # before a command for the firmware
_FROM_DUT = b"[dut]: "


@dataclass
class PowerMonitor:
    """What the runner's `type: power` device does: samples of energy at 1 kHz, and events between them."""

    clock: Callable[[], float] = time.monotonic  # seconds
    events: int = 0
    _started: float | None = None  # None: it takes no samples
    _given: int = 0
    _measures: bool = False  # between the two edges of a measurement

    def answer(self, command: str) -> list[str]:
        """The lines of the answer to a command of the runner's."""
        name = command.strip()
        if name == "start":
            self._started, self._given, self._measures = self.clock(), 0, False
        elif name == "stop":
            self._started = None
            return ["ack stop", "summary end", "Acquisition completed"]
        return [f"ack {name}"] if name else []

    def samples(self) -> list[str]:
        """The lines of the samples that are due: none while the firmware measures."""
        if self._started is None or self._measures:
            return []
        return self._until(int((self.clock() - self._started) * SAMPLES_PER_S))

    def event(self, measured_us: int | None = None) -> list[str]:
        """The lines of an edge on the pin, behind the samples up to now.

        With `measured_us` it is the second one of a measurement, which has taken so long by the firmware's clock.
        """
        if self._started is None:
            return []
        if measured_us is None:
            lines, self._measures = self.samples(), True
        else:
            lines, self._measures = self._until(self._given + measured_us * SAMPLES_PER_S // 1_000_000), False
            self._started = self.clock() - self._given / SAMPLES_PER_S
        lines.append(f"event {self.events:02} ris")
        self.events += 1
        return lines

    def _until(self, due: int) -> list[str]:
        lines = []
        while self._given < due:
            if self._given % SAMPLES_PER_S == 0:
                lines.append(f"TimeStamp: {self._given // SAMPLES_PER_S % 1000:03}s 000ms, buff 00%")
            lines.append(SAMPLE)
            self._given += 1
        return lines


@dataclass
class EnergyBench:
    """Firmware, interface board and monitor on their lines, by file descriptors."""

    firmware: int
    interface: int  # the runner's port of the interface board
    power: int  # its port of the monitor
    monitor: PowerMonitor = field(default_factory=PowerMonitor)
    _begun_us: int | None = None  # the first time stamp of the measurement that is under way
    _line: bytes = b""  # of the firmware, so far
    _asked: bytes = b""  # of the interface board, so far
    _commands: bytes = b""  # for the monitor, so far
    _waiting: deque[bytes] = field(default_factory=deque)  # characters for the runner
    _next: float = 0.0  # when the next of them may go

    def serve(self, has_ended: Callable[[], bool]) -> None:
        """Carry lines until the firmware has ended."""
        while not has_ended():
            self.turn()

    def turn(self) -> None:
        """What stands at the lines now, and the samples that are due."""
        ready, _, _ = select.select([self.firmware, self.interface, self.power], [], [], _LOOK_S)
        if self.interface in ready:
            self._ask(_read(self.interface))
        if self.firmware in ready:
            self._from_firmware(_read(self.firmware))
        if self.power in ready:
            self._answer(_read(self.power))
        self._say(self.monitor.samples())
        self._forward()

    def _ask(self, data: bytes) -> None:
        """Commands of the runner's: for the firmware, or for the board itself."""
        *commands, self._asked = (self._asked + data).split(b"%")
        self._asked = self._asked[-_LONGEST_COMMAND:]
        for command in commands:
            text = command.decode(errors="replace").strip()
            if text.startswith(_DUT):
                self._answer_runner(f"sent: {text}", "m-ready")
                _write(self.firmware, f"{text.removeprefix(_DUT)}%".encode())
            elif text.startswith("setbaud "):
                self._answer_runner(f"set baud to: {text.removeprefix('setbaud ')}", "m-ready")
            else:
                self._answer_runner(f"e-[Unknown command: {text}]", "m-ready")

    def _answer_runner(self, *lines: str) -> None:
        _write(self.interface, "".join(f"{line}\r\n" for line in lines).encode())

    def _from_firmware(self, data: bytes) -> None:
        """Each line with a time stamp is an edge, at the moment that it comes."""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            if stamp := _LAP.match(line):
                self._edge(int(stamp[1]))
            self._waiting.extend(bytes([byte]) for byte in _FROM_DUT + line + b"\n")

    def _edge(self, stamp_us: int) -> None:
        """Of the two of each measurement."""
        measured = None if self._begun_us is None else (stamp_us - self._begun_us) % _COUNTER_US
        self._begun_us = stamp_us if measured is None else None
        self._say(self.monitor.event(measured))

    def _forward(self) -> None:
        """As many characters as a line of energy mode carries in this time."""
        now = self.monitor.clock()
        self._next = max(self._next, now - _LOOK_S)
        while self._waiting and self._next <= now:
            _write(self.interface, self._waiting.popleft())
            self._next += _BITS / BAUD

    def _answer(self, data: bytes) -> None:
        *commands, self._commands = (self._commands + data).split(b"\n")
        self._commands = self._commands[-_LONGEST_COMMAND:]
        for command in commands:
            self._say(self.monitor.answer(command.decode(errors="replace")))

    def _say(self, lines: list[str]) -> None:
        if lines:
            _write(self.power, "".join(f"{line}\r\n" for line in lines).encode())


def _read(port: int) -> bytes:
    try:
        return os.read(port, _READ_BYTES)
    except OSError:  # nobody has a pty's other end open
        time.sleep(_LOOK_S)
        return b""


def _write(port: int, data: bytes) -> None:
    while data:
        data = data[os.write(port, data) :]
