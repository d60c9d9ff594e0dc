"""Frames of the serial line to a board, as `runtime_c/target/serial/link.c` has them: docs/serial.md.

A frame is its type, a session, a number, a payload and a CRC-32 of these, little-endian, between zeros, in runs of
other bytes behind their length plus 1: consistent overhead byte stuffing (Cheshire and Baker, IEEE/ACM Transactions on
Networking 7(2), 1999).
"""

import struct
import zlib
from dataclasses import dataclass, field
from enum import IntEnum

PAYLOAD_BYTES = 256
_HEADER = struct.Struct("<BHH")
_CHECK = struct.Struct("<I")
_LONGEST_RUN = 254
_LARGEST = _HEADER.size + PAYLOAD_BYTES + _CHECK.size
_LARGEST_ON_THE_LINE = _LARGEST + _LARGEST // _LONGEST_RUN + 1


class FrameType(IntEnum):
    """Who says what: the first two are the host's."""

    START = 1
    ANSWER = 2
    HELLO = 16
    OPEN = 17
    READ = 18
    WRITE = 19
    PRINT = 20
    EXIT = 21


@dataclass(frozen=True)
class LinkFrame:
    """One frame."""

    type: int
    session: int
    number: int
    payload: bytes = b""

    def encoded(self) -> bytes:
        """As it goes over the line."""
        body = _HEADER.pack(self.type, self.session, self.number) + self.payload
        return b"\0" + _stuffed(body + _CHECK.pack(zlib.crc32(body))) + b"\0"


@dataclass
class FrameReader:
    """Finds the frames in what comes; bytes of damaged ones are dropped."""

    damaged: int = 0  # frames so far
    _pending: bytearray = field(default_factory=bytearray)

    def feed(self, received: bytes) -> list[LinkFrame]:
        """The frames that end in `received`. Never keeps more than the longest one."""
        found = []
        *ended, rest = received.split(b"\0")
        for piece in ended:
            self._pending += piece[: _LARGEST_ON_THE_LINE + 1]
            is_something = bool(self._pending)
            frame = _decoded(bytes(self._pending))
            self._pending.clear()
            if frame is not None:
                found.append(frame)
            elif is_something:
                self.damaged += 1
        self._pending += rest
        del self._pending[_LARGEST_ON_THE_LINE + 1 :]
        return found


def _stuffed(data: bytes) -> bytes:
    out = bytearray()
    for index, piece in enumerate(pieces := data.split(b"\0")):
        while len(piece) >= _LONGEST_RUN:
            out += bytes([_LONGEST_RUN + 1]) + piece[:_LONGEST_RUN]
            piece = piece[_LONGEST_RUN:]
            if not piece and index == len(pieces) - 1:
                return bytes(out)
        out += bytes([len(piece) + 1]) + piece
    return bytes(out)


def _decoded(stuffed: bytes) -> LinkFrame | None:
    """The frame between two zeros; None where it is damaged."""
    data = bytearray()
    at = 0
    while at < len(stuffed):
        length = stuffed[at]
        if at + length > len(stuffed):
            return None
        data += stuffed[at + 1 : at + length]
        at += length
        if length <= _LONGEST_RUN and at < len(stuffed):
            data.append(0)
    body, check = bytes(data[: -_CHECK.size]), bytes(data[-_CHECK.size :])
    if not _HEADER.size <= len(body) <= _HEADER.size + PAYLOAD_BYTES or _CHECK.pack(zlib.crc32(body)) != check:
        return None
    type, session, number = _HEADER.unpack_from(body)
    return LinkFrame(type, session, number, body[_HEADER.size :])
