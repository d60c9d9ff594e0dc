"""A machine that generated code runs on: core, instruction set, memories, and QEMU's model of it."""

import re
from collections.abc import Mapping
from enum import StrEnum
from itertools import combinations
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tinygen.errors import UsageError
from tinygen.targets.compiler_flags import flags_problem
from tinygen.targets.engine import Engine, EngineKind, engines_problem
from tinygen.targets.engine_templates import EngineTemplates
from tinygen.targets.flash import Flash
from tinygen.targets.isa import ARCHITECTURES, ISAS_OF_CPU, WITHOUT_THUMB2, Isa
from tinygen.targets.size import parse_size
from tinygen.targets.toolset import Toolset, toolset

LONGEST_NAME = 64  # letters of a board and its memories; they are in names of files, macros and sections
QEMU_MACHINE = "^[a-z0-9][a-z0-9_.-]{0,63}$"
QEMU_CPU = "^[a-z0-9][a-zA-Z0-9_.,=-]{0,199}$"
NULL_BYTES = 16  # of RAM at address 0 that stay free
_NAME = "^[a-z0-9][a-z0-9_.-]*$"
_HARD_FLOATS = re.compile("-mfloat-abi=(hard|softfp)|-march=rv32[a-z]*[fg]")
_SOUND_BYTES = 1 << 16  # at the end of RAM that an emulator shares


class MemoryKind(StrEnum):
    """What a memory may hold: code and constants, or anything that changes."""

    ROM = "rom"
    RAM = "ram"


class UartKind(StrEnum):
    """Programming model of a serial port."""

    CMSDK = "cmsdk"  # the APB UART of Arm's Cortex-M System Design Kit
    NS16550 = "ns16550"  # the 16550, its registers next to each other
    NRF = "nrf"  # the one without DMA of nRF51 and nRF52
    PL011 = "pl011"  # Arm's PrimeCell
    STM32 = "stm32"  # the USART of STM32F1, F2, F4 and L1


class TimerKind(StrEnum):
    """Programming model of a free-running counter."""

    MPS_FPGAIO = "mps-fpgaio"  # COUNTER and PRESCALE of the FPGA system control of Arm's MPS boards
    RISCV_MTIME = "riscv-mtime"  # the machine timer of a core-local interruptor, which begins at the base


_Word = Annotated[int, Field(ge=0, lt=1 << 32)]
RegisterWrite = tuple[Annotated[int, Field(ge=0, lt=1 << 32, multiple_of=4)], _Word, _Word]  # address, cleared, set


def _size(value: str | int) -> int:
    try:
        return parse_size(value)
    except UsageError as error:
        raise ValueError(str(error).removesuffix(" Correct the size.")) from None


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Memory(_Frozen):
    """A region of addresses; `speed` 0 is the fastest of its kind on this board."""

    name: str = Field(pattern="^[a-z][a-z0-9_]*$", max_length=LONGEST_NAME)
    kind: MemoryKind
    origin: int = Field(ge=0, lt=1 << 32)
    size: Annotated[int, BeforeValidator(_size)]  # bytes
    speed: int = Field(default=0, ge=0)
    hot: bool = False  # constants that are read most often lie here; in RAM, the program's start copies them
    runs_code: bool = True  # whether the core can fetch instructions from here
    emulated: bool = True  # whether QEMU's machine has it
    source: str  # the document or model that origin and size were taken from

    @property
    def first(self) -> int:
        """The first address that may be used: nothing lies where a pointer would be null."""
        return NULL_BYTES if self.kind is MemoryKind.RAM and self.origin == 0 else self.origin

    @property
    def usable_bytes(self) -> int:
        """Bytes from there to the end."""
        return self.end - self.first

    @property
    def end(self) -> int:
        """First address behind the region."""
        return self.origin + self.size


class Uart(_Frozen):
    """The serial port that programs talk over."""

    kind: UartKind
    base: int = Field(ge=0, lt=1 << 32)  # address of its registers
    clock_hz: int = Field(gt=0, lt=1 << 32)
    setup: tuple[RegisterWrite, ...] = Field(default=(), max_length=32)  # of clocks and pins, before it starts
    source: str  # the document or model that the addresses were taken from

    @property
    def header(self) -> str:
        """The file with its functions, in runtime_c/target."""
        return f"tg_uart_{self.kind}.h"

    @property
    def setup_text(self) -> str:
        """What UART_SETUP of tg_uart_setup.h is."""
        steps = ("{" + ",".join(f"{number:#x}u" for number in step) + "}" for step in self.setup)
        return "{" + ",".join(steps) + "}"


class Timer(_Frozen):
    """The counter that benchmark firmware measures microseconds with."""

    kind: TimerKind
    base: int = Field(ge=0, lt=1 << 32)  # address of its registers
    clock_hz: int = Field(gt=0, lt=1 << 32)
    source: str  # the document or model that the address was taken from


class SoundKind(StrEnum):
    """How samples get to benchmark firmware that listens, and pins to those who watch them."""

    SHARED_RAM = "shared-ram"  # of the emulator, which an emulated interface board reads and writes


class Sound(_Frozen):
    """RAM of the emulated board at whose end blocks of samples and the times of pins lie."""

    kind: SoundKind
    base: int = Field(ge=0, lt=1 << 32)  # its first address
    size: Annotated[int, BeforeValidator(_size)]  # bytes, as the emulator has them
    source: str

    @property
    def link_base(self) -> int:
        """The address of what is shared."""
        return self.base + self.link_offset

    @property
    def link_offset(self) -> int:
        """From the beginning of the RAM."""
        return self.size - _SOUND_BYTES

    @field_validator("size")
    @classmethod
    def _holds_the_link(cls, size: int) -> int:
        if size < _SOUND_BYTES:
            raise ValueError(f"is {size}, expected at least the {_SOUND_BYTES} bytes of what is shared")
        return size


class Qemu(_Frozen):
    """How QEMU models the board."""

    machine: str = Field(pattern=QEMU_MACHINE)  # without options
    cpu: str | None = Field(default=None, pattern=QEMU_CPU)  # where the machine takes several, with its extensions
    systick_hz: int | None = Field(default=None, gt=0, lt=1 << 32)  # clock of SysTick under QEMU; None: it cannot count
    source: str


class Microcontroller(_Frozen):
    """What a microcontroller is called, and what it can do beside its core and memories."""

    vendor: str = Field(min_length=1)
    family: str = Field(min_length=1)
    names: tuple[str, ...] = ()  # that it goes by too, such as without the vendor's prefix
    also: tuple[Annotated[str, Field(pattern=_NAME, max_length=LONGEST_NAME)], ...] = Field(default=(), max_length=3)
    # boards of the same microcontroller with cores of its other instruction sets
    clock_hz: int | None = Field(default=None, gt=0, lt=1 << 32)  # the fastest of its core; None: not known for sure
    pyocd: str | None = None  # what pyOCD calls it; None: as tinygen does
    openocd: str | None = Field(default=None, pattern="^[a-zA-Z0-9_]{1,64}$")  # file in OpenOCD's folder of targets
    source: str  # the documents that core, floating-point unit and clock were taken from


class Board(_Frozen):
    """One machine, as its TOML file describes it. Memories of a kind stand fastest first."""

    name: str = Field(pattern=_NAME, max_length=LONGEST_NAME)
    description: str
    cpu: str
    isa: Isa
    flags: tuple[str, ...] = ()  # compiler options for core and floating point: see compiler_flags
    memories: tuple[Memory, ...] = Field(alias="memory", min_length=2)
    stack_bytes: Annotated[int, BeforeValidator(_size)]
    engines: tuple[Engine, ...] = Field(
        default=(Engine(kind=EngineKind.CMSIS_NN), Engine(kind=EngineKind.TINYGEN)), alias="engine"
    )
    part: Microcontroller | None = None  # where it is a microcontroller by itself, whatever board it is on
    flash: Flash | None = None  # None: memory of code and constants that never makes the core wait
    uart: Uart | None = None
    timer: Timer | None = None
    sound: Sound | None = None
    qemu: Qemu | None = None
    _templates: Mapping[str, EngineTemplates] = PrivateAttr(default_factory=dict)

    @field_validator("stack_bytes")
    @classmethod
    def _aligned(cls, stack_bytes: int, info: ValidationInfo) -> int:
        align = toolset(info.data.get("isa", Isa.SCALAR)).stack_align
        if stack_bytes % align:
            raise ValueError(f"is {stack_bytes}, expected a multiple of {align}")
        return stack_bytes

    @field_validator("flags")
    @classmethod
    def _allowed(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        problem = flags_problem(flags)
        if problem:
            raise ValueError(problem)
        return flags

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for problem in (self._core_problem(), self._memory_problem(), engines_problem(self.engines)):
            if problem:
                raise ValueError(problem)
        return self

    def _core_problem(self) -> str | None:
        isas = ISAS_OF_CPU.get(self.cpu)
        if isas is None:
            return f"cpu is {self.cpu!r}, expected one of {', '.join(ISAS_OF_CPU)}"
        if self.isa not in isas:
            return f"isa is '{self.isa}' with cpu {self.cpu!r}, expected {' or '.join(isas)}"
        return None

    def _memory_problem(self) -> str | None:
        names = [memory.name for memory in self.memories]
        if len(set(names)) != len(names):
            return f"memory names are {', '.join(names)}, expected each name once"
        for kind in MemoryKind:
            speeds = [memory.speed for memory in self._of_kind(kind)]
            if not speeds:
                return f"no memory has kind '{kind}', expected at least one"
            if speeds != sorted(speeds):
                return f"speeds of the {kind} memories are {speeds}, expected the fastest (lowest) first"
        for first, second in combinations(self.memories, 2):
            if first.origin < second.end and second.origin < first.end:
                return f"memories {first.name!r} and {second.name!r} overlap, expected separate addresses"
        if self.stack_bytes >= self.main_ram.size:
            return f"stack_bytes is {self.stack_bytes}, expected less than the {self.ram_bytes} of main RAM"
        return None

    def _of_kind(self, kind: MemoryKind) -> tuple[Memory, ...]:
        return tuple(memory for memory in self.memories if memory.kind is kind)

    @property
    def is_host(self) -> bool:
        """Whether programs run on the machine that tinygen runs on."""
        return self.isa is Isa.HOST

    @property
    def toolset(self) -> Toolset:
        """What makes and runs its programs; not asked of the host."""
        return toolset(self.isa)

    @property
    def link_flags(self) -> tuple[str, ...]:
        """`flags` for the linker, which chooses libraries by them: there is one for each base set of RISC-V alone."""
        return tuple(flag.split("_")[0] if flag.startswith("-march=rv") else flag for flag in self.flags)

    @property
    def assigns_engines(self) -> bool:
        """Whether the board says what its engines compute with, so that operators are assigned to them."""
        return any(engine.is_described for engine in self.engines)

    @property
    def templates(self) -> Mapping[str, EngineTemplates]:
        """By the name of an engine: what the folder of its templates holds."""
        return self._templates

    @property
    def listening(self) -> "Board":
        """The board without the RAM that firmware which listens shares with what gives it sound: memories end there."""
        if self.sound is None:
            return self
        shared = self.sound.link_base
        memories = [
            memory.model_copy(update={"size": shared - memory.origin})
            if memory.origin < shared < memory.end
            else memory
            for memory in self.memories
        ]
        return self.model_copy(update={"memories": tuple(memories)})

    def with_templates(self, found: Mapping[str, EngineTemplates]) -> "Board":
        """The board with the templates of its engines, which lie beside its file."""
        board = self.model_copy()
        board._templates = found
        return board

    @property
    def architecture(self) -> str:
        """That of the core, as `-march` of compilers names it; "host" where the program runs here."""
        return ARCHITECTURES[self.cpu]

    @property
    def has_thumb2(self) -> bool:
        """Whether the core has the instructions that assembly for Arm is written in; not asked of others."""
        return self.cpu not in WITHOUT_THUMB2

    @property
    def has_float_unit(self) -> bool:
        """Whether float32 is computed by instructions of the core, as its compiler options say."""
        return any(_HARD_FLOATS.match(flag) for flag in self.flags) or self.is_host

    @property
    def rams(self) -> tuple[Memory, ...]:
        """All RAM regions, fastest first."""
        return self._of_kind(MemoryKind.RAM)

    @property
    def main_ram(self) -> Memory:
        """RAM that holds stack, data and, unless told otherwise, the arena."""
        return self.rams[0]

    @property
    def boot_memory(self) -> Memory:
        """ROM that the core reads its vector table from."""
        return self._of_kind(MemoryKind.ROM)[0]

    @property
    def code_memory(self) -> Memory:
        """ROM that holds code and constants: the largest (the first of equals)."""
        return max(self._of_kind(MemoryKind.ROM), key=lambda memory: memory.size)

    @property
    def ram_bytes(self) -> int:
        """Bytes of main RAM."""
        return self.main_ram.size

    @property
    def flash_bytes(self) -> int:
        """Bytes for code and constants."""
        return self.code_memory.size
