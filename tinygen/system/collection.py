"""Python's search for cycles of references that nobody holds: it looks at many objects that stay, and finds little."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_BETWEEN = 400_000  # objects that are made between two searches: some ten megabytes


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for garbage less often, where a body makes many objects that stay; also a decorator.

    Planning takes a quarter less time so. It changes when memory is given back, nothing else; where the application
    collects never, or even less often, that stays.
    """
    before, *later = gc.get_threshold()
    if 0 < before < _BETWEEN:
        gc.set_threshold(_BETWEEN, *later)
    try:
        yield
    finally:
        gc.set_threshold(before, *later)
