"""Native kernels on random layers, many in one program, against the numpy references of their operators."""

from pathlib import Path

import pytest

from tests.support.native_layers import FAMILIES, check
from tests.support.tools import requires_arm_gcc, requires_host_cc, requires_qemu

LAYERS = 100
FUNCTIONS = {"addition": 1, "convolution": 4, "depthwise": 4, "fully_connected": 1}  # of each family
FEWEST_NATIVE = 0.6  # of the layers: others have factors or sizes that the native kernels leave to CMSIS-NN
TARGETS = [
    pytest.param("host", True, id="host-sanitized", marks=requires_host_cc),
    pytest.param("mps2-an386", False, id="m4", marks=[requires_arm_gcc, requires_qemu, pytest.mark.qemu]),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("target", "sanitized"), TARGETS)
def test_random_layers(family: str, target: str, sanitized: bool, tmp_path: Path) -> None:
    outcome = check(family, LAYERS, 1, target, tmp_path, sanitized)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS
    assert len(outcome.functions) == FUNCTIONS[family]
