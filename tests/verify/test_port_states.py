"""`--state IN=OUT`: pairs of an input and an output that become a state; outside oracles are fed by hand here."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.litert import interpreter, needs_litert
from tests.support.onnx_runtime import needs_onnxruntime
from tests.support.onnx_writer import OnnxWriter
from tests.support.stateful import run_two_instances
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen import api
from tinygen.errors import UsageError
from tinygen.ir.types import Array
from tinygen.ops.lookup import Lookup
from tinygen.verify.oracle import Oracle

_SHAPE = (1, 2, 1, 4)
_STATES = ["rows=rows_next", "total=total_next"]


def _model() -> bytes:
    """x, rows, total -> the largest of the last rows, those but the oldest, and the sum of all so far."""
    model = ModelWriter()

    def tensor(name: str, rows: int = 2) -> int:
        return model.tensor(name, (1, rows, 1, 4), "int8", scale=0.5, zero_point=-3)

    def numbers(name: str, *values: int) -> int:
        return model.tensor(name, (len(values),), "int32", data=np.array(values, np.int32))

    rows, x, total = tensor("rows", 3), tensor("x"), tensor("total")
    window, last, largest, sum = tensor("window", 5), tensor("rows_next", 3), tensor("y", 1), tensor("total_next")
    model.operator("CONCATENATION", [rows, x], [window], axis=1)
    begin, size = numbers("begin", 0, 2, 0, 0), numbers("size", 1, 3, 1, 4)
    model.operator("SLICE", [window, begin, size], [last])
    model.operator(
        "MAX_POOL_2D", [window], [largest], padding=1, stride_h=1, stride_w=1, filter_height=5, filter_width=1
    )
    model.operator("ADD", [total, x], [sum])
    seen, both = tensor("seen"), tensor("both")
    model.operator("MUL", [sum, x], [seen])
    model.operator("SUB", [seen, largest], [both])
    return model.finish([rows, x, total], [last, both, sum])


def _calls(count: int) -> Array:
    return np.random.default_rng(1).integers(-9, 6, (count, *_SHAPE)).astype(np.int8)


def _litert(model: bytes, calls: Array) -> Array:
    """The second output of LiteRT's reference kernels, whose other outputs are its next inputs."""
    loaded = interpreter(model)
    rows, x, total = (port["index"] for port in loaded.get_input_details())
    held = {rows: np.full((1, 3, 1, 4), -3, np.int8), total: np.full(_SHAPE, -3, np.int8)}
    found = []
    for call in calls:
        for index, values in {x: call, **held}.items():
            loaded.set_tensor(index, values)
        loaded.invoke()
        last, y, sum = (loaded.get_tensor(port["index"]) for port in loaded.get_output_details())
        held = {rows: last, total: sum}
        found.append(y)
    return np.concatenate(found)


def _write(folder: Path, model: bytes, suffix: str = ".tflite") -> Path:
    file = folder / f"pairs{suffix}"
    file.write_bytes(model)
    return file


@needs_litert
@requires_host_cc
@pytest.mark.parametrize(
    ("target", "calls"),
    [
        ("host", 1000),
        pytest.param("mps2-an386", 30, marks=(pytest.mark.qemu, requires_qemu)),
        pytest.param("mps3-an547", 30, marks=(pytest.mark.qemu, requires_qemu)),
    ],
)
def test_item_16_pairs_are_states(target: str, calls: int, tmp_path: Path) -> None:
    model, samples = _model(), _calls(calls)
    compiled = api.compile(_write(tmp_path, model), target, state=_STATES, kernels="portable")
    np.testing.assert_array_equal(compiled.run(samples), _litert(model, samples))
    if target == "host":
        found = compiled.validate(samples[:40])
        assert (found.exact, found.samples, found.oracle) == (True, 40, Oracle.LITERT), found.first_mismatch
        states = {state.tensor.name for state in compiled.compiled.graph.states}
        assert states == {"rows:ring", "rows:ring:place", "total"}  # rows stay where they are


@needs_litert
@requires_host_cc
def test_item_16_reset_and_contexts(tmp_path: Path) -> None:
    model, samples = _model(), _calls(30)
    compiled = api.compile(_write(tmp_path, model), state=_STATES, kernels="portable", target="host").compiled
    (tmp_path / "two").mkdir()
    run_two_instances(compiled, samples, _litert(model, samples), tmp_path / "two")


def _onnx(scale: float, zero_point: int) -> tuple[bytes, str]:
    """x, h -> the larger of both, and in that quantization their product, which is to be the next h; its name."""
    writer = OnnxWriter()
    x, h = writer.port((1, 8), name="x"), writer.port((1, 8), name="h")
    held = writer.requantized(h, 0.02, 5)
    both = writer.requantized(writer.node("Max", [writer.requantized(x, 0.02, 5), held]), 0.02, 5)
    after = writer.requantized(writer.node("Mul", [held, both]), scale, zero_point)
    for value in (both, after):
        writer.output(value)
    return writer.finish(), after


@needs_onnxruntime
@requires_host_cc
@pytest.mark.parametrize(("scale", "zero_point", "tables"), [(0.02, 5, 0), (0.03, -7, 1)])
def test_item_16_real_ports_are_kept_as_stored_numbers(
    scale: float, zero_point: int, tables: int, tmp_path: Path
) -> None:
    """A table stands between unlike quantizations, to the bit what the file says by way of float32."""
    model, after = _onnx(scale, zero_point)
    compiled = api.compile(_write(tmp_path, model, ".onnx"), state=[f"h={after}"], kernels="portable", target="host")
    assert sum(isinstance(op, Lookup) for op in compiled.compiled.imported.ops) == tables
    assert compiled.compiled.graph.state_bytes == 8
    found = compiled.validate(samples=25)
    assert (found.exact, found.oracle) == (True, Oracle.ONNXRUNTIME), found.first_mismatch


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (["rows=total_next"], "--state rows=total_next: the input is i8[1, 3, 1, 4], scale 0.5, zero point -3, the"),
        (["row=rows_next"], "--state row=rows_next: there is no input 'row', one of 'rows', 'x', 'total' was expected"),
        (["rows=window"], "--state rows=window: there is no output 'window', one of 'rows_next', 'both', 'total_next'"),
        (["rows"], "--state: is 'rows', an input and an output as in h=h_next were expected."),
        (["x=total_next", "x=both"], "--state: names 'x' with two outputs, one was expected. Leave one of them out."),
        (
            ["rows=rows_next", "x=total_next", "total=total_next"],
            "--state: leaves pairs without inputs, some were expected. Name fewer pairs.",
        ),
    ],
)
def test_item_16_what_is_no_pair(states: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        api.compile(_write(tmp_path, _model()), state=states, target="host")
    assert str(error.value).startswith(message)


def test_item_17_inspect_lists_states(tmp_path: Path) -> None:
    pairs = [argument for state in _STATES for argument in ("--state", state)]
    ended = tinygen("inspect", _write(tmp_path, _model()), "--json", *pairs)
    document = json.loads(ended.stdout)
    assert document["state_bytes"] == 32
    assert document["states"] == [
        {"name": "rows:ring", "type": "i8[1, 5, 1, 4], scale 0.5, zero point -3", "bytes": 20, "is_window": False},
        {"name": "rows:ring:place", "type": "i32[1]", "bytes": 4, "is_window": False},
        {"name": "total", "type": "i8[1, 2, 1, 4], scale 0.5, zero point -3", "bytes": 8, "is_window": False},
    ]
    shown = tinygen("inspect", _write(tmp_path, _model()), *pairs).stdout
    assert "32 bytes of the arena, kept from call to call" in shown and "Kept from call to call" in shown
