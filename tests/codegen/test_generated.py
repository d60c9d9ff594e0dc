"""What benchmarks/generated.py says of a change: which C differs, and what has grown."""

from dataclasses import replace

from benchmarks.generated import BOARDS, MODELS, WAYS, Generated, differences, generated, grown
from tests.support.command_line import DIGITS


def test_item_13_at_least_150_combinations_are_compared() -> None:
    assert len(MODELS) * len(BOARDS) * len(WAYS) >= 150


def test_the_same_code_generates_the_same_c() -> None:
    first, again = (dict(generated([DIGITS])) for _ in range(2))
    made = {name: found for name, found in first.items() if isinstance(found, Generated)}
    assert len(made) >= len(first) * 4 / 5, "all but those that ask for CMSIS-NN"
    assert {name: again[name] for name in made} == made
    assert len({found.digest for found in made.values()}) > len(BOARDS)


def test_what_differs_and_what_has_grown_is_named() -> None:
    before = {"a": Generated("1", 100, 1000), "b": Generated("2", 100, 1000), "c": Generated("3", 100, 1000)}
    after = {
        "a": replace(before["a"], digest="9", arena_bytes=90),
        "b": replace(before["b"], digest="9", instructions=1001),
        "c": before["c"],
        "d": before["c"],
    }
    assert sorted(differences(before, after)) == [
        "a: 100 -> 90 bytes, 1000 -> 1000 instructions",
        "b: 100 -> 100 bytes, 1000 -> 1001 instructions",
    ]
    assert grown(before, after) == ["b"]
