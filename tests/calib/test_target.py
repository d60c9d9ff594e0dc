"""What a board says of its hardware decides how a model is calibrated for it."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import write_float_model
from tinygen.paths import BOARDS
from tinygen.quant.ctable import CTable
from tinygen.quant.ctable_file import read_ctable

LAYERS = ("stem", "depthwise", "branch", "dense")


def _board(folder: Path, datapath: str) -> Path:
    """The host, whose kernels are said to do no more than that."""
    file = folder / "board.toml"
    engine = f'\n[[engine]]\nname = "cpu"\nkind = "tinygen"\ndatapath = {{ {datapath} }}\n'
    file.write_text((BOARDS / "host.toml").read_text() + engine)
    return file


def _calibrated(folder: Path, target: Path | str) -> CTable:
    model, data = write_float_model(folder)
    table = folder / "t.json"
    ended = tinygen("calibrate", model, "--data", data, "-t", target, "-o", table, "--max-drop", "100")
    assert ended.code == 0, ended.stderr
    assert tinygen("ctable", "check", table, model).code == 0
    ended = tinygen("validate", model, "--ctable", table, "-t", target, "--samples", "2")
    assert ended.code == 0, ended.stderr
    return read_ctable(table)


@pytest.mark.parametrize("datapath", ["symmetric_only = true", "per_channel = false", 'activations = "int16"'])
def test_s0_01_a_limit_of_the_hardware_holds_for_all_tensors(tmp_path: Path, datapath: str) -> None:
    free = _calibrated(tmp_path, "host")
    table = _calibrated(tmp_path, _board(tmp_path, datapath))
    image, weights = table.tensors["image"], [table.tensors[f"{name}_w"] for name in LAYERS]
    assert free.tensors["stem"].zero_point == (-128,)
    assert free.target is not None and table.target is not None
    assert free.target.hardware_sha256 != table.target.hardware_sha256
    if "symmetric" in datapath:
        activations = {name: e for name, e in table.tensors.items() if e.kind == "activation" and e.policy != "fixed"}
        assert {entry.zero_point for entry in activations.values()} == {(0,)}
        assert image.scale[0] * 127 >= np.float32(image.range[1] if image.range else 0) * 0.99
    elif "per_channel" in datapath:
        assert [len(entry.scale) for entry in weights] == [1] * len(weights)
        assert [len(free.tensors[f"{name}_w"].scale) for name in LAYERS] == [8, 8, 4, 4]
        assert image == free.tensors["image"]
    else:
        assert {e.dtype for e in table.tensors.values() if e.kind == "activation"} == {"int16"}
