"""Samples as a stream, the published schema, the library, and what calibration costs."""

import json
import os
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from pydantic import ValidationError

import tinygen as tinygen_package
from tests.support.command_line import tinygen
from tests.support.float_models import SHAPE, samples, write_float_model
from tests.support.onnx_runtime import needs_onnxruntime
from tests.support.shared import shared_file
from tinygen.calib import Calibrator, Policy, Settings, load_float, quantized, read_ctable
from tinygen.calib.calibrator import BATCH
from tinygen.errors import TinygenError, UsageError
from tinygen.ir.graph import Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.quant import onnx_forward
from tinygen.quant.ctable import CTable
from tinygen.quant.ctable_file import ctable_text, schema_text
from tinygen.quant.dataset import open_dataset
from tinygen.quant.errors import SampleError
from tinygen.quant.forward import Forward

_SCHEMA = Path(__file__).parents[2] / "docs" / "ctable.schema.json"
_TYPE = TensorType(DType.FLOAT32, SHAPE)
PORT = Port("image", Tensor("image", _TYPE), _TYPE)


@pytest.mark.parametrize("name", ["s.npy", "s.npz", "compressed.npz"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f4"])
def test_batches_are_the_samples(tmp_path: Path, name: str, dtype: str) -> None:
    images = samples(23).astype(dtype)
    file = tmp_path / name
    if name == "s.npy":
        np.save(file, images)
    else:
        save = np.savez if name == "s.npz" else np.savez_compressed
        save(file, image=images, labels=np.arange(23))
    data = open_dataset(file, [PORT], 20)
    assert (data.samples, data.has_labels) == (20, name != "s.npy")
    whole = np.concatenate([batch[0] for batch in data.batches(6)])
    np.testing.assert_array_equal(whole, samples(20))
    part = np.concatenate([batch[0] for batch in data.batches(4, 5, 9)])
    np.testing.assert_array_equal(part, samples(20)[5:14])
    labels = data.labels()
    assert labels is None or list(labels) == list(range(20))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.npy"
    np.save(whole, samples(8))
    content = whole.read_bytes()
    for length in (0, 5, 40, 100, len(content) - 7):
        damaged = tmp_path / "damaged.npy"
        damaged.write_bytes(content[:length])
        with pytest.raises(SampleError, match=r"damaged.npy: cannot be read as samples"):
            list(open_dataset(damaged, [PORT]).batches(3))
    os.mkfifo(tmp_path / "pipe.npz")
    keeper = os.open(tmp_path / "pipe.npz", os.O_RDWR)  # so that nobody waits for a writer
    os.write(keeper, whole.read_bytes())
    with pytest.raises(SampleError, match=r"pipe.npz: cannot be read as samples \(it is a pipe or a device"):
        open_dataset(tmp_path / "pipe.npz", [PORT])
    os.close(keeper)
    np.savez(tmp_path / "objects.npz", image=np.array([{}] * 3, object))
    with pytest.raises(SampleError, match="its arrays are in another form"):
        open_dataset(tmp_path / "objects.npz", [PORT])


def test_s0_17_memory_does_not_grow_with_the_samples(tmp_path: Path) -> None:
    peaks = []
    for count in (2 * BATCH, 20 * BATCH):
        folder = tmp_path / str(count)
        folder.mkdir()
        model, data = write_float_model(folder, count)
        calibrator = Calibrator(load_float(model))
        calibrator.run_file(open_dataset(data, calibrator.graph.inputs, BATCH))  # what is loaded once
        tracemalloc.start()
        calibrator.run_file(open_dataset(data, calibrator.graph.inputs))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 100_000


def test_s0_14_the_published_schema_is_that_of_the_classes(tmp_path: Path) -> None:
    assert _SCHEMA.read_text(encoding="utf-8") == schema_text() == tinygen("ctable", "schema").stdout
    model, data = write_float_model(tmp_path)
    table = Calibrator(load_float(model)).run_file(open_dataset(data, [PORT])).table
    text = ctable_text(table)
    assert CTable.model_validate_json(text) == table
    assert set(json.loads(text)) <= set(json.loads(schema_text())["properties"])
    with pytest.raises(ValidationError):
        CTable.model_validate_json(text.replace('"version": 1', '"version": 2'))


def test_s0_28_the_library_gives_the_table_of_the_command(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    settings = Settings(policy=Policy.parse("l2"))
    calibration = Calibrator(load_float(model), "mps2-an386", settings).run(np.array_split(samples(24), 5))
    calibration.save(tmp_path / "library.json")
    command = tmp_path / "command.json"
    asked = ("calibrate", model, "--data", data, "-t", "mps2-an386", "--policy", "l2", "-o", command)
    assert tinygen(*asked).code == 0
    library = read_ctable(tmp_path / "library.json")
    assert library.ops == read_ctable(command).ops
    assert library.target == read_ctable(command).target
    assert str(calibration.graph) == str(quantized(load_float(model), library))
    with pytest.raises(SampleError, match=r"TG-C001 net\.tflite: 0 samples to calibrate with"):
        Calibrator(load_float(model)).run([])
    spoiled = samples(24)
    spoiled[17, 0, 0, 0] = np.nan
    with pytest.raises(UsageError, match=r"net\.tflite: array 'in0', sample 17 holds NaN or infinity"):
        Calibrator(load_float(model)).run(np.array_split(spoiled, 5))
    with pytest.raises(SampleError, match=r"net\.tflite: a batch has 2 arrays, 1 were expected, one per input\."):
        Calibrator(load_float(model)).run([[spoiled, spoiled]])


def test_s0_28_the_documented_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of docs/calibration.md, on a model of the name that they use."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "calibration.md").read_text(encoding="utf-8")
    lines = page.partition("## From Python\n\n")[2].partition("\n\n`")[0].splitlines()
    assert all(line.startswith("    ") or not line for line in lines)
    code = "\n".join(line.removeprefix("    ") for line in lines)
    model, _ = write_float_model(tmp_path)
    model.rename(tmp_path / "kws.tflite")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"batches": np.array_split(samples(24), 5), "tinygen": tinygen_package}
    exec(code.replace("kws.onnx", "kws.tflite"), names)
    assert read_ctable(tmp_path / "kws.ctable.json").calibration is not None
    assert names["calibration"].graph.ops


class _CountedForward:
    """Computes as `forward` does, and counts the samples."""

    def __init__(self, forward: Forward) -> None:
        self.name = forward.name
        self.batches: list[int] = []
        self._forward = forward

    def run(self, inputs: Sequence[Array]) -> Mapping[str, Array]:
        self.batches.append(len(inputs[0]))
        return self._forward.run(inputs)


@pytest.mark.parametrize(("given", "options", "taken"), [(1, (), 1), (520, (), 500), (520, ("--samples", "300"), 300)])
def test_s0_13_at_most_500_samples_are_taken(given: int, options: tuple[str, ...], taken: int, tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path, given)
    table = tmp_path / "t.ctable.json"
    ended = tinygen("calibrate", model, "--data", data, "-o", table, *options)
    assert ended.code == 0, ended.stderr
    assert tinygen("ctable", "show", table, "--json").document["calibration"]["samples"] == taken


@needs_onnxruntime
@pytest.mark.parametrize("name", ["kws_fp32_qualcomm", "pretrainedResnet"])
def test_s0_16_calibration_computes_each_sample_once(tmp_path: Path, name: str) -> None:
    """What calibration costs is inference, by the fast runtime, once for each sample."""
    model = load_float(shared_file(f"models/mlperf_tiny/{name}.tflite"))
    shape = model.graph.inputs[0].external.shape
    np.save(tmp_path / "data.npy", np.random.default_rng(0).normal(0, 1, (500, *shape[1:])).astype(np.float32))
    calibrator = Calibrator(model)
    assert isinstance(calibrator.forward, onnx_forward.OnnxForward)
    counted = calibrator.forward = _CountedForward(calibrator.forward)
    calibrator.run_file(open_dataset(tmp_path / "data.npy", model.graph.inputs))
    assert sum(counted.batches) == 500
    assert len(counted.batches) <= -(-500 // BATCH) + 1  # held-out samples are apart from the others


@needs_onnxruntime
def test_s0_18_numpy_and_onnxruntime_see_the_same_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = write_float_model(tmp_path)
    by_runtime = Calibrator(load_float(model))
    assert by_runtime.forward.name == "onnxruntime"
    monkeypatch.setattr(onnx_forward, "onnxruntime", None)
    by_numpy = Calibrator(load_float(model))
    assert by_numpy.forward.name == "numpy"
    tables = [c.run_file(open_dataset(data, [PORT])).table for c in (by_runtime, by_numpy)]
    for name, entry in tables[0].tensors.items():
        other = tables[1].tensors[name]
        np.testing.assert_allclose(entry.scale, other.scale, rtol=1e-4)
        assert entry.zero_point == other.zero_point


def test_values_that_have_no_range_are_named(tmp_path: Path) -> None:
    """A network that overflows on a sample, and one with an infinite constant."""
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        network (float[1, 4] x) => (float[1, 4] a) {
            limit = Constant<value = float[4] {1.0, 2.0, LAST, 4.0}>()
            grown = Exp(x)
            low = Min(grown, limit)
            a = Tanh(low)
        }
    """
    path = tmp_path / "network.onnx"
    ordinary, large = np.zeros((3, 1, 4), np.float32), np.full((3, 1, 4), 1000, np.float32)
    for last, batches, message in (
        ("3.0", [ordinary, large], r"tensor 'grown': a value of samples 3 to 5 is infinite or no number"),
        ("inf", [ordinary], r"constant 'limit.*': an element is infinite or no number"),
    ):
        path.write_bytes(onnx.parser.parse_model(text.replace("LAST", last)).SerializeToString())
        with pytest.raises(TinygenError, match=message):
            Calibrator(load_float(path)).run(batches)
