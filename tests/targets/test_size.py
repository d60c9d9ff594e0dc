"""Sizes as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygen.errors import UsageError
from tinygen.targets import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64K", 65536),
        ("64k", 65536),
        ("64KiB", 65536),
        ("64 KB", 65536),
        ("65536", 65536),
        (65536, 65536),
        ("0x10000", 65536),
        ("0X10K", 16384),
        (" 2M ", 2 << 20),
        ("1GiB", 1 << 30),
        ("12B", 12),
    ],
)
def test_forms(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "64Q", "-1", "0", "0x", "1.5K", "010", "64K64", "6 4", "64Ki iB", -5])
def test_refused(text: str | int) -> None:
    with pytest.raises(UsageError) as caught:
        parse_size(text)
    assert str(caught.value) == (
        f"size {str(text)!r}: is not a positive number of bytes, "
        "expected a form like 64K, 64KiB, 65536 or 0x10000. Correct the size."
    )


@given(st.integers(1, 1 << 40))
def test_format_says_exactly_the_size(size: int) -> None:
    assert parse_size(format_size(size)) == size
