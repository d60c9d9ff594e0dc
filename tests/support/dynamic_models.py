"""A small float network in ONNX, and what onnxruntime's quantizer makes of it."""

from functools import cache
from pathlib import Path

import numpy as np
import onnx

from tests.support.onnx_writer import OnnxWriter
from tinygen.ir.types import Array

INPUT = (1, 3, 12, 12)
CLASSES = 10


def float_model(folder: Path, seed: int = 1) -> Path:
    """Convolutions, one of them depthwise, with rectifiers, and a product."""
    random, writer = np.random.default_rng(seed), OnnxWriter(opset=13)

    def constant(*shape: int) -> str:
        return writer.constant((random.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    image = writer.port(INPUT)
    padded = {"pads": [1, 1, 1, 1]}
    y = writer.node("Conv", [image, constant(16, 3, 3, 3), constant(16)], padded | {"strides": [2, 2]})
    y = writer.node("Relu", [y])
    y = writer.node("Conv", [y, constant(16, 1, 3, 3), constant(16)], padded | {"group": 16})
    y = writer.node("Relu", [y])
    y = writer.node("Conv", [y, constant(32, 16, 1, 1), constant(32)])
    y = writer.node("Relu", [y])
    y = writer.node("Flatten", [y])
    writer.output(writer.node("Gemm", [y, constant(CLASSES, 32 * 36), constant(CLASSES)], {"transB": 1}))
    path = folder / "net.onnx"
    path.write_bytes(writer.finish())
    return path


def quantized_at_run_time(model: Path, is_unsigned: bool, per_channel: bool, reduce_range: bool = False) -> Path:
    """What `quantize_dynamic` writes."""
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - optional, and slow to load

    path = model.with_name(f"dynamic_{is_unsigned}_{per_channel}_{reduce_range}.onnx")
    kind = QuantType.QUInt8 if is_unsigned else QuantType.QInt8
    quantize_dynamic(model, path, weight_type=kind, per_channel=per_channel, reduce_range=reduce_range)
    return path


def quantized_before(model: Path, as_operators: bool) -> Path:
    """What `quantize_static` writes: QOperator or QDQ."""
    from onnxruntime.quantization import (  # noqa: PLC0415 - optional, and slow to load
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    class Samples(CalibrationDataReader):  # type: ignore[misc]  # has no types
        def __init__(self) -> None:
            name = onnx.load(str(model)).graph.input[0].name
            self._left = iter([{name: sample} for (sample,) in samples(8)])

        def get_next(self) -> dict[str, Array] | None:
            return next(self._left, None)

    path = model.with_name(f"static_{as_operators}.onnx")
    form = QuantFormat.QOperator if as_operators else QuantFormat.QDQ
    quantize_static(
        model, path, Samples(), quant_format=form, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8
    )
    return path


@cache
def _drawn(count: int) -> Array:
    return np.random.default_rng(7).normal(size=(count, *INPUT)).astype(np.float32)


def samples(count: int) -> list[list[Array]]:
    """Inputs of the network."""
    return [[x] for x in _drawn(count)]
