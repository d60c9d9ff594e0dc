"""Blocks of samples and the movements of pins in RAM that firmware under QEMU shares: the host's end.

The firmware's end is runtime_c/mlperf/sound/sound_port_shared_ram.c, whose struct sound_link this is.
"""

import mmap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tinygen.errors import ToolError
from tinygen.targets.board import Sound

Int16Array = npt.NDArray[np.int16]

_BLOCKS, _EVENTS = 8, 1024
_LISTENING, _GIVEN, _TAKEN, _COUNT = range(4)  # words at the beginning
_EVENT_WORDS = 3  # block, kind, microseconds
_WORDS = 4 + _EVENTS * _EVENT_WORDS
_PAUSE_S = 0.0005
_PATIENCE_S = 10.0  # for a block to be taken


class EventKind(IntEnum):
    """What a pin did."""

    PROCESSING_ENDS = 0
    PROCESSING_BEGINS = 1
    DETECTED = 2


@dataclass(frozen=True)
class Event:
    """The movement of a pin."""

    block: int  # how many blocks the firmware had taken
    kind: EventKind
    microseconds: int  # of the device's clock


@dataclass
class SoundLink:
    """Shared RAM. Blocks are given as fast as the firmware takes them."""

    block_samples: int
    words: npt.NDArray[np.uint32]
    samples: Int16Array  # [blocks, block_samples]
    has_ended: Callable[[], bool]  # the firmware
    _seen: int = field(default=0)

    @property
    def is_listening(self) -> bool:
        """Whether the firmware takes blocks."""
        return bool(self.words[_LISTENING])

    def give(self, block: Int16Array) -> bool:
        """The next block; False where the firmware does not listen. ToolError where it takes nothing any more."""
        end = time.monotonic() + _PATIENCE_S
        while self.is_listening:
            given = int(self.words[_GIVEN])
            if given - int(self.words[_TAKEN]) < _BLOCKS:
                self.samples[given % _BLOCKS] = block
                self.words[_GIVEN] = given + 1
                return True
            self._wait(end)
        return False

    def settle(self) -> None:
        """Wait until all blocks are processed, or the firmware listens no more."""
        end = time.monotonic() + _PATIENCE_S
        while self.is_listening and not self._is_idle():
            self._wait(end)

    def events(self) -> list[Event]:
        """Those since the last call; the oldest are lost where there are more than fit."""
        count = int(self.words[_COUNT])
        numbers = range(max(self._seen, count - _EVENTS), count)
        self._seen = count
        return [self._event(number) for number in numbers]

    def _event(self, number: int) -> Event:
        start = 4 + number % _EVENTS * _EVENT_WORDS
        block, kind, microseconds = (int(word) for word in self.words[start : start + _EVENT_WORDS])
        if kind not in set(EventKind):
            raise ToolError(
                f"firmware: tells of an event of kind {kind}, {min(EventKind)} to {max(EventKind)} were expected."
            )
        return Event(block, EventKind(kind), microseconds)

    def _is_idle(self) -> bool:
        taken = int(self.words[_TAKEN])
        if taken == 0 or taken != int(self.words[_GIVEN]):
            return taken == int(self.words[_GIVEN])
        last = self._event(int(self.words[_COUNT]) - 1)
        return last.kind is EventKind.PROCESSING_ENDS and last.block == taken

    def _wait(self, end: float) -> None:
        if self.has_ended() or time.monotonic() > end:
            raise ToolError(f"firmware: takes no samples for {_PATIENCE_S:g} s, or has ended; one block was expected.")
        time.sleep(_PAUSE_S)


def sound_link(ram: Path, sound: Sound, block_samples: int, has_ended: Callable[[], bool]) -> SoundLink:
    """The link in a file that is the RAM of an emulated board; it stays mapped as long as the link is there."""
    with ram.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    start = sound.link_offset
    words = np.frombuffer(memory, np.uint32, _WORDS, start)
    samples = np.frombuffer(memory, np.int16, _BLOCKS * block_samples, start + 4 * _WORDS)
    return SoundLink(block_samples, words, samples.reshape(_BLOCKS, block_samples), has_ended)
