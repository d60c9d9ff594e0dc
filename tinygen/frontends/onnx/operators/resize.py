"""Resizing of images."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from tinygen.frontends.onnx.builder import NHWC
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.sampling import NodeSampling, sampling_of
from tinygen.frontends.onnx.operators.stored import with_stored
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Form, Placed, Real
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import TensorType
from tinygen.ops.gather import Gather
from tinygen.ops.interpolate import Interpolate, InterpolateStored
from tinygen.ops.resize import ResizeBilinear, ResizeNearest

_Resize = TypeVar("_Resize", ResizeBilinear, ResizeNearest)

_FLAGS = ((False, False), (True, False), (False, True), (True, True))  # align_corners, half_pixel_centers


def read_resize(node: Node) -> Real:
    """Resize and Upsample: nearest and linear, height and width, to constant sizes."""
    input = node.real(0)
    if len(input.shape) != 4:
        raise UnsupportedError(f"input has shape {list(input.shape)}, 4 dimensions were expected")
    mode = node.text("mode", "nearest")
    if mode not in ("nearest", "linear"):
        raise UnsupportedError(f"mode is '{mode}', nearest or linear was expected")
    sampling = sampling_of(node, input.shape)
    size = tuple(axis.output_size for axis in sampling.axes)
    shape = (*input.shape[:2], *size)

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        image = node.builder.arranged(inputs[0], NHWC)
        output = node.builder.result(name, (shape[0], *size, shape[1]), quant)
        if mode == "nearest":
            _nearest(node, sampling, image, output)
        else:
            node.builder.add(_linear(node, sampling, image, output))
        return Placed(output, NHWC)

    _ = sampling.nearest if mode == "nearest" else sampling.neighbours  # what cannot be read is this node's fault
    return node.kept((input,), shape, make)


def _linear(node: Node, sampling: NodeSampling, image: Tensor, output: Tensor) -> Op:
    """Between rows and columns; of integers by TFLite's operator, which needs no tables, where its positions are those
    of ONNX, to the last bit."""
    rows, columns = sampling.neighbours
    kind = Interpolate if output.type.dtype.is_real else InterpolateStored
    if kind is InterpolateStored:
        for op in _flagged(ResizeBilinear, node, image, output, _FLAGS[:-1]):
            if (op.exact_rows, op.exact_columns) == (rows, columns):
                return op
    return kind(name=output.name, source=node.source, input=image, output=output, rows=rows, columns=columns)


def _nearest(node: Node, sampling: NodeSampling, image: Tensor, output: Tensor) -> None:
    """Resizing with flags that take the same pixels as ONNX; where there are none, rows and columns by index."""
    batch, height, _, channels = output.shape
    for op in _flagged(ResizeNearest, node, image, output, _FLAGS):
        if (op.rows, op.columns) == sampling.nearest:
            node.builder.add(op)
            return
    rows, columns = sampling.nearest
    tall = Tensor(
        node.builder.derive(output.name, "rows"),
        TensorType(output.type.dtype, (batch, height, image.shape[2], channels), output.type.quant),
    )
    _gather(node, image, rows, tall, 1)
    _gather(node, tall, columns, output, 2)


def _flagged(
    kind: type[_Resize], node: Node, image: Tensor, output: Tensor, flags: tuple[tuple[bool, bool], ...]
) -> Iterator[_Resize]:
    """TFLite's operator with each of these settings, one after the other."""
    for align, half_pixel in flags:
        yield kind(
            name=output.name,
            source=node.source,
            input=image,
            output=output,
            align_corners=align,
            half_pixel_centers=half_pixel,
        )


def _gather(node: Node, input: Tensor, indices: tuple[int, ...], output: Tensor, axis: int) -> None:
    constant = node.builder.constant(node.builder.derive(output.name, "indices"), np.array(indices, np.int32))
    node.builder.add(
        Gather(
            name=output.name,
            source=node.source,
            input=input,
            indices=constant,
            output=output,
            axis=axis,
            batch_dims=0,
        )
    )


READERS: Readers = dict.fromkeys(("Resize", "Upsample"), with_stored(read_resize))
