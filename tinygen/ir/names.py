"""Names that nothing else in a graph has."""

from collections.abc import Container


def unused(name: str, *taken: Container[str]) -> str:
    """`name`, with as many primes behind it as make it one that is in none of `taken`."""
    while any(name in names for names in taken):
        name += "'"
    return name
