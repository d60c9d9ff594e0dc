"""Small float32 models, and samples for them."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import tflite

from tests.support.tflite_writer import ModelWriter
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Float32Array, TensorType
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.clamp import Clamp, fused_clamp, with_clamp
from tinygen.ops.quantize import Dequantize, Quantize

SHAPE = (1, 8, 8, 3)
CLASSES = 4


def float_classifier(seed: int = 1) -> bytes:
    """Convolution, depthwise convolution, sum of two branches, pool, concatenation, fully connected layer, softmax."""
    generator = np.random.default_rng(seed)
    writer = ModelWriter()

    def constant(name: str, *shape: int, scale: float) -> int:
        return writer.tensor(name, shape, "float32", data=generator.normal(0, scale, shape).astype(np.float32))

    def tensor(name: str, *shape: int) -> int:
        return writer.tensor(name, shape, "float32")

    same = {"stride_h": 1, "stride_w": 1, "padding": tflite.Padding.SAME}
    relu6, relu = tflite.ActivationFunctionType.RELU6, tflite.ActivationFunctionType.RELU
    image, stem = tensor("image", *SHAPE), tensor("stem", 1, 8, 8, 8)
    stem_operands = [image, constant("stem_w", 8, 3, 3, 3, scale=0.4), constant("stem_b", 8, scale=0.5)]
    writer.operator("CONV_2D", stem_operands, [stem], fused_activation_function=relu6, **same)
    depthwise = tensor("depthwise", 1, 8, 8, 8)
    depthwise_operands = [stem, constant("depthwise_w", 1, 3, 3, 8, scale=0.3), constant("depthwise_b", 8, scale=0.5)]
    writer.operator("DEPTHWISE_CONV_2D", depthwise_operands, [depthwise], depth_multiplier=1, **same)
    total, pooled = tensor("total", 1, 8, 8, 8), tensor("pooled", 1, 4, 4, 8)
    writer.operator("ADD", [stem, depthwise], [total], fused_activation_function=relu)
    writer.operator(
        "MAX_POOL_2D", [total], [pooled], stride_h=2, stride_w=2, filter_height=2, filter_width=2,
        padding=tflite.Padding.VALID,
    )  # fmt: skip
    branch, both, flat = tensor("branch", 1, 4, 4, 4), tensor("both", 1, 4, 4, 12), tensor("flat", 1, 192)
    branch_operands = [pooled, constant("branch_w", 4, 1, 1, 8, scale=0.4), constant("branch_b", 4, scale=0.1)]
    writer.operator("CONV_2D", branch_operands, [branch], **same)
    writer.operator("CONCATENATION", [pooled, branch], [both], axis=3)
    writer.operator("RESHAPE", [both], [flat], new_shape=[1, 192])
    logits, scores = tensor("logits", 1, CLASSES), tensor("scores", 1, CLASSES)
    dense_operands = [flat, constant("dense_w", CLASSES, 192, scale=0.15), constant("dense_b", CLASSES, scale=0.2)]
    writer.operator("FULLY_CONNECTED", dense_operands, [logits])
    writer.operator("SOFTMAX", [logits], [scores], beta=1.0)
    return writer.finish([image], [scores])


def samples(count: int, seed: int = 2) -> Float32Array:
    """Images for `float_classifier`."""
    generator = np.random.default_rng(seed)
    images: Float32Array = generator.normal(0, 1, (count, *SHAPE[1:])).astype(np.float32)
    return images


def write_float_model(folder: Path, count: int = 24) -> tuple[Path, Path]:
    """The model and samples as files."""
    model, data = folder / "net.tflite", folder / "samples.npz"
    model.write_bytes(float_classifier())
    np.savez(data, in0=samples(count))
    return model, data


def as_float(graph: Graph) -> Graph:
    """The float network that an int8 one was made from, up to the rounding of its weights."""
    mapping = {tensor: _real(tensor) for tensor in graph.tensors if tensor.type.quant is not None}
    ops = [_real_op(op, mapping) for op in graph.ops if not isinstance(op, Quantize | Dequantize)]
    ports = [
        tuple(replace(port, tensor=mapping[port.tensor], external=mapping[port.tensor].type) for port in side)
        for side in (graph.inputs, graph.outputs)
    ]
    return Graph(graph.name, ports[0], ports[1], tuple(ops))


def _real(tensor: Tensor) -> Tensor:
    quant, data = tensor.type.quant, None
    assert quant is not None
    if tensor.data is not None:
        scales = np.array(quant.scales)
        if quant.axis is not None and len(scales) > 1:
            scales = scales.reshape([-1 if axis == quant.axis else 1 for axis in range(tensor.data.ndim)])
        zero_point = np.float64(quant.zero_points[0])
        data = ((tensor.data.astype(np.float64) - zero_point) * scales).astype(np.float32)
    return Tensor(tensor.name, TensorType(DType.FLOAT32, tensor.shape), data)


def _real_op(op: Op, mapping: dict[Tensor, Tensor]) -> Op:
    stage = getattr(op, "output_stage", None)
    if isinstance(stage, OutputStage) and stage.bias is not None and stage.bias.data is not None:
        scales = np.array(stage.factors) * stage.output.type.scale  # those of the products
        data = (stage.bias.data.astype(np.float64) * scales).astype(np.float32)
        mapping = mapping | {stage.bias: Tensor(stage.bias.name, TensorType(DType.FLOAT32, data.shape), data)}
    real = op.replace_tensors(mapping)
    clamp = fused_clamp(op)
    if clamp is not None:
        type = op.results[0].type
        low = -math.inf if clamp.min == -128 and type.zero_point != -128 else type.scale * (clamp.min - type.zero_point)
        high = math.inf if clamp.max == 127 else type.scale * (clamp.max - type.zero_point)
        real = with_clamp(real, Clamp(low, high))
    return real
