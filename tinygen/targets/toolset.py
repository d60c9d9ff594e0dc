"""The programs that make, show and run code for an instruction set, and what is particular about them."""

from dataclasses import dataclass

from tinygen.targets.isa import Isa

WITHOUT_TOOLS = "`tinygen doctor` lists what else is missing; with -t host, run and validate need a C compiler only."


@dataclass(frozen=True)
class Toolset:
    """Of one family of instruction sets. Packages are Debian's."""

    family: str  # as users call it
    macro: str  # that its compilers define
    prefix: str  # of the names of compiler, archiver and objdump
    compiler_package: str
    binutils_package: str
    library: str  # of C
    library_package: str
    specs: str  # file of the compiler's that chooses the library
    flags: tuple[str, ...]  # that compiler and linker need for the library
    link_flags: tuple[str, ...]  # that the linker needs besides
    emulator: str
    emulator_package: str
    emulator_options: tuple[str, ...]  # beside those of every machine
    stack_align: int  # of the stack pointer at every public call
    runtime: str  # folder in runtime_c/target
    counter: str  # of the core, that counts instructions where QEMU takes no plugin

    @property
    def compiler(self) -> str:
        """Of C."""
        return f"{self.prefix}gcc"

    @property
    def archiver(self) -> str:
        """For static libraries."""
        return f"{self.prefix}ar"

    @property
    def disassembler(self) -> str:
        """Of executables."""
        return f"{self.prefix}objdump"


CORTEX_M = Toolset(
    family="Cortex-M",
    macro="__arm__",
    prefix="arm-none-eabi-",
    compiler_package="gcc-arm-none-eabi",
    binutils_package="binutils-arm-none-eabi",
    library="newlib",
    library_package="libnewlib-arm-none-eabi",
    specs="nano.specs",
    flags=(),
    link_flags=("--specs=nano.specs",),
    emulator="qemu-system-arm",
    emulator_package="qemu-system-arm",
    emulator_options=(),
    stack_align=8,  # AAPCS
    runtime="cortex_m",
    counter="SysTick",
)
RISCV = Toolset(
    family="RISC-V",
    macro="__riscv",
    prefix="riscv64-unknown-elf-",
    compiler_package="gcc-riscv64-unknown-elf",
    binutils_package="binutils-riscv64-unknown-elf",
    library="picolibc",
    library_package="picolibc-riscv64-unknown-elf",
    specs="picolibc.specs",
    flags=("--specs=picolibc.specs",),
    link_flags=(),  # the same twice is refused
    emulator="qemu-system-riscv32",
    emulator_package="qemu-system-misc",
    emulator_options=("-bios", "none"),  # there is no 32-bit OpenSBI to start with
    stack_align=16,  # RISC-V ABIs specification, integer calling convention
    runtime="riscv",
    counter="minstret",
)
TOOLSETS = (CORTEX_M, RISCV)


def toolset(isa: Isa) -> Toolset:
    """Of an instruction set other than the host's, whose programs are the machine's own."""
    return RISCV if isa.is_riscv else CORTEX_M
