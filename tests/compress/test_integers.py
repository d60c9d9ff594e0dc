"""Narrow weights with int8 activations from a CTable: they stay their codes, and C is the simulator to the bit."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.tools import requires_qemu
from tests.support.weight_network import image, quantized
from tinygen.calib import Calibrator
from tinygen.calib.model import load_float
from tinygen.ops.batch import infer
from tinygen.ops.quantize import convert
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.quant.check import violations
from tinygen.quant.ctable_file import ctable_text, read_ctable
from tinygen.quant.dataset import open_dataset

pytestmark = pytest.mark.filterwarnings("ignore:TG-W301")  # depthwise filters have no blocks


def _table(model: Path) -> Path:
    data, table = model.with_name("data.npz"), model.with_name("network.ctable.json")
    np.savez(data, in0=np.concatenate([image(seed) for seed in range(20)]))
    loaded = load_float(model)
    calibration = Calibrator(loaded).run_file(open_dataset(data, loaded.graph.inputs, 20))
    table.write_text(ctable_text(calibration.table))
    return table


def _compiled(model: Path, target: str, ram_bytes: int | None = None) -> Compiled:
    return compile_model(model, Options(target=target, ctable=_table(model), ram_bytes=ram_bytes))


def _check_runs(compiled: Compiled) -> None:
    port, result = compiled.graph.inputs[0], compiled.graph.outputs[0]
    inputs = [[image(seed)] for seed in (30, 31)]
    for sample, (found,) in zip(inputs, compiled.execute(inputs).outputs, strict=True):
        stored = convert(sample[0], port.external, port.tensor.type)
        (expected,) = infer(compiled.graph, [stored])
        np.testing.assert_array_equal(found, convert(expected, result.tensor.type, result.external))


@pytest.mark.parametrize("mode", ["int4-channel", "int4-block-asymmetric", "uint8-block", "int2-block", "mxfp4"])
def test_c_is_the_simulator_on_the_host(mode: str, tmp_path: Path) -> None:
    compiled = _compiled(quantized(mode, tmp_path), "host")
    weights = {
        table.values.nbytes
        for call in compiled.schedule.calls
        for table in call.kernel.tables
        if table.name == "weights"
    }
    bits = int(mode.removeprefix("mxfp").removeprefix("u").removeprefix("int")[0])
    assert 48 * 64 * bits // 8 in weights  # those of the first product are as narrow as in the file
    _check_runs(compiled)


@requires_qemu
@pytest.mark.qemu
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
def test_c_is_the_simulator_on_boards(target: str, tmp_path: Path) -> None:
    _check_runs(_compiled(quantized("mxfp4", tmp_path), target))


def test_split_plans_have_the_same_result(tmp_path: Path) -> None:
    model = quantized("int4-block-asymmetric", tmp_path)
    whole = _compiled(model, "host")
    split = _compiled(model, "host", ram_bytes=whole.schedule.arena_bytes * 4 // 5)
    assert split.schedule.arena_bytes < whole.schedule.arena_bytes
    _check_runs(split)


def test_a_table_says_that_weights_are_coded(tmp_path: Path) -> None:
    """Tables survive a file and can be followed; one with other scales for the codes cannot."""
    model = quantized("mxfp4", tmp_path)
    table, graph = read_ctable(_table(model)), load_float(model).graph
    coded = {name: entry for name, entry in table.tensors.items() if entry.policy == "coded"}
    assert len(coded) == 4
    assert {entry.block for entry in coded.values()} == {None, 32}
    assert not violations(graph, table)
    name, entry = next(iter(coded.items()))
    changed = entry.model_copy(update={"scale": tuple(2 * scale for scale in entry.scale)})
    (violation,) = violations(graph, table.model_copy(update={"tensors": {**table.tensors, name: changed}}))
    assert "are to stay as they are coded" in violation.reason
