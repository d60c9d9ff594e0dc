"""An image made of an image, larger than all before it: stored by rows it needs no buffer, and stays the same."""

from pathlib import Path

import numpy as np
import pytest
import tflite

import tinygen
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_cmsis, requires_host_cc, requires_qemu
from tinygen.errors import UsageError

_M4 = "mps2-an386"
_SCALE = 0.0625
_SIZE, _FACTOR, _CHANNELS = 16, 3, 6
_RESULT_BYTES = (_SIZE * _FACTOR) ** 2 * 3


def _convolution(writer: ModelWriter, source: int, channels: int, kernel: int) -> int:
    height, width, depth = writer.shape(source)[1:]
    shape = (channels, kernel, kernel, depth)
    data = np.random.default_rng(channels).integers(-127, 128, shape)
    name = f"conv{kernel}_{channels}"
    filters = writer.tensor(f"{name}_filters", shape, scale=0.005, data=data)
    bias = writer.tensor(f"{name}_bias", (channels,), "int32", scale=0.005 * _SCALE, data=np.arange(channels) * 90)
    output = writer.tensor(name, (1, height, width, channels), scale=_SCALE, zero_point=4)
    padding = tflite.Padding.SAME
    writer.operator("CONV_2D", [source, filters, bias], [output], stride_h=1, stride_w=1, padding=padding)
    return output


def _upscaler(file: Path, is_float: bool = False, outputs: int = 1) -> Path:
    """Two convolutions, a resize, another convolution; the result as int8 or as float."""
    writer = ModelWriter()
    image = writer.tensor("image", (1, _SIZE, _SIZE, 3), scale=_SCALE, zero_point=-8)
    tensor = _convolution(writer, _convolution(writer, image, _CHANNELS, 3), 8, 3)
    side = _SIZE * _FACTOR
    resized = writer.tensor("resized", (1, side, side, 8), scale=_SCALE, zero_point=4)
    size = writer.tensor("size", (2,), "int32", data=[side, side])
    writer.operator("RESIZE_NEAREST_NEIGHBOR", [tensor, size], [resized])
    found = [_convolution(writer, resized, 3, 1)]
    if is_float:
        real = writer.tensor("real", writer.shape(found[0]), "float32")
        writer.operator("DEQUANTIZE", found, [real])
        found = [real]
    file.write_bytes(writer.finish([image], [*found, tensor][:outputs]))
    return file


def _samples() -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return np.random.default_rng(5).integers(-128, 128, (2, _SIZE, _SIZE, 3), np.int8)


@pytest.mark.qemu
@requires_qemu
@requires_cmsis
def test_the_arena_falls_below_the_result_on_a_microcontroller(tmp_path: Path) -> None:
    """Between guard zones around an arena of exactly the planned size."""
    file = _upscaler(tmp_path / "up.tflite")
    resident = tinygen.compile(file, _M4, optimize="ram")
    stored = tinygen.compile(file, _M4, optimize="ram", results="stored")
    both = tinygen.compile(file, _M4, optimize="ram", results="stored", input="streamed")
    arenas = [model.report.arena_bytes for model in (resident, stored, both)]
    print(f"result {_RESULT_BYTES}, arenas resident, stored, stored and streamed: {arenas}")
    assert arenas[0] >= _RESULT_BYTES
    assert arenas[1] < _RESULT_BYTES // 4
    assert arenas[2] < arenas[1]
    expected = resident.run(_samples())
    for model in (stored, both):
        np.testing.assert_array_equal(model.run(_samples()), expected)


@requires_host_cc
@pytest.mark.parametrize(
    ("optimize", "split", "mode"),
    [("time", True, "resident"), ("time", False, "resident"), ("ram", True, "resident"), ("ram", True, "streamed")],
)
def test_stored_rows_are_the_whole_result(tmp_path: Path, optimize: str, split: bool, mode: str) -> None:
    """Of float, too: the rows are int8, and the header says what they stand for."""
    file = _upscaler(tmp_path / "up.tflite", is_float=True)
    expected = tinygen.compile(file, kernels="portable", target="host").run(_samples())
    model = tinygen.compile(
        file, kernels="portable", optimize=optimize, split=split, input=mode, results="stored", target="host"
    )
    np.testing.assert_array_equal(model.run(_samples()), expected)
    assert model.validate(_samples(), per_layer=True, against="simulator").exact
    header = model.compiled.files["up.h"]
    assert "int up_store_rows(void *user, int first, int count, const int8_t *rows);" in header
    assert "(value - UP_OUTPUT0_ZERO_POINT) * UP_OUTPUT0_SCALE" in header
    assert "dequantize_output" not in header


def test_it_must_be_clear_which_result_is_stored(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--results stored: .* has 2 outputs \('conv1_3', 'conv3_8'\), 1 was"):
        tinygen.compile(_upscaler(tmp_path / "two.tflite", outputs=2), results="stored", target="host")
    writer = ModelWriter()
    image = writer.tensor("image", (1, 4, 4, 1), scale=_SCALE)
    flat = writer.tensor("flat", (1, 16), scale=_SCALE)
    writer.operator("RESHAPE", [image, writer.tensor("shape", (2,), "int32", data=[1, 16])], [flat])
    (tmp_path / "view.tflite").write_bytes(writer.finish([image], [flat]))
    with pytest.raises(UsageError, match="nothing computes output 'flat'"):
        tinygen.compile(tmp_path / "view.tflite", results="stored", target="host")
    with pytest.raises(UsageError, match="--stream, --results stored: are given both"):
        tinygen.compile(_upscaler(tmp_path / "one.tflite"), results="stored", stream="height", target="host")
