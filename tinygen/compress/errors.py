"""What can be wrong with a compression, by code."""

from tinygen.errors import UsageError

_ARGUMENT = "TG-W302"
_SKIPPED = "TG-W301"


class CompressionError(UsageError, ValueError):
    """An argument that no compression takes."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{_ARGUMENT} {text}")


class CompressionWarning(UserWarning):
    """Weights that stay as they are, and why."""

    def __init__(self, weights: str, reason: str) -> None:
        super().__init__(f"{_SKIPPED} weights '{weights}' stay as they are: {reason}.")
