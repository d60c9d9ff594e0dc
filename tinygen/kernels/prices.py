"""What kernels take, in instructions: prices of the terms of their work, of each function, measured under QEMU.

One table for each instruction set, in `price_tables/`, all of it written by `make calibrate-costs`: functions of each
library, and tinygen's own. A function that was not measured costs what similar work does: plans are only ranked by it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.cmsis_nn import convolution, multiplication
from tinygen.kernels.work import Work
from tinygen.targets.isa import Isa

FOLDER = Path(__file__).with_name("price_tables")
OWN = "tinygen"  # part of a table for tinygen's own functions; the others are named as their library is
ARMV6_M = "armv6-m"  # the table of cores that have not even Thumb-2
RV32IM = "rv32im"  # the table of RISC-V: compressed, atomic and float instructions change no count

BASES = {Isa.ZVE32X.value: RV32IM}  # tables that hold only what their sets run beside that of another

Terms = Mapping[str, float]  # what one of each takes
_CALL = "call"


@dataclass(frozen=True, eq=False)
class Prices:
    """Of one library and instruction set: by function, then by term."""

    functions: Mapping[str, Terms]

    def instructions(self, work: Work) -> float:
        """Of one call."""
        terms = self._terms(work)
        own = sum(amount * terms.get(term, 0.0) for term, amount in work.times.items())
        return own + sum(map(self.instructions, work.beside))

    def cheapest(self, works: Iterable[Work]) -> float:
        """Of the cheapest of several ways."""
        return min(map(self.instructions, works))

    def of_call(self, work: Work) -> float:
        """What a call takes that does nothing."""
        return self._terms(work).get(_CALL, 0.0)

    def has(self, work: Work) -> bool:
        """Whether the prices of the work are its own, not those of similar work."""
        return work.function in self.functions

    def _terms(self, work: Work) -> Terms:
        return self.functions.get(work.function) or self.functions[_similar(work)]


def _similar(work: Work) -> str:
    """A simple function that multiplies, or does not."""
    return convolution.ANY_CONVOLUTION if work.multiplies else multiplication.MULTIPLICATION


def prices(toolbox: Toolbox) -> Prices:
    """Of the library's functions and of tinygen's own.

    The host is ranked as a core without extensions, with tinygen's own as one with the DSP extension.
    """
    is_host = toolbox.isa is Isa.HOST
    library = table_name(Isa.SCALAR if is_host else toolbox.isa, toolbox.has_thumb2)
    own = table_name(Isa.DSP if is_host else toolbox.isa, toolbox.has_thumb2)
    return _united(BASES.get(library, library), toolbox.library.value, (BASES.get(own, own), own))


def faster_or_smaller(op: Op, kernels: Iterable[Kernel], toolbox: Toolbox) -> tuple[Kernel, ...]:
    """Those of the kernels for `op` that are of use, the fastest first: what is slower must need less scratch."""
    price = prices(toolbox)
    useful: list[Kernel] = []
    for kernel in sorted(kernels, key=lambda kernel: price.cheapest(kernel.works(op))):
        if not useful or kernel.scratch_bytes < useful[-1].scratch_bytes:
            useful.append(kernel)
    return tuple(useful)


def table_name(isa: Isa, has_thumb2: bool) -> str:
    """Of the table of an instruction set, and of its file."""
    if isa in (Isa.RV32IMC, Isa.RV32IMAC, Isa.RV32IMAFC):
        return RV32IM
    return isa.value if has_thumb2 else ARMV6_M


@cache
def _united(set: str, library: str, own_sets: tuple[str, ...]) -> Prices:
    own = {name: terms for own_set in own_sets for name, terms in table(own_set)[OWN].items()}
    return Prices({**table(set)[library], **own})


@cache
def table(name: str) -> Mapping[str, Mapping[str, Terms]]:
    """The table of an instruction set: by library or `OWN`, then by function, then by term."""
    found: dict[str, dict[str, dict[str, float]]] = json.loads(table_file(name).read_text(encoding="utf-8"))["prices"]
    return found


def table_file(name: str) -> Path:
    """Where a table stands."""
    return FOLDER / f"{name}.json"
