"""The machines that code is generated for: boards, their memories and instruction sets."""

from tinygen.targets.board import Board, Engine, EngineKind, Memory, MemoryKind, Qemu
from tinygen.targets.catalog import load, names
from tinygen.targets.isa import Isa
from tinygen.targets.size import format_size, parse_size

__all__ = [
    "Board",
    "Engine",
    "EngineKind",
    "Isa",
    "Memory",
    "MemoryKind",
    "Qemu",
    "format_size",
    "load",
    "names",
    "parse_size",
]
