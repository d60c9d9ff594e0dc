"""Frames of a signal."""

from dataclasses import dataclass

MOST_CHANNELS = 1024
"""Of a row of features."""


@dataclass(frozen=True, kw_only=True)
class Framing:
    """Frames of `window_ms`, one every `step_ms`, of which each becomes a row of features."""

    sample_rate: int = 16000  # Hz
    window_ms: int = 25
    step_ms: int = 10
    channels: int = 32  # features of a row

    @property
    def window(self) -> int:
        """Samples of a frame."""
        return self.window_ms * self.sample_rate // 1000

    @property
    def step(self) -> int:
        """Samples from the beginning of a frame to that of the next."""
        return self.step_ms * self.sample_rate // 1000
