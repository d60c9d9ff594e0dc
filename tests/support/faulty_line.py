"""A serial line that loses, doubles and damages bytes, and is unplugged: a pty in front of another one."""

import os
import random
import select
import threading
import time
import tty
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CHUNK = 4096
_UNPLUGGED_S = 0.2


class FaultyLine:
    """Bytes between a device's pty and one of its own, whose path is a link that stays."""

    def __init__(self, device: str, link: Path, rate: float, unplugs: tuple[int, ...], seed: int) -> None:
        self.faults: Counter[str] = Counter()
        self.link = link
        self._device = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self._device)
        self._rate = rate  # of each kind of fault, a byte
        self._unplugs = list(unplugs)  # after so many bytes
        self._random = random.Random(seed)
        self._bytes = 0
        self._ends = False
        self._plug()
        self._thread = threading.Thread(target=self._relay)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._ends = True
        self._thread.join()
        self._unplug()
        os.close(self._device)

    def _plug(self) -> None:
        self._own, self._others = os.openpty()
        tty.setraw(self._others)
        self.link.symlink_to(os.ttyname(self._others))

    def _unplug(self) -> None:
        self.link.unlink()
        os.close(self._others)
        os.close(self._own)

    def _relay(self) -> None:
        while not self._ends:
            ready, _, _ = select.select([self._device, self._own], [], [], 0.05)
            for source in ready:
                target = self._own if source == self._device else self._device
                try:
                    data = os.read(source, _CHUNK)
                    os.write(target, bytes(self._spoilt(data)))
                except (BlockingIOError, OSError):
                    self.faults["refused"] += 1
            if self._unplugs and self._bytes > self._unplugs[0]:
                del self._unplugs[0]
                self.faults["unplugged"] += 1
                self._unplug()
                time.sleep(_UNPLUGGED_S)
                self._plug()

    def _spoilt(self, data: bytes) -> Iterator[int]:
        for byte in data:
            self._bytes += 1
            drawn = self._random.random() / self._rate if self._rate else 9
            if drawn < 1:
                self.faults["lost"] += 1
                continue
            yield byte
            if drawn < 2:
                self.faults["doubled"] += 1
                yield byte
            elif drawn < 3:
                self.faults["damaged"] += 1
                yield byte ^ (1 << self._random.randrange(8))


@contextmanager
def faulty_line(
    device: str, folder: Path, rate: float = 0, unplugs: tuple[int, ...] = (), seed: int = 0
) -> Iterator[FaultyLine]:
    """The line to the pty `device`: each fault at `rate` a byte, unplugged after so many bytes."""
    line = FaultyLine(device, folder / "ttyACM0", rate, unplugs, seed)
    try:
        yield line
    finally:
        line.close()
