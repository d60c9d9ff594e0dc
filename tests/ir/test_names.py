"""New names."""

from tinygen.ir.names import unused


def test_a_free_name_stays() -> None:
    assert unused("conv:bias", {"conv"}) == "conv:bias"


def test_a_taken_name_gets_primes_until_it_is_free() -> None:
    assert unused("x", {"x", "x'", "y"}) == "x''"


def test_names_may_be_taken_in_several_places() -> None:
    assert unused("x", {"x"}, {"x'"}) == "x''"
