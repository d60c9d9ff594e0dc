"""What kernels take of flash as code, in bytes: of each function and all that it needs, as GCC compiles it with -O2.

One table for each instruction set, in `code_tables/`, all of it written by `make calibrate-code`: functions of each
library, tinygen's own, those of the C library that these call, and what is generated around them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tinygen.kernels.base import Toolbox
from tinygen.kernels.prices import OWN, table_name
from tinygen.kernels.work import Work
from tinygen.targets.isa import Isa

FOLDER = Path(__file__).with_name("code_tables")
C_LIBRARY = "c library"  # part of a table for what kernels take from there
_CONSTANTS = ".rodata"  # what constants without a name of their own begin with in a table
CODE, LAYERS = "code", "layers"  # what is generated, as if these were functions with work


@dataclass(frozen=True, eq=False)
class CodeSizes:
    """Of one library and instruction set."""

    functions: Mapping[str, tuple[int, tuple[str, ...]]]  # bytes of each, or of a table of theirs; what it needs
    generated: Mapping[str, Mapping[str, float]]  # bytes of one of each term
    c_library: frozenset[str] = frozenset()  # functions that are of the C library

    def of_functions(self, names: Iterable[str]) -> int:
        """Of functions and all that they need, each once. What was not measured takes what few functions exceed."""
        return sum(self._own(name) for name in self.needed(names))

    def of_kernel_code(self, names: Iterable[str]) -> int:
        """The same without what is of the C library, and without constants."""
        kernels = self.needed(names) - self.c_library
        return sum(self._own(name) for name in kernels if not name.startswith(_CONSTANTS))

    def needed(self, names: Iterable[str]) -> frozenset[str]:
        """Functions and all that they need, tables included."""
        waiting, found = list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.functions.get(name, (0, ()))[1]
        return frozenset(found)

    def _own(self, name: str) -> int:
        return self.functions.get(name, (self._large, ()))[0]

    @cached_property
    def _large(self) -> int:
        """Bytes that nine of ten functions do not exceed."""
        sizes = sorted(own for own, _ in self.functions.values())
        return sizes[len(sizes) * 9 // 10]

    def of_generated(self, work: Work) -> float:
        """Of what is generated, as work of `CODE` or of `LAYERS`; templates that no measured plan had take the most."""
        terms = self.generated[work.function]
        most = max(terms.values())
        return sum(amount * terms.get(term, most) for term, amount in work.times.items())


def code_sizes(toolbox: Toolbox) -> CodeSizes:
    """Of the library's functions and of tinygen's own. The host has those of a core without extensions."""
    isa = Isa.SCALAR if toolbox.isa is Isa.HOST else toolbox.isa
    return _united(table_name(isa, toolbox.has_thumb2), toolbox.library.value)


@cache
def _united(set: str, library: str) -> CodeSizes:
    found: dict[str, Any] = json.loads(table_file(set).read_text(encoding="utf-8"))
    parts = (found["functions"][part] for part in (C_LIBRARY, OWN, library))
    functions = {name: (bytes, tuple(needed)) for part in parts for name, (bytes, *needed) in part.items()}
    return CodeSizes(functions, found["generated"], frozenset(found["functions"][C_LIBRARY]))


def table_file(set: str) -> Path:
    """Where a table stands."""
    return FOLDER / f"{set}.json"
