"""Narrow weights with int8 activations from a CTable: they stay their codes, and C is the simulator to the bit."""

from pathlib import Path

import pytest

from tests.support.tools import requires_qemu
from tests.support.weight_network import check_runs_on_int8, compiled_by_table, quantized, table_of
from tinygen.calib.model import load_float
from tinygen.quant.check import violations
from tinygen.quant.ctable_file import read_ctable

pytestmark = pytest.mark.filterwarnings("ignore:TG-W301")  # depthwise filters have no blocks


@pytest.mark.parametrize("mode", ["int4-channel", "int4-block-asymmetric", "uint8-block", "int2-block", "mxfp4"])
def test_c_is_the_simulator_on_the_host(mode: str, tmp_path: Path) -> None:
    compiled = compiled_by_table(quantized(mode, tmp_path), "host")
    weights = {
        table.values.nbytes
        for call in compiled.schedule.calls
        for table in call.kernel.tables
        if table.name == "weights"
    }
    bits = int(mode.removeprefix("mxfp").removeprefix("u").removeprefix("int")[0])
    assert 48 * 64 * bits // 8 in weights  # those of the first product are as narrow as in the file
    check_runs_on_int8(compiled)


@requires_qemu
@pytest.mark.qemu
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
def test_c_is_the_simulator_on_boards(target: str, tmp_path: Path) -> None:
    check_runs_on_int8(compiled_by_table(quantized("mxfp4", tmp_path), target))


def test_split_plans_have_the_same_result(tmp_path: Path) -> None:
    model = quantized("int4-block-asymmetric", tmp_path)
    whole = compiled_by_table(model, "host")
    split = compiled_by_table(model, "host", ram_bytes=whole.schedule.arena_bytes * 4 // 5)
    assert split.schedule.arena_bytes < whole.schedule.arena_bytes
    check_runs_on_int8(split)


def test_s0_29_a_table_says_that_weights_are_coded(tmp_path: Path) -> None:
    """Tables survive a file and can be followed; one with other scales for the codes cannot."""
    model = quantized("mxfp4", tmp_path)
    table, graph = read_ctable(table_of(model)), load_float(model).graph
    coded = {name: entry for name, entry in table.tensors.items() if entry.policy == "coded"}
    assert len(coded) == 4
    assert {entry.block for entry in coded.values()} == {None, 32}
    assert not violations(graph, table)
    name, entry = next(iter(coded.items()))
    changed = entry.model_copy(update={"scale": tuple(2 * scale for scale in entry.scale)})
    (violation,) = violations(graph, table.model_copy(update={"tensors": {**table.tensors, name: changed}}))
    assert "are to stay as they are coded" in violation.reason
