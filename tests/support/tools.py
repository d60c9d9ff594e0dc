"""Skip marks for what a machine may lack; each says what is then not tested.

python -m tests.support.tools fails where the sources of CMSIS-NN are missing.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tinygen import paths
from tinygen.targets import load
from tinygen.targets.toolset import CORTEX_M, RISCV, Toolset


def _builds(tools: Toolset) -> bool:
    """Whether compiler and C library are there."""
    gcc = shutil.which(tools.compiler)
    if gcc is None:
        return False
    shown = subprocess.run([gcc, f"-print-file-name={tools.specs}"], capture_output=True, text=True, check=True)
    return Path(shown.stdout.strip()).is_file()


def _runs(tools: Toolset) -> bool:
    return _builds(tools) and shutil.which(tools.emulator) is not None


def _sanitizes(compiler: str) -> bool:
    """Whether programs with sanitizers link: their run-time libraries are packages of their own."""
    cc = shutil.which(compiler)
    if cc is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int main(void) { return 0; }\n")
        flags = ["-fsanitize=address,undefined", "-o", str(source.with_suffix(""))]
        return subprocess.run([cc, *flags, str(source)], capture_output=True, check=False).returncode == 0


requires_arm_gcc = pytest.mark.skipif(
    not _builds(CORTEX_M), reason="arm-none-eabi-gcc or newlib missing: nothing is built for Cortex-M"
)
requires_qemu = pytest.mark.skipif(
    not _runs(CORTEX_M),
    reason="qemu-system-arm or arm-none-eabi-gcc missing: nothing is run on Cortex-M",
)
requires_riscv_gcc = pytest.mark.skipif(
    not _builds(RISCV), reason="riscv64-unknown-elf-gcc or picolibc missing: nothing is built for RISC-V"
)
requires_riscv_qemu = pytest.mark.skipif(
    not _runs(RISCV),
    reason="riscv64-unknown-elf-gcc, picolibc or qemu-system-riscv32 missing: nothing is run on RISC-V",
)
requires_host_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no host compiler: nothing is built with it")
requires_host_cxx = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ missing: nothing is built as C++")
requires_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="clang missing: nothing is built with it")
requires_clang_sanitizers = pytest.mark.skipif(
    not _sanitizes("clang"),
    reason="clang or its sanitizers (Debian: libclang-rt-dev) missing: nothing of clang's is run with them",
)
requires_gcc_sanitizers = pytest.mark.skipif(
    not _sanitizes("gcc"),
    reason="gcc or its sanitizers (libasan, libubsan) missing: nothing of gcc's is run with them",
)
requires_cmsis = pytest.mark.skipif(
    paths.cmsis_nn() is None, reason="CMSIS-NN sources missing: its kernels are not tested"
)


def builds_param(board: str) -> ParameterSet:
    """A board as a parameter of tests that build for it, marked by what that needs."""
    found = load(board)
    if found.is_host:
        return pytest.param(board, marks=[requires_host_cc])
    return pytest.param(board, marks=[requires_riscv_gcc if found.isa.is_riscv else requires_arm_gcc])


def board_param(board: str, *more: object, id: str | None = None) -> ParameterSet:
    """A QEMU board, with what comes behind it, as parameters of tests, marked by what it needs."""
    needed = requires_riscv_qemu if load(board).isa.is_riscv else requires_qemu
    return pytest.param(board, *more, id=id, marks=[pytest.mark.qemu, needed])


def _main() -> None:
    folder = paths.cmsis_nn()
    if folder is None:
        sys.exit(f"CMSIS-NN is missing: {paths.how_to_get_cmsis_nn()}")
    print(f"CMSIS-NN: {folder}")


if __name__ == "__main__":
    _main()
