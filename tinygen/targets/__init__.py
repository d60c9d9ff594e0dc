"""The machines that code is generated for: boards, their memories and instruction sets."""

from tinygen.targets.board import (
    Board,
    Memory,
    MemoryKind,
    Microcontroller,
    Qemu,
    Sound,
    SoundKind,
    Timer,
    TimerKind,
    Uart,
    UartKind,
)
from tinygen.targets.catalog import cores, emulated_core, load, names, nearest, parts, search
from tinygen.targets.engine import Engine, EngineKind
from tinygen.targets.flash import Flash, FlashCache
from tinygen.targets.isa import Isa
from tinygen.targets.size import format_size, parse_size

__all__ = [
    "Board",
    "Engine",
    "EngineKind",
    "Flash",
    "FlashCache",
    "Isa",
    "Memory",
    "MemoryKind",
    "Microcontroller",
    "Qemu",
    "Sound",
    "SoundKind",
    "Timer",
    "TimerKind",
    "Uart",
    "UartKind",
    "cores",
    "emulated_core",
    "format_size",
    "load",
    "names",
    "nearest",
    "parse_size",
    "parts",
    "search",
]
