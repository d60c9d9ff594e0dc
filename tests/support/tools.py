"""Skip marks for what a machine may lack; each says what is then not tested.

python -m tests.support.tools fails where the sources of CMSIS-NN are missing.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tinygen import paths


def _has_arm_gcc() -> bool:
    gcc = shutil.which("arm-none-eabi-gcc")
    if gcc is None:
        return False
    shown = subprocess.run([gcc, "-print-file-name=nano.specs"], capture_output=True, text=True, check=True)
    return Path(shown.stdout.strip()).is_file()


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
    not _has_arm_gcc(), reason="arm-none-eabi-gcc or newlib missing: nothing is built for Cortex-M"
)
requires_qemu = pytest.mark.skipif(
    not (_has_arm_gcc() and shutil.which("qemu-system-arm")),
    reason="qemu-system-arm or arm-none-eabi-gcc missing: nothing is run on Cortex-M",
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


def _main() -> None:
    folder = paths.cmsis_nn()
    if folder is None:
        sys.exit(f"CMSIS-NN is missing: {paths.how_to_get_cmsis_nn()}")
    print(f"CMSIS-NN: {folder}")


if __name__ == "__main__":
    _main()
