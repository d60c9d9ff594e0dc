"""Issue 19: three engines in one board end to end, two of them with templates of their own."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.quant.ctable_file import read_ctable

BOARD = Path(__file__).resolve().parents[1] / "boards" / "m4-three.toml"
CHOSEN = ("stem=scan", "depthwise=cpu", "branch=dot4", "logits=scan")


@requires_qemu
@requires_host_cc
@pytest.mark.qemu
def test_s0_03_three_engines_with_templates_run_as_they_are_simulated(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path, 64)
    table, out = tmp_path / "t.json", tmp_path / "out"
    forced = [word for text in CHOSEN for word in ("--engine", text)]
    made = tinygen("calibrate", model, "--data", data, "-t", BOARD, "-o", table, "--max-drop", "100", *forced)
    assert made.code == 0, made.stderr
    found = read_ctable(table)
    assert {found.ops[name].engine for name in ("stem", "branch", "depthwise", "logits")} == {"scan", "dot4", "cpu"}
    assert found.tensors["stem"].zero_point == (0,)  # as the scan unit asks for
    compiled = tinygen("compile", model, "--ctable", table, "-t", BOARD, "-o", out)
    assert compiled.code == 0, compiled.stderr
    calls = (out / "net.c").read_text()
    assert all(f"{engine}_" in calls for engine in ("scan", "dot4"))
    engines = (out / "net_engines.c").read_text()
    assert "NET_DOT4_LAYERS 1" in (out / "net_engines.h").read_text()
    assert all(text in engines for text in ("scan_run(&", "dot4_start(&"))
    np.savez(tmp_path / "few.npz", in0=samples(24)[:4])
    few = tmp_path / "few.npz"
    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    simulated = tinygen("simulate", model, "--ctable", table, "--data", few, "--output", ours)
    assert simulated.code == 0, simulated.stderr
    ran = tinygen("run", model, "--ctable", table, "-t", BOARD, "--input", few, "--output", theirs)
    assert ran.code == 0, ran.stderr
    with np.load(ours) as simulator, np.load(theirs) as device:
        assert len(np.unique(simulator["out0"])) > 4
        np.testing.assert_array_equal(next(iter(device.values())), simulator["out0"])
    asked = ("--samples", "3", "--per-layer", "--json")
    proven = tinygen("validate", model, "--ctable", table, "-t", BOARD, *asked)
    assert proven.code == 0, proven.stderr
    functions = {layer["kernel"] for layer in proven.document["layers"]}
    assert {"scan_conv_2d", "scan_fully_connected", "dot4_conv_2d"} <= {
        name.rpartition(":")[2] for name in map(str, functions)
    }
