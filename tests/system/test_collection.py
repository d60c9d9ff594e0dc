import gc
from collections.abc import Iterator

import pytest

from tinygen.system.collection import rare_collections


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_python_looks_for_garbage_less_often_within_and_as_before_behind() -> None:
    gc.set_threshold(700, 10, 10)
    with pytest.raises(RuntimeError), rare_collections():
        assert gc.get_threshold()[0] > 10_000
        with rare_collections():
            pass
        assert gc.get_threshold()[0] > 10_000
        raise RuntimeError
    assert gc.get_threshold()[0] == 700


@pytest.mark.parametrize("asked", [0, 1_000_000])
def test_who_collects_never_or_even_less_often_is_left_alone(asked: int) -> None:
    gc.set_threshold(asked, 10, 10)
    with rare_collections():
        assert gc.get_threshold()[0] == asked
