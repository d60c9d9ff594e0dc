"""Headless Chromium, for pages that must look right in a real browser."""

import json
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.html import Page

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


def in_browser(folder: Path, text: str, widths: Sequence[int], script: str) -> list[Any]:
    """What the script leaves in `found`, in a frame of each width: windows have a least one."""
    put = 'parent.document.body.dataset["found" + innerWidth] = JSON.stringify(found).replaceAll("&", "");'
    inside = escape(text.replace("</body>", f"<script>{{{script} {put}}}</script></body>"))
    file = folder / "page.html"
    frames = (f'<iframe width="{width}" height="800" frameborder="0" srcdoc="{inside}"></iframe>' for width in widths)
    file.write_text(f"<!DOCTYPE html><html><body>{''.join(frames)}</body></html>", encoding="utf-8")
    [body] = [attributes for tag, attributes in Page(dump_dom(file)).elements if tag == "body"]
    return [json.loads(body[f"data-found{width}"]) for width in widths]


def assert_nothing_is_wider(folder: Path, text: str) -> None:
    """A page fits windows of a phone, a tablet and a desk; what is wider scrolls in itself."""
    measure = """
        const found = { page: document.documentElement.scrollWidth, window: innerWidth };
        const isWide = element => element.getBoundingClientRect().right > innerWidth + 0.5;
        found.wide = [...document.querySelectorAll("body *")].filter(
            element => !element.closest(".wide, svg *, .skip") && isWide(element)
        ).map(element => element.outerHTML.slice(0, 200));
    """
    widths = (360, 768, 1280)
    expected = [{"page": width, "window": width, "wide": []} for width in widths]
    assert in_browser(folder, text, widths, measure) == expected


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
