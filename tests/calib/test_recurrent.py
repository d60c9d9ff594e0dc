"""Recurrent layers that were calibrated from float: exact on targets, near to float, LSTM as TFLite Micro has it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.onnx_writer import OnnxWriter
from tests.support.recurrent_models import lstm_as_tflite
from tests.support.recurrent_onnx import sequence_model
from tests.support.sequence_task import SequenceTask, task_network
from tests.support.tflm import needs_tflm, tflm_calls
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.gru import Gru
from tinygen.ops.lstm import Lstm
from tinygen.ops.quantize import dequantize
from tinygen.ops.recurrent import Recurrent
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.quant.ctable import Storage
from tinygen.quant.errors import CTableError
from tinygen.quant.simulate import sqnr_db
from tinygen.quant.widths import Widths
from tinygen.verify import reference
from tinygen.verify.validate import validate

OPERATORS = ("GRU", "LSTM", "RNN")
WIDE = (False, True)
_LEAST_SQNR = {False: 25.0, True: 40.0}  # of hidden states, in dB; random weights, a few steps


def _calibrated(model: Path, samples: Path, is_wide: bool, target: str = "host") -> Compiled:
    widths = Widths(activations=Storage.INT16 if is_wide else Storage.INT8)
    return compile_model(model, Options(target=target, kernels=Kernels.PORTABLE, calibrate=samples, widths=widths))


def _random(
    seed: int, operator: str, is_wide: bool, folder: Path, target: str = "host"
) -> tuple[Compiled, list[list[Array]]]:
    """A random layer, calibrated, with more samples of the same kind."""
    model = sequence_model(seed, operator, is_plain=True)
    file, data = folder / "net.onnx", folder / "samples.npz"
    file.write_bytes(model.content)
    rng = np.random.default_rng(seed)
    drawn = [[rng.normal(0, 1, x.shape).astype(np.float32).clip(-2, 2) for x in model.samples[0]] for _ in range(24)]
    columns = {f"in{n}": np.stack(column) for n, column in enumerate(zip(*drawn, strict=True))}
    np.savez(data, **columns)  # type: ignore[arg-type]
    return _calibrated(file, data, is_wide, target), drawn[:6]


@requires_host_cc
@pytest.mark.parametrize("is_wide", WIDE)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", range(3))
def test_item_17_calibrated_layers(seed: int, operator: str, is_wide: bool, tmp_path: Path) -> None:
    """The C gives the simulator's integers, which are near to the float network's numbers."""
    compiled, samples = _random(seed, operator, is_wide, tmp_path)
    found = validate(compiled, samples, samples=len(samples))
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch
    real = compile_model(tmp_path / "net.onnx", Options(target="host", kernels=Kernels.PORTABLE, allow_float=True))
    signal = noise = 0.0
    for sample in samples:
        wanted = reference.outputs(real.imported, reference.evaluate(real.imported, sample))[0].astype(np.float64)
        actual = reference.outputs(compiled.imported, reference.evaluate(compiled.imported, sample))[0].astype(
            np.float64
        )
        signal, noise = signal + float((wanted**2).sum()), noise + float(((actual - wanted) ** 2).sum())
    assert sqnr_db(signal, noise) > _LEAST_SQNR[is_wide]


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("is_wide", WIDE)
def test_item_17_calibrated_layers_on_boards(operator: str, is_wide: bool, target: str, tmp_path: Path) -> None:
    compiled, samples = _random(3, operator, is_wide, tmp_path, target)
    found = validate(compiled, samples[:2], samples=2)
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch


@needs_tflm
@pytest.mark.parametrize("is_wide", WIDE)
@pytest.mark.parametrize("seed", range(3))
def test_item_17_calibrated_lstm_is_that_of_tflm(seed: int, is_wide: bool, tmp_path: Path) -> None:
    """A layer's integers, given to TFLM as a model of its own: the same outputs, from states that are zero."""
    file, data, rng = tmp_path / "net.onnx", tmp_path / "x.npy", np.random.default_rng(seed)
    steps, inputs, units = (int(rng.integers(2, most)) for most in (9, 12, 12))
    model = OnnxWriter()
    weights = [rng.normal(0, 0.8, (1, 4 * units, depth)).astype(np.float32) for depth in (inputs, units)]
    bias = rng.normal(0, 0.5, (1, 8 * units)).astype(np.float32)
    operands = [model.port((steps, 1, inputs)), *map(model.constant, (*weights, bias))]
    model.output(model.node("LSTM", operands, {"hidden_size": units}, 3))
    file.write_bytes(model.finish())
    np.save(data, rng.normal(0, 1, (30, steps, 1, inputs)).astype(np.float32))
    compiled = _calibrated(file, data, is_wide)
    op = next(op for op in compiled.imported.ops if isinstance(op, Lstm))
    written = lstm_as_tflite(op)
    type = op.input.type
    for _ in range(6):
        x = rng.integers(type.min, type.max + 1, type.shape).astype(type.dtype.numpy)
        values = Values({op.input: x}.__getitem__)
        np.testing.assert_array_equal(op.evaluate(values)[-1], tflm_calls(written, x[np.newaxis])[0])


@pytest.mark.parametrize("is_wide", WIDE)
@pytest.mark.parametrize("operator", ["GRU", "RNN"])
@pytest.mark.parametrize("seed", range(3))
def test_item_17_error_of_a_step(seed: int, operator: str, is_wide: bool, tmp_path: Path) -> None:
    """docs/recurrent.md states it: of one step on the same stored numbers, beside half of a stored step."""
    compiled, _ = _random(seed, operator, is_wide, tmp_path)
    rng = np.random.default_rng(seed)
    for op in (op for op in compiled.imported.ops if isinstance(op, Recurrent)):
        one = _of_one_step(op)
        real = _real(one)
        for _ in range(20):
            stored = {
                t: rng.integers(t.type.min, t.type.max + 1, t.shape).astype(t.type.dtype.numpy)
                for t in (one.input, one.hidden)
            }
            actual = one.evaluate(Values(stored.__getitem__))[-1]
            numbers = {
                wanted: dequantize(stored[t], t.type)
                for t, wanted in ((one.input, real.input), (one.hidden, real.hidden))
            }
            wanted = real.evaluate(Values(numbers.__getitem__))[-1].astype(np.float64)
            type = one.result.type
            low, high = (type.scale * (end - type.zero_point) for end in (type.min, type.max))
            error = np.abs(dequantize(actual, type) - np.clip(wanted, low, high)).max()
            assert error <= type.scale / 2 * (1 + _rows_behind_reset(real)) + (
                2.0**-8 if isinstance(op, Gru) else 2.0**-10
            )


def _rows_behind_reset(op: Recurrent) -> float:
    """The largest sum of magnitudes of recurrent weights that are multiplied with stored products."""
    if not isinstance(op, Gru) or op.is_reset_behind:
        return 0.0
    weights = op.recurrent[2].data
    assert weights is not None
    return float(np.abs(weights).sum(axis=1).max())


def _of_one_step(op: Recurrent) -> Recurrent:
    """The layer on a sequence of one element, from any state."""
    sizes = (1, op.batches) if op.is_time_major else (op.batches, 1)
    input = replace(op.input, type=replace(op.input.type, shape=(*sizes, op.inputs)))
    result = replace(op.result, type=replace(op.result.type, shape=(*sizes, op.units)))
    hidden = Tensor("before", op.hidden.type)
    return replace(op, input=input, hidden=hidden, lengths=None, outputs=(*op.outputs[:-1], result))


def _real(op: Recurrent) -> Recurrent:
    """The layer with the numbers that its integers stand for."""

    def numbers(tensor: Tensor) -> Tensor:
        data = None if tensor.data is None else dequantize(tensor.data, tensor.type)
        return Tensor(tensor.name, TensorType(DType.FLOAT32, tensor.shape), data)

    return op.replace_tensors({tensor: numbers(tensor) for tensor in (*op.operands, *op.results)})


@pytest.mark.parametrize("is_wide", WIDE)
@pytest.mark.parametrize("operator", OPERATORS)
def test_item_17_accuracy_on_a_task(operator: str, is_wide: bool, tmp_path: Path) -> None:
    """Sequences are told apart by their last state as well as by the float network, but for two in a hundred."""
    task = SequenceTask.drawn(seed=1)
    file, data = tmp_path / "net.onnx", tmp_path / "x.npy"
    task_network(operator, task, file)
    np.save(data, task.sequences[:40])
    compiled = _calibrated(file, data, is_wide)
    real = compile_model(file, Options(target="host", kernels=Kernels.PORTABLE, allow_float=True))
    expected = task.right(real.imported)
    assert expected > 0.9
    assert task.right(compiled.imported) >= expected - 0.02


def test_what_has_no_integers(tmp_path: Path) -> None:
    model = OnnxWriter()
    weights = [np.ones((1, 8, depth), np.float32) for depth in (3, 2)]
    operands = [model.port((4, 1, 3)), *map(model.constant, weights)]
    model.output(model.node("LSTM", operands, {"hidden_size": 2, "clip": 1.0}, 3))
    file, data = tmp_path / "net.onnx", tmp_path / "x.npy"
    file.write_bytes(model.finish())
    np.save(data, np.ones((4, 4, 1, 3), np.float32))
    with pytest.raises(CTableError, match=r"gates are clipped to 1\.0, which integers have no arithmetic for\. Export"):
        _calibrated(file, data, is_wide=False)


@requires_host_cc
@pytest.mark.parametrize("is_wide", WIDE)
def test_item_17_cells_in_a_loop_that_begins_with_zeros(is_wide: bool, tmp_path: Path) -> None:
    """Exporters unroll cells: what the first forget gate keeps is zero whatever comes, and is added to what is not."""
    writer, rng = OnnxWriter(), np.random.default_rng(0)
    x = writer.port((1, 3, 4), name="in0")
    rows = [writer.node("Gather", [x, writer.constant(np.array(step))], {"axis": 1}) for step in range(3)]
    hidden, cell = (writer.constant(np.zeros((1, 5), np.float32)) for _ in range(2))
    weights = {
        (gate, side): writer.constant(rng.normal(0, 0.5, (size, 5)).astype(np.float32))
        for gate in "ifgo"
        for side, size in (("x", 4), ("h", 5))
    }
    for row in rows:
        sums = {
            gate: writer.node(
                "Add",
                [
                    writer.node("MatMul", [row, weights[gate, "x"]]),
                    writer.node("MatMul", [hidden, weights[gate, "h"]]),
                ],
            )
            for gate in "ifgo"
        }
        i, f, g, o = (writer.node("Tanh" if gate == "g" else "Sigmoid", [sums[gate]]) for gate in "ifgo")
        cell = writer.node("Add", [writer.node("Mul", [f, cell]), writer.node("Mul", [i, g])])
        hidden = writer.node("Mul", [o, writer.node("Tanh", [cell])])
    writer.output(hidden)
    model, samples = tmp_path / "cells.onnx", tmp_path / "samples.npz"
    model.write_bytes(writer.model().SerializeToString())
    drawn = rng.normal(0, 1, (16, 1, 3, 4)).astype(np.float32)
    np.savez(samples, in0=drawn)
    compiled = _calibrated(model, samples, is_wide)
    found = validate(compiled, [[sample] for sample in drawn[:4]], samples=4)
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch
