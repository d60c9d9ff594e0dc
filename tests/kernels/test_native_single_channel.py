"""Depthwise convolutions that make many channels of one run on the native kernels of convolutions."""

from pathlib import Path

import pytest

from tests.support.native_layers import check
from tests.support.tools import requires_arm_gcc, requires_host_cc, requires_qemu

LAYERS = 40
ON_QEMU = [requires_arm_gcc, requires_qemu, pytest.mark.qemu]


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("host", id="host-sanitized", marks=requires_host_cc),
        pytest.param("mps2-an386", id="m4", marks=ON_QEMU),
        pytest.param("mps3-an547", id="m55", marks=ON_QEMU),
    ],
)
def test_random_layers(target: str, tmp_path: Path) -> None:
    outcome = check("single_channel", LAYERS, 1, target, tmp_path, target == "host")
    assert not outcome.differing
    assert outcome.native >= 0.9 * LAYERS
    assert outcome.functions and all("convolve" in function for function in outcome.functions)
