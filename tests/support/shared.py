"""Models and reference data that stand beside the checkout, not in it."""

from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]
_FOLDER = _CHECKOUT.parent / "shared"

SHARED: Path | None = _FOLDER if _FOLDER.is_dir() else None


def shared_file(name: str) -> Path:
    """Path of `../shared/<name>`; the test is skipped where it is missing."""
    file = _FOLDER / name
    fetched = _CHECKOUT / name  # by `make models`
    if not file.exists() and fetched.exists():
        return fetched
    if not file.exists():
        pytest.skip(f"../shared/{name} missing: nothing is tested with it")
    return file
