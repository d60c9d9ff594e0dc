"""Kernels of RISC-V's vectors on random layers against the numpy references, whatever a vector's length."""

from pathlib import Path

import pytest

from tests.support.graphs import GraphBuilder
from tests.support.native_vectors import check_vectors
from tests.support.schedules import check_runs
from tests.support.tools import requires_host_cc, requires_riscv_qemu
from tinygen.ir.graph import Op
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.native.select import native_kernels
from tinygen.ops.window import HW, Padding
from tinygen.paths import BOARDS
from tinygen.planner.plan import PlanRequest, plan
from tinygen.targets import load
from tinygen.targets.isa import Isa

LAYERS = 100
FUNCTIONS = {  # of each family
    "convolution": 2,
    "depthwise": 1,
    "edge_convolution": 2,
    "edge_depthwise": 1,
    "edge_fully_connected": 1,
    "fully_connected": 1,
}
BITS = (64, 128, 256)  # of a vector
FEWEST_NATIVE = 0.6  # of the layers: others have factors that leave the proof of short requantization
BOARD = "qemu-rv32-zve32x"


@pytest.mark.qemu
@requires_riscv_qemu
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("family", FUNCTIONS)
def test_random_layers(family: str, bits: int, tmp_path: Path) -> None:
    _check(family, _board(bits, tmp_path), tmp_path)


@requires_host_cc
@pytest.mark.parametrize("family", FUNCTIONS)
def test_random_layers_in_c(family: str, tmp_path: Path) -> None:
    """On the host with sanitizers."""
    _check(family, "host", tmp_path)


def test_what_vectors_multiply() -> None:
    """Not what has gaps between elements, or several outputs of an input's channel."""
    build = GraphBuilder()
    x = build.input(1, 9, 9, 8)
    build.conv(x, 8)
    build.conv(x, 8, HW(3, 3))
    build.conv(x, 8, HW(3, 3), dilation=HW(2, 2))
    build.depthwise(x)
    build.depthwise(x, dilation=HW(2, 2))
    build.depthwise(x, 2)
    build.dense_pixels(x, 8)
    found = [_vector_functions(op) for op in build.ops]
    names = [("convolve_1x1",), ("convolve",), (), ("depthwise",), (), (), ("convolve_1x1",)]
    assert found == [[f"tg_native_rvv_{name}_s8" for name in each] for each in names]


@requires_host_cc
def test_windows_beside_the_input(tmp_path: Path) -> None:
    """Padding of more than a filter's rows and columns, of which nothing is copied."""
    build = GraphBuilder()
    graph = build.graph(build.conv(build.input(1, 2, 2, 5), 8, HW(3, 3), padding=Padding(4, 5, 5, 4)))
    schedule = plan(graph, load("host"), _toolbox(), PlanRequest(may_split=False))
    assert [call.kernel.function for call in schedule.calls] == ["tg_native_rvv_convolve_s8"]
    check_runs(schedule, Library.PORTABLE, tmp_path)


def _check(family: str, target: str, folder: Path) -> None:
    outcome = check_vectors(Isa.ZVE32X, family, LAYERS, 1, target, folder)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS
    assert len(outcome.functions) == FUNCTIONS[family]


def _board(bits: int, folder: Path) -> str:
    """A file of the board with vectors of that length."""
    text = (BOARDS / f"{BOARD}.toml").read_text(encoding="utf-8")
    assert "vlen=128" in text
    file = folder / "board.toml"
    file.write_text(text.replace("vlen=128", f"vlen={bits}"), encoding="utf-8")
    return str(file)


def _vector_functions(op: Op) -> list[str]:
    return [kernel.function for kernel in native_kernels(op, _toolbox()) if "rvv" in kernel.function]


def _toolbox() -> Toolbox:
    return Toolbox(Library.PORTABLE, Isa.ZVE32X, has_native_kernels=True)
