"""Native kernels on random layers, many in one program, against the numpy references of their operators."""

from pathlib import Path

import pytest

from tests.support.native_layers import check
from tests.support.tools import requires_arm_gcc, requires_host_cc, requires_qemu

LAYERS = 100
FUNCTIONS = {  # of each family
    "addition": 1,
    "convolution": 12,
    "depthwise": 8,
    "fully_connected": 2,
    "pooling": 2,
    "small_filters": 7,
}
CODE_BYTES = 24 << 10  # that a plan leaves in flash where weights could grow
FEWEST_NATIVE = 0.6  # of the layers: others have factors or sizes that the native kernels leave to CMSIS-NN
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


@pytest.mark.parametrize(("target", "sanitized"), TARGETS)
def test_flash_limits_the_tiles_of_winograd(target: str, sanitized: bool, tmp_path: Path) -> None:
    """Less flash than the largest weights take: smaller tiles; less than these take: none."""
    free = check("small_filters", LAYERS, 2, target, tmp_path, sanitized)
    smaller = check("small_filters", LAYERS, 2, target, tmp_path, sanitized, free.const_bytes + CODE_BYTES - 1)
    without = check("small_filters", 10, 2, target, tmp_path, sanitized, CODE_BYTES + 1)
    assert not free.differing and not smaller.differing and not without.differing
    assert _tiles(free.functions) == {"2x2", "4x4"}
    assert _tiles(smaller.functions) == {"2x2"}
    assert _tiles(without.functions) == set()


def _tiles(functions: frozenset[str]) -> set[str]:
    return {name.removeprefix("tg_native_winograd_").removesuffix("_s8") for name in functions if "winograd" in name}
