"""Headless Chromium, for pages that must look right in a real browser."""

import shutil
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

_BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--window-size=1400,1800",
]

requires_chromium = pytest.mark.skipif(
    _BROWSER is None, reason="chromium missing: pages are not looked at in a browser"
)


def dump_dom(page: Path) -> str:
    """The document after its scripts have run; fails where one of them does."""
    return _run(page, "--dump-dom")


def screenshot(page: Path, image: Path) -> None:
    """A picture of the page as a PNG file."""
    _run(page, f"--screenshot={image}")


def png_size_and_changes(image: Path) -> tuple[tuple[int, int], int]:
    """Width and height of a PNG file, and how many of its bytes differ from what their neighbours foretell.

    PNG stores differences to neighbours: a blank picture has next to none.
    """
    data = image.read_bytes()
    position, packed, size = 8, b"", (0, 0)
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        body = data[position + 8 : position + 8 + length]
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        packed += body if kind == b"IDAT" else b""
        position += length + 12
    rows: npt.NDArray[np.uint8] = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(size[1], -1)
    return size, int(np.count_nonzero(rows[:, 1:]))


def _run(page: Path, *options: str) -> str:
    assert _BROWSER is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        done = subprocess.run(
            [_BROWSER, *_OPTIONS, f"--user-data-dir={profile}", *options, page.resolve().as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    faults = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert done.returncode == 0 and not faults, done.stderr
    return done.stdout
