"""The library's function beside tinygen's own, where both can run an operator."""

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.prices import prices

_CLEARLY_LESS = 0.95  # the prices of either are off by up to 5 % in the mean, and the library's takes scratch


def library_or_own(op: Op, library: Kernel | None, own: Kernel, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels to choose from, the cheapest first, each further one with less scratch: own ones take none.

    Without `library` the own one alone. Where kernels are not mixed, the library's is taken wherever there is one.
    """
    if library is None:
        return (own,)
    if not toolbox.mixes_kernels:
        return (library,)
    found = prices(toolbox)
    is_cheaper = found.instructions(library.work(op)) < _CLEARLY_LESS * found.instructions(own.work(op))
    return (library, own) if is_cheaper else (own,)
