"""Sizes as people write them: `64K`, `64KiB`, `65536`, `0x10000`."""

import re

from tinygen.errors import UsageError

_SIZE = re.compile(r"(?P<number>0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19})\s*(?P<unit>[kKmMgG]?)(?:i?[bB])?")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_size(text: str | int) -> int:
    """Bytes meant by `text`; K, M and G are powers of 1024. UsageError where it is no positive size."""
    match = _SIZE.fullmatch(str(text).strip())
    number = int(match["number"], 0) * _UNITS[match["unit"].lower()] if match and _is_plain(match) else 0
    if number <= 0:
        raise UsageError(
            f"size {str(text)!r}: is not a positive number of bytes, "
            "expected a form like 64K, 64KiB, 65536 or 0x10000. Correct the size."
        )
    return number


def format_size(size: int) -> str:
    """The shortest of the forms `16M`, `64K`, `1000` that says exactly `size` bytes."""
    for unit in ("G", "M", "K"):
        if size and size % _UNITS[unit.lower()] == 0:
            return f"{size // _UNITS[unit.lower()]}{unit}"
    return str(size)


def _is_plain(match: re.Match[str]) -> bool:
    """Whether the digits are no octal-looking `010`, which Python and C read differently."""
    number = match["number"]
    return number[:2] in ("0x", "0X") or number == "0" or not number.startswith("0")
