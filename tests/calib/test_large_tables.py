"""Embedding tables of gigabytes in files beside the model: mapped, measured in blocks, quantized row by row."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.command_line import Ended, tinygen
from tests.support.dlrm import visits, write_dlrm
from tests.support.onnx_writer import OnnxWriter
from tinygen.calib.model import load_float, quantized
from tinygen.exports import onnx_writer
from tinygen.ops import table_rows
from tinygen.ops.gather import Gather
from tinygen.ops.table_rows import TableRows
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.forward import NumpyForward

WIDTH = 64
GIGABYTE = 1 << 30
SAMPLES = 300
LOOKUPS = 26  # of a sample, whose mean counts
LARGEST = 3.0  # of the table's values, in a row that no sample chooses

requires_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")


def _write(folder: Path, table_bytes: int) -> tuple[Path, Path]:
    """A classifier of rows of one sparse table, and samples."""
    rows, rng = table_bytes // (4 * WIDTH), np.random.default_rng(3)
    chosen = rng.integers(0, rows, (SAMPLES, LOOKUPS))
    with (folder / "table.bin").open("wb") as file:
        for row in chosen[:, 0]:
            file.seek(int(row) * 4 * WIDTH)
            file.write(rng.normal(0, 0.5, WIDTH).clip(-2, 2).astype("<f4").tobytes())
        file.seek(int(rows // 2) * 4 * WIDTH)
        file.write(np.full(WIDTH, LARGEST, "<f4").tobytes())
        file.truncate(table_bytes)
    assert table_bytes < GIGABYTE or (folder / "table.bin").stat().st_blocks * 512 < table_bytes // 100
    writer = OnnxWriter()
    dense, index = writer.port((1, 8), name="dense"), writer.port((1, LOOKUPS), np.int64, name="index")
    mean = writer.node("ReduceMean", [writer.node("Gather", ["table", index])], {"axes": [1], "keepdims": 0})
    both = writer.node("Concat", [dense, mean], {"axis": 1})
    weights = rng.normal(0, 0.2, (5, 8 + WIDTH)).astype(np.float32)
    writer.output(writer.node("Gemm", [both, writer.constant(weights)], {"transB": 1}))
    model = writer.model()
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=(rows, WIDTH), data_location="EXTERNAL")
    table.external_data.add(key="location", value="table.bin")
    model.graph.initializer.append(table)
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    np.savez(folder / "x.npz", dense=rng.normal(0, 1, (SAMPLES, 8)).astype(np.float32), index=chosen)
    return folder / "net.onnx", folder / "x.npz"


def _peak_bytes(engine: str, *arguments: str | Path) -> tuple[Ended, int]:
    """How a command ends, and the largest resident set of its process, mapped files included.

    VmHWM, as ru_maxrss also counts what the process that started it had (execve keeps it).
    """
    code = (
        "import sys\n"
        f"if {engine!r} == 'numpy': sys.modules['onnxruntime'] = None\n"
        "from tinygen.cli import main\n"
        "try: main()\n"
        "finally: sys.stderr.write(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )
    peak = done.stderr.splitlines()[-1]
    assert peak.startswith("VmHWM:"), done.stderr
    return Ended(done.returncode, done.stdout, done.stderr), int(peak.split()[1]) << 10


def _check_memory(folder: Path, table_bytes: int, limit: int, engine: str) -> None:
    model, data = _write(folder, table_bytes)
    ended, peak = _peak_bytes(engine, "calibrate", model, "--data", data, "-o", folder / "t.json", "--json")
    assert ended.code == 0, ended.stderr
    assert ended.document["forward"] == engine
    assert peak < limit
    entry = read_ctable(folder / "t.json").tensors["table"]
    assert entry.range is not None and entry.range[1] > 0.9 * LARGEST  # the whole table was measured
    ended, peak = _peak_bytes(
        engine, "simulate", model, "--ctable", folder / "t.json", "--data", data, "--output", folder / "y.npz"
    )
    assert ended.code == 0, ended.stderr
    assert peak < limit
    with np.load(folder / "y.npz") as found:
        assert len(np.unique(found["out0"])) > 20


@requires_proc
@pytest.mark.parametrize("engine", ["onnxruntime", "numpy"])
def test_a_table_of_one_gigabyte_takes_less_memory_than_half_of_it(engine: str, tmp_path: Path) -> None:
    if engine == "onnxruntime":
        pytest.importorskip("onnxruntime")
    _check_memory(tmp_path, GIGABYTE, GIGABYTE // 2, engine)


@requires_proc
@pytest.mark.slow
def test_s0_17_a_table_of_four_gigabytes_takes_less_memory_than_one(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    _check_memory(tmp_path, 4 * GIGABYTE, GIGABYTE, "onnxruntime")


def test_rows_are_quantized_as_the_whole_table_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = write_dlrm(tmp_path), tmp_path / "visits.npz"
    np.savez(data, **visits(64))  # type: ignore[arg-type]
    found = []
    for most in (table_rows.MOST_STORED, 100):
        monkeypatch.setattr(table_rows, "MOST_STORED", most)
        table, out = tmp_path / f"{most}.json", tmp_path / f"{most}.npz"
        assert tinygen("calibrate", model, "--data", data, "-o", table).code == 0
        assert tinygen("simulate", model, "--ctable", table, "--data", data, "--output", out).code == 0
        graph = quantized(load_float(model), read_ctable(table))
        kinds = {type(op) for op in graph.ops if isinstance(op, Gather) and not op.indices.is_constant}
        assert kinds == {Gather if most > 100 else TableRows}
        names = [tensor.name for tensor in graph.tensors if not tensor.is_constant]
        inputs = [array[:8] if name == "dense" else array[:8].astype(np.int32) for name, array in visits(64).items()]
        found.append((table.read_text(), out.read_bytes(), NumpyForward(graph, names).run(inputs)))
    (whole, whole_out, stored), (rows, rows_out, chosen) = found
    assert whole == rows
    assert whole_out == rows_out
    for name, values in stored.items():
        np.testing.assert_array_equal(values, chosen[name])


def test_external_tables_belong_to_the_model_that_is_hashed(tmp_path: Path) -> None:
    model, data = _write(tmp_path, 1 << 20)
    assert tinygen("calibrate", model, "--data", data, "-o", tmp_path / "t.json").code == 0
    arguments = ("simulate", model, "--ctable", tmp_path / "t.json", "--data", data)
    assert tinygen(*arguments).code == 0
    with (tmp_path / "table.bin").open("r+b") as file:
        file.seek(1000)
        file.write(b"\1")
    ended = tinygen(*arguments)
    assert ended.code == 2
    assert "TG-C002 net.onnx: the CTable is of 'net'" in ended.stderr


def test_such_tables_do_not_fit_into_c(tmp_path: Path) -> None:
    model, _ = _write(tmp_path, GIGABYTE)
    ended = tinygen("compile", model, "-t", "host", "--allow-float", "-o", tmp_path / "out")
    assert ended.code == 4
    assert " ".join(ended.stderr.split()) == (
        "tinygen: net: the tables that it selects from have 268,435,456 elements ('table' 268,435,456), at most "
        "67,108,864 were expected in C. Make them smaller; `tinygen calibrate` and `simulate` take them as they are."
    )
    assert not (tmp_path / "out").exists()


def test_only_tables_may_be_so_large(tmp_path: Path) -> None:
    """Weights of gigabytes would be read as a whole."""
    size = 3 * GIGABYTE
    model, _ = _write(tmp_path, size)
    message = onnx.load(str(model), load_external_data=False)
    message.graph.node.append(helper.make_node("Add", ["table", "table"], ["twice"]))
    model.write_bytes(message.SerializeToString())
    ended = tinygen("inspect", model)
    assert ended.code == 3
    assert f"its shape is [{size // (4 * WIDTH)}, {WIDTH}], sizes >= 0 and at most 2147483648 bytes" in " ".join(
        ended.stderr.split()
    )


def test_an_onnx_file_holds_no_such_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_writer, "MOST_BYTES", 1 << 22)
    model, data = _write(tmp_path, 1 << 24)
    ended = tinygen("quantize", model, "--data", data, "-o", tmp_path / "q.onnx")
    assert ended.code == 3
    assert " ".join(ended.stderr.split()) == (
        "tinygen: net: its constants take 4,194,314 bytes up to 'table', at most 4,194,304 were expected, which a "
        "protobuf message holds. Write no ONNX file of this network."
    )
    assert not (tmp_path / "q.onnx").exists()
