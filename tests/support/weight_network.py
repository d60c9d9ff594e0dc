"""A small network with every kind of layer that takes narrow weights, and ways to quantize them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tinygen.calib import Calibrator
from tinygen.calib.model import load_float
from tinygen.compress import CompressionGranularity, DType, QScheme, quantize_weights
from tinygen.ir.types import Array
from tinygen.ops.batch import infer
from tinygen.ops.quantize import convert
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.quant.ctable_file import ctable_text
from tinygen.quant.dataset import open_dataset

_BLOCK, _CHANNEL, _TENSOR = (
    CompressionGranularity.PER_BLOCK,
    CompressionGranularity.PER_CHANNEL,
    CompressionGranularity.PER_TENSOR,
)
_E8M0 = DType.FP8_E8M0FNU
Mode = tuple[DType, CompressionGranularity, QScheme, DType | None]
MODES: Mapping[str, Mode] = {
    "int8-tensor": (DType.INT8, _TENSOR, QScheme.SYMMETRIC, None),
    "int4-channel": (DType.INT4, _CHANNEL, QScheme.SYMMETRIC, None),
    "int4-block-asymmetric": (DType.INT4, _BLOCK, QScheme.ASYMMETRIC, None),
    "uint8-block": (DType.UINT8, _BLOCK, QScheme.SYMMETRIC, None),
    "uint4-block-asymmetric": (DType.UINT4, _BLOCK, QScheme.ASYMMETRIC, None),
    "int2-block": (DType.INT2, _BLOCK, QScheme.ASYMMETRIC, None),
    "e4m3-channel": (DType.FP8_E4M3FN, _CHANNEL, QScheme.SYMMETRIC, None),
    "mxfp8-e5m2": (DType.FP8_E5M2, _BLOCK, QScheme.SYMMETRIC, _E8M0),
    "mxfp4": (DType.FP4_E2M1FN, _BLOCK, QScheme.SYMMETRIC, None),
}


def network() -> onnx.ModelProto:
    """Convolution, batch normalization as Mul and Add, depthwise and grouped convolutions, two kinds of products."""
    rng = np.random.default_rng(11)

    def constant(name: str, *shape: int) -> None:
        scale = np.sqrt(2 / max(int(np.prod(shape[1:])), 1)) if len(shape) > 1 else 0.5
        constants.append(numpy_helper.from_array((rng.normal(size=shape) * scale).astype(np.float32), name))

    constants: list[TensorProto] = []
    constant("conv", 32, 32, 3, 3)
    constant("factor", 1, 32, 1, 1)
    constant("summand", 1, 32, 1, 1)
    constant("depth", 32, 1, 3, 3)
    constant("grouped", 64, 32, 3, 3)
    constant("grouped_b", 64)
    constant("turned", 48, 64)
    constant("dense", 10, 48 * 12)
    constant("dense_b", 10)
    nodes = [
        helper.make_node("Conv", ["image", "conv"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Mul", ["c", "factor"], ["m"]),
        helper.make_node("Add", ["m", "summand"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Conv", ["r", "depth"], ["d"], group=32, pads=[1, 1, 1, 1]),
        helper.make_node("Concat", ["d", "r"], ["both"], axis=1),
        helper.make_node("Conv", ["both", "grouped", "grouped_b"], ["g"], group=2, strides=[2, 1], pads=[1, 1, 1, 1]),
        helper.make_node("Transpose", ["turned"], ["straight"], perm=[1, 0]),
        helper.make_node("Transpose", ["g"], ["pixels"], perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["pixels", "straight"], ["p"]),
        helper.make_node("Transpose", ["p"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Flatten", ["planes"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "dense_b"], ["scores"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 32, 6, 4])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def quantized(mode: str, folder: Path) -> Path:
    """Its file with such weights."""
    dtype, granularity, qscheme, scale_dtype = MODES[mode]
    model = quantize_weights(network(), dtype, qscheme, granularity, weight_num_threshold=280, scale_dtype=scale_dtype)
    onnx.save(model, folder / "network.onnx")
    return folder / "network.onnx"


def image(seed: int = 12) -> Array:
    """An input."""
    return np.random.default_rng(seed).normal(size=(1, 32, 6, 4)).astype(np.float32)


def table_of(model: Path) -> Path:
    """A CTable beside the network, from some images."""
    data, table = model.with_name("data.npz"), model.with_name("network.ctable.json")
    np.savez(data, in0=np.concatenate([image(seed) for seed in range(20)]))
    loaded = load_float(model)
    calibration = Calibrator(loaded).run_file(open_dataset(data, loaded.graph.inputs, 20))
    table.write_text(ctable_text(calibration.table))
    return table


def compiled_by_table(model: Path, target: str, ram_bytes: int | None = None) -> Compiled:
    """The network on int8."""
    return compile_model(model, Options(target=target, ctable=table_of(model), ram_bytes=ram_bytes))


def check_runs_on_int8(compiled: Compiled) -> None:
    """The program computes what the references of its operators do, to the bit."""
    port, result = compiled.graph.inputs[0], compiled.graph.outputs[0]
    inputs = [[image(seed)] for seed in (30, 31)]
    for sample, (found,) in zip(inputs, compiled.execute(inputs).outputs, strict=True):
        stored = convert(sample[0], port.external, port.tensor.type)
        (expected,) = infer(compiled.graph, [stored])
        np.testing.assert_array_equal(found, convert(expected, result.tensor.type, result.external))
