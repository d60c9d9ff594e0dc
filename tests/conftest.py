"""Options and fixtures of all tests."""

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # no outcome depends on how busy the machine is
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the texts that golden tests compare with, instead of comparing."""
    parser.addoption("--update-golden", action="store_true", help="write golden texts anew")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden texts are written anew."""
    return bool(request.config.getoption("--update-golden"))
