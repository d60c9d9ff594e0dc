"""Families of quantized networks by width, depth and resolution, in the shapes of keyword spotting and of images.

    python -m examples.families FOLDER [--widths 16,32 --depths 2,4 --resolutions 32,64]
    tinygen sweep FOLDER/*.onnx -t mps2-an382,mps2-an386,mps3-an547 -O time -o sweep/

Each is a convolution with stride 2, blocks of depthwise and 1x1 convolutions, a mean and a fully connected layer, as
ONNX with QuantizeLinear and DequantizeLinear. Weights are drawn: what such networks take is known before any is
trained.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import onnx
import typer
from onnx import TensorProto, helper, numpy_helper

_OPSET, _IR_VERSION = 17, 10
_MOST = 6.0  # of activations, which have 255 steps up to it
_DOWN_EVERY = 2  # blocks: half the resolution and twice the width


@dataclass(frozen=True)
class Member:
    """One network of a family; resolution: rows and columns of an image, or time steps of a keyword's 10 features."""

    task: str  # "keyword" or "image"
    width: int  # channels of the first layer
    depth: int  # blocks
    resolution: int

    @property
    def name(self) -> str:
        """As files and tables call it."""
        return f"{self.task}_w{self.width}_d{self.depth}_r{self.resolution}"

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Channels, rows and columns."""
        return (3, self.resolution, self.resolution) if self.task == "image" else (1, self.resolution, 10)

    @property
    def classes(self) -> int:
        """Outputs."""
        return 10 if self.task == "image" else 12


def family(
    widths: Sequence[int],
    depths: Sequence[int],
    resolutions: Sequence[int],
    tasks: Sequence[str] = ("keyword", "image"),
) -> Iterator[Member]:
    """All combinations."""
    for task, width, depth, resolution in product(tasks, widths, depths, resolutions):
        yield Member(task, width, depth, resolution)


def network(member: Member) -> onnx.ModelProto:
    """The network; its weights are drawn anew for each member, and the same ones each time."""
    made = _Writer(np.random.default_rng(list(member.name.encode())))
    value = made.quantized(made.input(member.input_shape))
    channels = member.width
    value = made.convolution(value, member.input_shape[0], channels, 3, stride=2)
    for block in range(member.depth):
        is_down = member.task == "image" and block % _DOWN_EVERY == 1
        wider = 2 * channels if is_down else channels
        value = made.convolution(value, channels, channels, 3, stride=2 if is_down else 1, groups=channels)
        value = made.convolution(value, channels, wider, 1)
        channels = wider
    value = made.quantized(made.node("GlobalAveragePool", value))
    value = made.node("Flatten", value)
    return made.model(made.dense(value, channels, member.classes), member)


@dataclass
class _Writer:
    """A model that grows node by node; methods give the names of values, whose quantization is that of activations."""

    random: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def constant(self, values: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, operator: str, *values: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, values, [name], name=name, **attributes))
        return name

    def input(self, shape: tuple[int, ...]) -> str:
        self.inputs.append(helper.make_tensor_value_info("input", TensorProto.FLOAT, (1, *shape)))
        return "input"

    def quantized(self, value: str, scale: float = _MOST / 255, zero_point: int = -128) -> str:
        scaling = self.constant(np.float32(scale)), self.constant(np.int8(zero_point))
        return self.node("DequantizeLinear", self.node("QuantizeLinear", value, *scaling), *scaling)

    def weights(self, shape: tuple[int, ...]) -> str:
        """Drawn, with a scale per output channel that keeps the variance of activations."""
        fan_in = int(np.prod(shape[1:]))
        scales = np.full(shape[0], (2 / fan_in) ** 0.5 / 40, np.float32)
        drawn = np.clip(np.rint(self.random.normal(0, 40, shape)), -127, 127).astype(np.int8)
        values = self.constant(drawn), self.constant(scales), self.constant(np.zeros(shape[0], np.int8))
        return self.node("DequantizeLinear", *values, axis=0)

    def bias(self, channels: int) -> str:
        return self.constant(self.random.normal(0, 0.5, channels).astype(np.float32))

    def convolution(self, value: str, channels: int, filters: int, size: int, stride: int = 1, groups: int = 1) -> str:
        weights = self.weights((filters, channels // groups, size, size))
        pads = [size // 2] * 4
        sums = self.node("Conv", value, weights, self.bias(filters), pads=pads, strides=[stride] * 2, group=groups)
        return self.quantized(self.node("Relu", sums))

    def dense(self, value: str, features: int, units: int) -> str:
        sums = self.node("Gemm", value, self.weights((units, features)), self.bias(units), transB=1)
        return self.quantized(sums, 2 * _MOST / 255, 0)

    def model(self, value: str, member: Member) -> onnx.ModelProto:
        output = helper.make_tensor_value_info(value, TensorProto.FLOAT, (1, member.classes))
        graph = helper.make_graph(self.nodes, member.name, self.inputs, [output], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main(
    folder: Annotated[Path, typer.Argument(help="Folder to write them into.")],
    widths: Annotated[str, typer.Option(help="Channels of first layers.")] = "16,32",
    depths: Annotated[str, typer.Option(help="Blocks.")] = "2,4",
    resolutions: Annotated[str, typer.Option(help="Time steps; rows and columns.")] = "32,48",
) -> None:
    """Write a family of networks as ONNX files."""
    folder.mkdir(parents=True, exist_ok=True)
    for member in family(_numbers(widths), _numbers(depths), _numbers(resolutions)):
        onnx.save(network(member), folder / f"{member.name}.onnx")


if __name__ == "__main__":
    typer.run(main)
