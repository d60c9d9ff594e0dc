"""Every kernel class and its template agree on what the template takes."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

from tinygen import kernels
from tinygen.codegen.environment import environment
from tinygen.kernels.base import Kernel

for _module in pkgutil.walk_packages(kernels.__path__, "tinygen.kernels."):
    importlib.import_module(_module.name)


def _classes(kind: type[Kernel]) -> Iterator[type[Kernel]]:
    for found in kind.__subclasses__():
        yield from _classes(found)
        if hasattr(found, "template"):
            yield found


def _name(kind: type[Kernel]) -> str:
    return f"{kind.__module__}.{kind.__name__}"


_KINDS = sorted(set(_classes(Kernel)), key=_name)


@pytest.mark.parametrize("kind", _KINDS, ids=_name)
def test_a_runner_takes_parts_where_its_kernel_says_so(kind: type[Kernel]) -> None:
    runner = environment().get_template(f"ops/{kind.template}.c.j2").module.runner  # type: ignore[attr-defined]
    assert len(runner.arguments) == 1 + kind.takes_parts
