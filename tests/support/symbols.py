"""Symbols of tinygen's kernels: their names in C behind a version."""

import ctypes
import re

from tinygen.build.kernel_sources import VERSION

VERSION_HEADER = VERSION / "tg_version.h"


def symbol_prefix() -> str:
    """What the symbols of all kernels begin with, as the header says."""
    found = re.search(r"^#define TG_V\(name\) (tg_v\d+_)##name$", VERSION_HEADER.read_text(), re.MULTILINE)
    assert found, f"{VERSION_HEADER.name}: has no version, `#define TG_V(name) tg_v1_##name` was expected"
    return found[1]


def symbol(name: str) -> str:
    """The symbol of a kernel: tg_softmax_s8 -> tg_v1_softmax_s8, arm_softmax_s8 -> tg_v1_arm_softmax_s8."""
    return symbol_prefix() + name.removeprefix("tg_")


class KernelLibrary(ctypes.CDLL):
    """A shared library of kernels whose functions are found by their names in C, tinygen's and CMSIS-NN's."""

    def __getattr__(self, name: str) -> "ctypes._NamedFuncPointer":
        try:
            return super().__getattr__(symbol(name))
        except AttributeError:
            return super().__getattr__(name)
