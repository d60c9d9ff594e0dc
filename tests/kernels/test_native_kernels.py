"""Native kernels on random layers, many in one program, against the numpy references of their operators."""

from pathlib import Path
from unittest.mock import patch

import pytest

from tests.support.native_layers import check
from tests.support.tools import requires_arm_gcc, requires_host_cc, requires_qemu, requires_riscv_qemu
from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.native import select, twins
from tinygen.kernels.native.convolution import direct_convolution, form_of
from tinygen.kernels.native.convolution_twin8 import by_eights
from tinygen.kernels.native.runs import runs
from tinygen.kernels.native.winograd import METHODS, Method
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.targets.isa import Isa

LAYERS = 100
FUNCTIONS = {  # of each family
    "addition": 2,
    "convolution": 14,
    "depthwise": 8,
    "edge_convolution": 14,
    "edge_depthwise": 4,
    "edge_fully_connected": 4,
    "few_pixels": 6,
    "first_layers": 6,
    "fully_connected": 3,
    "pooling": 2,
    "row_filters": 10,
    "small_filters": 8,
}
TWINS = ("convolution", "edge_convolution")  # families that have layers for two pixels at once
TWIN_UNITS = ("fully_connected", "edge_fully_connected")  # for two units
FEWEST_BY_RUNS = 0.5  # of the layers: these ask for four channels of the output
FEWEST_NATIVE = 0.6  # of the layers: others have factors or sizes that the native kernels leave to CMSIS-NN
_AT_STRIDE = {1: "", 2: "_stride2"}
IN_TILES = [
    *(pytest.param(method, f"small_filters{_AT_STRIDE[method.stride]}", id=method.name) for method in METHODS),
    # Rows of tiles have no edge of their own: short requantization takes no sums that are too large for them.
    *(
        pytest.param(method, f"edge_convolution{_AT_STRIDE[method.stride]}", id=f"{method.name}-edge")
        for method in METHODS
        if method.rows > 1
    ),
    pytest.param(METHODS[0], "edge_tiles", id=f"{METHODS[0].name}-ends"),
]
TARGETS = [
    pytest.param("host", True, id="host-sanitized", marks=requires_host_cc),
    pytest.param("mps2-an386", False, id="m4", marks=[requires_arm_gcc, requires_qemu, pytest.mark.qemu]),
]


@pytest.mark.parametrize("family", FUNCTIONS)
@pytest.mark.parametrize(("target", "sanitized"), TARGETS)
def test_random_layers(family: str, target: str, sanitized: bool, tmp_path: Path) -> None:
    outcome = check(family, LAYERS, 1, target, tmp_path, sanitized)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS
    assert len(outcome.functions) == FUNCTIONS[family]


@pytest.mark.parametrize("family", ["convolution", "edge_convolution", "fully_connected", "edge_fully_connected"])
@pytest.mark.parametrize(("target", "sanitized"), TARGETS)
def test_random_layers_by_runs(family: str, target: str, sanitized: bool, tmp_path: Path) -> None:
    """Without columns: the kernels that plans take where scratch is dear."""
    with patch.dict(select.LOWERINGS, {Conv2D: _by_runs, FullyConnected: _by_runs}):
        outcome = check(family, LAYERS, 1, target, tmp_path, sanitized)
    assert not outcome.differing
    assert outcome.native >= FEWEST_BY_RUNS * LAYERS
    assert outcome.functions == {f"tg_native_convolve_runs{form}_s8" for form in ("", "_joined")}


@pytest.mark.qemu
@requires_arm_gcc
@requires_qemu
@pytest.mark.parametrize("family", ["convolution", "depthwise", "fully_connected"])
def test_random_layers_without_dsp(family: str, tmp_path: Path) -> None:
    """On an M3, whose products are other instructions than an M4's."""
    outcome = check(family, LAYERS, 1, "mps2-an385", tmp_path)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS


@pytest.mark.qemu
@requires_riscv_qemu
@pytest.mark.parametrize("family", FUNCTIONS)
def test_random_layers_on_riscv(family: str, tmp_path: Path) -> None:
    """Assembly of its own; weights of two channels are never joined, which saves nothing there."""
    outcome = check(family, LAYERS, 1, "qemu-rv32", tmp_path, False)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS
    assert outcome.functions and not any("joined" in function for function in outcome.functions)
    assert family not in (*TWINS, *TWIN_UNITS) or any("twin" in function for function in outcome.functions)


@requires_host_cc
@pytest.mark.parametrize("family", (*TWINS, "wide_rows"))
def test_two_pixels_at_once_in_c(family: str, tmp_path: Path) -> None:
    """What RISC-V has assembly for, on the host with sanitizers: with few elements and odd numbers of channels, too."""
    with patch.object(twins, "gains", return_value=True):
        outcome = check(family, LAYERS, 1, "host", tmp_path, True)
    assert not outcome.differing
    assert any("twin" in function for function in outcome.functions)


@requires_host_cc
@pytest.mark.parametrize("family", (*TWINS, "wide_rows"))
def test_channels_one_by_one_in_c(family: str, tmp_path: Path) -> None:
    """What Armv6-M has assembly for, on the host with sanitizers."""
    with patch.object(twins, "gains_alone", return_value=True), patch.dict(select.LOWERINGS, {Conv2D: _one_by_one}):
        outcome = check(family, LAYERS, 1, "host", tmp_path, True)
    assert not outcome.differing
    assert any("twin8" in function for function in outcome.functions)


@pytest.mark.qemu
@requires_arm_gcc
@requires_qemu
@pytest.mark.parametrize("family", [*TWINS, *TWIN_UNITS, "wide_rows", "small_filters"])
def test_random_layers_on_armv6m(family: str, tmp_path: Path) -> None:
    """Assembly of its own where two pixels stand in a word, with few channels and odd numbers of them, too."""
    with patch.object(twins, "gains_alone", return_value=True), patch.dict(select.LOWERINGS, {Conv2D: _one_by_one}):
        outcome = check(family, LAYERS, 1, "mps2-an382", tmp_path)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS
    assert any("twin8" in function for function in outcome.functions)


@requires_host_cc
@pytest.mark.parametrize("family", TWIN_UNITS)
def test_pairs_of_units_one_by_one_in_c(family: str, tmp_path: Path) -> None:
    """What Armv6-M has assembly for, on the host with sanitizers."""
    with patch.object(twins, "gains_units_alone", lambda _, features: features % 8 == 0):
        outcome = check(family, LAYERS, 1, "host", tmp_path, True)
    assert not outcome.differing
    assert any("twin8" in function for function in outcome.functions)


@requires_host_cc
@pytest.mark.parametrize("family", TWIN_UNITS)
def test_two_units_at_once_in_c(family: str, tmp_path: Path) -> None:
    with patch.object(twins, "gains_units", lambda isa, features: isa is Isa.HOST and features % 8 == 0):
        outcome = check(family, LAYERS, 1, "host", tmp_path, True)
    assert not outcome.differing
    assert any("twin" in function for function in outcome.functions)


@pytest.mark.qemu
@requires_riscv_qemu
@pytest.mark.parametrize("family", ["small_filters", "edge_convolution"])
def test_random_layers_in_tiles_on_riscv(family: str, tmp_path: Path) -> None:
    outcome = check(family, LAYERS, 3, "qemu-rv32", tmp_path, False, method=METHODS[0])
    assert not outcome.differing
    assert _tiles(outcome.functions) == {"4x4"}


@pytest.mark.parametrize(("method", "family"), IN_TILES)
@pytest.mark.parametrize(("target", "sanitized"), TARGETS)
def test_random_layers_in_tiles(method: Method, family: str, target: str, sanitized: bool, tmp_path: Path) -> None:
    outcome = check(family, LAYERS, 3, target, tmp_path, sanitized, method=method)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS
    assert _tiles(outcome.functions) == {method.name.removeprefix("winograd_")}


@pytest.mark.parametrize(("target", "sanitized"), TARGETS)
def test_flash_limits_the_tiles_of_winograd(target: str, sanitized: bool, tmp_path: Path) -> None:
    """Less flash than the weights of tall tiles take: lower ones, those of filters that are transformed in the call,
    and none, layer by layer, within what there is."""
    tallest = check("small_filters", LAYERS // 2, 3, target, tmp_path, sanitized)
    assert max(_tiles(tallest.functions)) == "4x4"
    taken, lower = [tallest.const_bytes], set[str]()
    for share in (0.75, 0.6, 0.57):
        flash_bytes = int(tallest.const_bytes * share) + tallest.other_bytes
        outcome = check("small_filters", LAYERS // 2, 3, target, tmp_path, sanitized, flash_bytes)
        assert not outcome.differing and outcome.const_bytes + outcome.other_bytes <= flash_bytes
        taken.append(outcome.const_bytes)
        lower |= _tiles(outcome.functions)
    assert "4x4_bytes" in lower
    assert not tallest.differing and taken == sorted(set(taken), reverse=True)


def _one_by_one(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """Channels where that is exact, whatever else is cheaper."""
    assert isinstance(op, Conv2D)
    direct = direct_convolution(op, toolbox.isa)
    return () if direct is None else by_eights(op, direct, form_of(op), toolbox) or (direct,)


def _by_runs(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernel with hardly any scratch, whatever else is faster."""
    assert isinstance(op, Conv2D | FullyConnected)
    weights = op.weights.data
    return () if weights is None else runs(op, weights.reshape(len(weights), -1), toolbox.isa)


def _tiles(functions: frozenset[str]) -> set[str]:
    return {name.removeprefix("tg_native_winograd_").removesuffix("_s8") for name in functions if "winograd" in name}
