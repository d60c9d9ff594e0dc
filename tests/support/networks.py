"""Whole networks as graphs, with random weights: what matters is their shapes."""

from tests.support.graphs import GraphBuilder
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.window import HW, UNIT, Padding

_MSF_CNN_BLOCKS = (  # channels in and out, expansion, stride (msf-CNN, arXiv 2505.11483, at commit fd74a7c)
    (11, 5, 1, 1),
    (5, 8, 6, 2),
    (8, 8, 6, 1),
    (8, 11, 6, 2),
    *[(11, 11, 6, 1)] * 2,
    (11, 22, 6, 2),
    *[(22, 22, 6, 1)] * 3,
    (22, 33, 6, 1),
    *[(33, 33, 6, 1)] * 2,
    (33, 56, 6, 2),
    *[(56, 56, 6, 1)] * 2,
    (56, 112, 6, 1),
)
_CHANNELS_PER_BLOCK = 8  # numbers of channels are multiples of it
_STAGES = (  # expansion, channels, blocks, stride (Sandler et al., MobileNetV2, 2018, table 2)
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet_v2(size: int, width: float = 1.0, classes: int = 1000) -> Graph:
    """MobileNetV2 for square images, 65 operators."""
    build = GraphBuilder()
    tensor = build.conv(build.input(1, size, size, 3), _channels(32, width), HW(3, 3), HW(2, 2))
    for expansion, channels, blocks, stride in _STAGES:
        for block in range(blocks):
            tensor = _bottleneck(build, tensor, expansion, _channels(channels, width), 1 if block else stride)
    tensor = build.conv(tensor, max(1280, _channels(1280, width)))
    _, height, width_left, channels = tensor.shape
    tensor = build.pool(AveragePool2D, tensor, HW(height, width_left), HW(height, width_left))
    tensor = build.fully_connected(build.reshape(tensor, 1, channels), classes)
    return build.graph(build.softmax(tensor))


def msf_cnn(size: int = 144, *, adds: bool) -> Graph:
    """What msf-CNN calls MobileNetV2-0.35: channels are not rounded, each block expands, nothing follows the last map.

    `adds`: with the sums of MobileNetV2, which are left out there.
    """
    build, around = GraphBuilder(), Padding(1, 1, 1, 1)
    tensor = build.conv(build.input(1, size, size, 3), 11, HW(3, 3), HW(2, 2), around)
    for before, channels, expansion, stride in _MSF_CNN_BLOCKS:
        source = tensor
        tensor = build.depthwise(build.conv(source, before * expansion), 1, HW(3, 3), HW(stride, stride), around)
        tensor = build.conv(tensor, channels)
        if adds and tensor.shape == source.shape:
            tensor = build.add(source, tensor)
    return build.graph(build.conv(tensor, 448))


def over_time(layers: int, rows: int) -> Graph:
    """Convolutions over time, of 4 channels each."""
    build = GraphBuilder()
    tensor = build.input(1, rows, 1, 4)
    for _ in range(layers):
        tensor = build.conv(tensor, 4, HW(3, 1))
    return build.graph(tensor)


def _bottleneck(build: GraphBuilder, input: Tensor, expansion: int, channels: int, stride: int) -> Tensor:
    tensor = build.conv(input, input.shape[3] * expansion) if expansion > 1 else input
    tensor = build.depthwise(tensor, kernel=HW(3, 3), stride=HW(stride, stride))
    tensor = build.conv(tensor, channels, UNIT)
    return build.add(input, tensor) if tensor.shape == input.shape else tensor


def _channels(channels: int, width: float) -> int:
    """The multiple of 8 nearest to the scaled number, at least 90 % of it."""
    scaled = channels * width
    step = _CHANNELS_PER_BLOCK
    rounded = max(step, int(scaled + step / 2) // step * step)
    return rounded + step if rounded < 0.9 * scaled else rounded
