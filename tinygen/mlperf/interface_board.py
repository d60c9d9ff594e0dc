"""The interface board of the streaming wake word, emulated: it plays tracks to the firmware and watches its pins.

Its clock is that of the samples: block n is there n blocks of time after the first, and what a pin does while a block
is processed comes as much later as the device's own clock says. So times do not depend on how fast the emulator runs.
"""

import os
import select
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tinygen.errors import TinygenError
from tinygen.mlperf.sound_link import Event, EventKind, SoundLink
from tinygen.mlperf.tracks import SAMPLE_RATE, read_track

TICK_US = 10  # of the board's timer
MERGED_MS = 10  # detections that follow each other sooner are one

_TERMINATOR = b"%"
_LONGEST_COMMAND = 1024
_PER_LINE = 8  # numbers of `print_dutycycle`
_LOOK_S = 0.5
_CLOCK_RANGE = 1 << 32  # microseconds of the device


@dataclass
class InterfaceBoard:
    """What the runner's `type: interface` device does, with tracks of a folder in place of a memory card."""

    link: SoundLink
    folder: Path
    detections_ms: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # ticks at which blocks begin to be processed
    stops: list[int] = field(default_factory=list)
    _begun: Event | None = field(default=None)  # the block that is processed

    def answer(self, command: str) -> list[str]:
        """The lines of the answer, the final one among them."""
        name, _, rest = command.strip().partition(" ")
        commands: dict[str, Callable[[str], list[str]]] = {
            "name": lambda _: ["tinygen's interface board"],
            "setbaud": lambda baud: [f"set baud to: {baud}"],
            "ls": lambda _: sorted(file.name for file in self.folder.iterdir() if file.is_file()),
            "record_detections": lambda _: self._record(),
            "play": self._play,
            "print_detections": lambda _: ["Detection Timestamps (ms)", *(f"{time}," for time in self.detections_ms)],
            "print_dutycycle": lambda _: [
                *("Duty cycle start times (s)", *_lines(self.starts)),
                *("Duty cycle stop times (s)", *_lines(self.stops)),
            ],
        }
        known = commands.get(name)
        try:
            lines = [f"e-[Unknown command: {name}]"] if known is None else known(rest.strip())
        except (TinygenError, OSError) as error:
            lines = [f"e-[{error}]"]
        return [*lines, "m-ready"]

    def _record(self) -> list[str]:
        """Forget what was, the movements of pins that nobody has read among it."""
        self.link.events()
        self._begun = None
        for times in (self.detections_ms, self.starts, self.stops):
            times.clear()
        return ["Now recording detections"]

    def _play(self, name: str) -> list[str]:
        samples, size = read_track(self.folder, name), self.link.block_samples
        for start in range(0, len(samples) - size + 1, size):
            self.link.give(samples[start : start + size])
            self._watch()
        self.link.settle()
        self._watch()
        return [f"Attempting to play {name}", "succeeded."]

    def _watch(self) -> None:
        for event in self.link.events():
            if event.kind is EventKind.PROCESSING_BEGINS:
                self._begun = event
                self.starts.append(self._ticks(event))
            elif self._begun is not None and event.kind is EventKind.PROCESSING_ENDS:
                self.stops.append(self._ticks(event))
            elif self._begun is not None:
                time_ms = self._ticks(event) * TICK_US // 1000
                if not self.detections_ms or time_ms > self.detections_ms[-1] + MERGED_MS:
                    self.detections_ms.append(time_ms)

    def _ticks(self, event: Event) -> int:
        """When something happened, by the clock of the samples."""
        assert self._begun is not None
        since = (event.microseconds - self._begun.microseconds) % _CLOCK_RANGE
        return (event.block * self.link.block_samples * 1_000_000 // SAMPLE_RATE + since) // TICK_US

    def serve(self, port: int) -> None:
        """Answer what comes through a file descriptor until the firmware has ended."""
        waiting = b""
        while not self.link.has_ended():
            ready, _, _ = select.select([port], [], [], _LOOK_S)
            waiting += os.read(port, _LONGEST_COMMAND) if ready else b""
            while _TERMINATOR in waiting:
                command, _, waiting = waiting.partition(_TERMINATOR)
                lines = self.answer(command.decode(errors="replace"))
                _write(port, "".join(f"{line}\r\n" for line in lines).encode())
            waiting = waiting[-_LONGEST_COMMAND:]


def _write(port: int, data: bytes) -> None:
    while data:
        data = data[os.write(port, data) :]


def _lines(times: Sequence[int]) -> list[str]:
    """Numbers as `print_dutycycle` has them."""
    return [
        "".join(f"{time}, " for time in times[start : start + _PER_LINE]) for start in range(0, len(times), _PER_LINE)
    ]
