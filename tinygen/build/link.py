"""The host's side of the serial line: a program on a board asks, and is answered; what is lost is asked anew.

Only this side has a clock. It repeats its last answer where nothing comes for a while, which makes the program repeat
what it has asked since; questions that were answered already are not answered, nor carried out, again. A line that was
unplugged is opened again, and the exchange goes on where it was.
"""

import secrets
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from tinygen.build.link_frames import PAYLOAD_BYTES, FrameReader, FrameType, LinkFrame
from tinygen.build.outcome import Outcome, outcome
from tinygen.errors import ToolError
from tinygen.system.serial_port import PortError, opened

_PROTOCOL = 1
_PROGRAM_BYTES = 8
_FRAME_BYTES = 280  # on the line, at most
_BITS = 10  # of a byte on the line, with start and stop
_LATENCY_S = 0.05  # of drivers and adapters
_LONGEST_PAUSE_S = 0.5  # between two repetitions
_REOPEN_S = 0.2  # between two tries
_MOST_TEXT = 1 << 16  # bytes that a program may print
_MOST_FILES = 4


class LinkMode(IntEnum):
    """What a program is asked to do besides running samples: the numbers of `tg_link.h`."""

    CYCLES = 1
    PER_OPERATOR = 2
    STACK = 3
    TRACE = 4


class CycleCounter(IntEnum):
    """What counts on the board."""

    SYSTICK = 1
    DWT = 2
    MCYCLE = 3


class WrongProgramError(ToolError):
    """Another program than the wanted one answers, or none."""


@dataclass(frozen=True)
class LinkLimits:
    """How long is waited for what, and how much a program may write."""

    hello_s: float = 10.0  # until a program answers at all
    unplugged_s: float = 60.0  # until a line is there again
    silent_s: float = 300.0  # until a question comes, inference included
    written_bytes: int = 1 << 30  # of all files


@dataclass
class SerialLine:
    """A serial port that is opened again where it was unplugged."""

    device: str
    baud: int
    unplugged_s: float
    _port: Any = None

    def read(self, timeout_s: float) -> bytes:
        """What has come, up to one frame; nothing where nothing comes in time, or the line is not there."""
        port = self._opened()
        try:
            port.timeout = timeout_s
            first: bytes = port.read(1)
            return first + port.read(min(port.in_waiting, _FRAME_BYTES)) if first else b""
        except (OSError, TypeError, ValueError):  # what pyserial raises of a port that is gone
            self.close()
            return b""

    def write(self, data: bytes) -> None:
        """Send all of it; what cannot be sent is lost, as anything on a line may be."""
        port = self._opened()
        try:
            port.write(data)
        except (OSError, TypeError, ValueError):
            self.close()

    def close(self) -> None:
        """Let go of the port."""
        if self._port is not None:
            try:
                self._port.close()
            finally:
                self._port = None

    def _opened(self) -> Any:
        if self._port is not None:
            return self._port
        end = time.monotonic() + self.unplugged_s
        while True:
            try:
                self._port = opened(self.device, self.baud)
                return self._port
            except PortError:
                if time.monotonic() > end:
                    raise
            time.sleep(_REOPEN_S)


@dataclass
class _Conversation:
    """One run of a program."""

    line: SerialLine
    folder: Path  # of its files
    readable: frozenset[str]
    writable: frozenset[str]
    limits: LinkLimits
    session: int = field(default_factory=lambda: 1 + secrets.randbelow(0xFFFF))
    reader: FrameReader = field(default_factory=FrameReader)
    files: list[Path] = field(default_factory=list)
    text: bytearray = field(default_factory=bytearray)
    written: int = 0
    transferred: int = 0  # CRC-32 of all that was read and written

    def next_question(self, last: bytes, number: int, end_s: float) -> LinkFrame | None:
        """What is asked next; `last` is repeated until it comes. None where it does not in time."""
        end = time.monotonic() + end_s
        pause = 4 * _FRAME_BYTES * _BITS / self.line.baud + _LATENCY_S
        self.line.write(last)
        while time.monotonic() < end:
            again, damaged = time.monotonic() + pause, self.reader.damaged
            while (left := again - time.monotonic()) > 0 and self.reader.damaged == damaged:
                for frame in self.reader.feed(self.line.read(left)):
                    if frame.session == self.session and frame.number == number and frame.type >= FrameType.HELLO:
                        return frame
            self.line.write(last)
            pause = min(2 * pause, _LONGEST_PAUSE_S)  # also what repeats while an inference takes its time
        return None

    def answered(self, number: int, payload: bytes) -> bytes:
        return LinkFrame(FrameType.ANSWER, self.session, number, payload).encoded()

    def answer(self, asked: LinkFrame) -> bytes:
        """The answer to a question, which is carried out."""
        carry_out: Mapping[int, Callable[[bytes], bytes]] = {
            FrameType.OPEN: self._open,
            FrameType.READ: self._read,
            FrameType.WRITE: self._write,
            FrameType.PRINT: self._print,
        }
        if asked.type not in carry_out:
            raise _broken(f"asks for {asked.type}, which is not known")
        return carry_out[asked.type](asked.payload)

    def _open(self, payload: bytes) -> bytes:
        name = payload[1:].decode(errors="replace")
        allowed = self.writable if payload[:1] == b"\1" else self.readable
        if name not in allowed or len(self.files) == _MOST_FILES:
            raise _broken(f"opens '{name[:40]}', one of {', '.join(sorted(allowed))} was expected")
        if name in self.writable:
            (self.folder / name).write_bytes(b"")
        self.files.append(self.folder / name)
        return bytes([len(self.files) - 1])

    def _at(self, payload: bytes) -> tuple[Path, int]:
        """File and position that a question is about."""
        if len(payload) < 5 or payload[0] >= len(self.files):
            raise _broken("names a file that is not open")
        return self.files[payload[0]], int.from_bytes(payload[1:5], "little")

    def _read(self, payload: bytes) -> bytes:
        file, position = self._at(payload)
        with file.open("rb") as stream:
            stream.seek(position)
            found = stream.read(min(int.from_bytes(payload[5:7], "little"), PAYLOAD_BYTES))
        self.transferred = zlib.crc32(found, self.transferred)
        return found

    def _write(self, payload: bytes) -> bytes:
        file, position = self._at(payload)
        data = payload[5:]
        self.written += len(data)
        if (
            self.written > self.limits.written_bytes
            or position != file.stat().st_size
            or file.name not in self.writable
        ):
            raise _broken(f"writes {len(data)} bytes at {position} of {file.name}, which do not belong there")
        with file.open("ab") as stream:
            stream.write(data)
        self.transferred = zlib.crc32(data, self.transferred)
        return b""

    def _print(self, payload: bytes) -> bytes:
        self.text += payload
        if len(self.text) > _MOST_TEXT:
            raise _broken(f"prints more than {_MOST_TEXT:,} bytes")
        return b""


@dataclass(frozen=True)
class SerialRun:
    """What a program on a board did."""

    outcome: Outcome
    counter: CycleCounter


def serve(
    line: SerialLine,
    program: bytes,
    mode: LinkMode,
    folder: Path,
    readable: frozenset[str],
    writable: frozenset[str],
    limits: LinkLimits,
) -> SerialRun:
    """Answer the program at the other end, whose hash is `program`, until it ends; its files are those in `folder`.

    Raises WrongProgramError where it is another one or none answers, ToolError where the line is gone or silent for
    longer than the limits allow, or something comes that no such program says.
    """
    talk = _Conversation(line, folder, readable, writable, limits)
    start = LinkFrame(FrameType.START, talk.session, 0xFFFF).encoded()
    hello = talk.next_question(start, 0, limits.hello_s)
    counter = _checked_hello(line, hello, program)
    last, number = talk.answered(0, bytes([mode])), 1
    while True:
        asked = talk.next_question(last, number & 0xFFFF, limits.silent_s)
        if asked is None:
            raise ToolError(
                f"{line.device}: the program has asked nothing for {limits.silent_s:g} s, a question was expected. It "
                f"hangs, or the line is broken. Its last words: {bytes(talk.text[-200:])!r}"
            )
        if asked.type == FrameType.EXIT:
            return SerialRun(_ended(talk, asked), counter)
        last = talk.answered(asked.number, talk.answer(asked))
        number += 1


def _checked_hello(line: SerialLine, hello: LinkFrame | None, program: bytes) -> CycleCounter:
    """What counts on the board."""
    if hello is None:
        raise WrongProgramError(
            f"{line.device}: no program of tinygen's answers at {line.baud} baud, that of this network was expected."
        )
    payload = hello.payload
    if hello.type != FrameType.HELLO or len(payload) != 2 + _PROGRAM_BYTES or payload[0] != _PROTOCOL:
        raise WrongProgramError(f"{line.device}: a program of another tinygen answers, that of this one was expected.")
    if payload[2:] != program:
        raise WrongProgramError(
            f"{line.device}: the program of another network or build answers, that of this one was expected."
        )
    if payload[1] not in set(CycleCounter):
        raise _broken(f"counts by {payload[1]}, which is not known")
    return CycleCounter(payload[1])


def _ended(talk: _Conversation, asked: LinkFrame) -> Outcome:
    """How a program has ended; the answer lets it begin anew."""
    talk.line.write(talk.answered(asked.number, b""))
    if len(asked.payload) != 8:
        raise _broken("ends without a code")
    code, transferred = (int.from_bytes(asked.payload[at : at + 4], "little") for at in (0, 4))
    if transferred != talk.transferred:
        raise _broken("has read or written other bytes than this side")
    return outcome(code, talk.text.decode(errors="replace"))


def _broken(what: str) -> ToolError:
    return ToolError(f"program on the board: {what}. It is none of tinygen's, or its memory is overwritten.")
