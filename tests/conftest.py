"""Options and fixtures of all tests."""

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.support.tools import requires_cmsis

settings.register_profile("untimed", deadline=None)  # no outcome depends on how busy the machine is
settings.load_profile("untimed")
# Hypothesis draws numbers that stand in the modules that were imported, so that what a seed gives would depend on the
# tests that ran before in the same process. There is no setting for it.
providers._get_local_constants = Constants


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the texts that golden tests compare with, instead of comparing."""
    parser.addoption("--update-golden", action="store_true", help="write golden texts anew")


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever requires CMSIS-NN's sources is marked `cmsis`: what `make test-cmsis` runs."""
    for item in items:
        if requires_cmsis.mark in item.iter_markers():
            item.add_marker("cmsis")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden texts are written anew."""
    return bool(request.config.getoption("--update-golden"))
