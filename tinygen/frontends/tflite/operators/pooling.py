"""Pools."""

from typing import TypeVar

import numpy as np
import tflite

from tinygen.frontends.tflite.activation import fused_clamp, padding_mode
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.ir.tensor import Tensor
from tinygen.ops.pool2d import AveragePool2D, AveragePoolUp2D, MaxPool2D, window_sums
from tinygen.ops.window import HW, UNIT, padding_for

_Pool = TypeVar("_Pool", AveragePool2D, AveragePoolUp2D, MaxPool2D)


def read_average_pool2d(node: Node) -> AveragePool2D | AveragePoolUp2D:
    """AVERAGE_POOL_2D; of uint8 halves are rounded up, which matters where a window has an even number of pixels."""
    pool = _read_pool(node, AveragePool2D)
    if not node.is_unsigned or _counts_are_odd(pool):
        return pool
    return _read_pool(node, AveragePoolUp2D)


def _counts_are_odd(pool: AveragePool2D) -> bool:
    pool.verify()
    _, height, width, _ = pool.input.shape
    _, counts = window_sums(pool.window, np.ones((1, height, width, 1), np.int8))
    return bool((counts % 2 == 1).all())


def read_max_pool2d(node: Node) -> MaxPool2D:
    """MAX_POOL_2D."""
    return _read_pool(node, MaxPool2D)


def averages(node: Node, input: Tensor, output: Tensor) -> AveragePool2D:
    """Means under the window of any operator that has the options of pools."""
    return _pool(node, AveragePool2D, input, output)


def _pool(node: Node, kind: type[_Pool], input: Tensor, output: Tensor) -> _Pool:
    options = node.options(tflite.Pool2DOptions)
    kernel = HW(options.FilterHeight(), options.FilterWidth())
    stride = HW(options.StrideH(), options.StrideW())
    if len(input.shape) != 4 or min(kernel.h, kernel.w, stride.h, stride.w) < 1:
        raise UnsupportedError(f"input {list(input.shape)}, filter {kernel} and stride {stride} do not form a pool")
    return kind(
        name=output.name,
        source=node.source,
        input=input,
        output=output,
        kernel=kernel,
        stride=stride,
        padding=padding_for(padding_mode(options.Padding()), HW(*input.shape[1:3]), kernel, stride, UNIT),
        clamp=fused_clamp(options.FusedActivationFunction(), output),
    )


def _read_pool(node: Node, kind: type[_Pool]) -> _Pool:
    return _pool(node, kind, node.input(0), node.output())


READERS: Readers = {"AVERAGE_POOL_2D": read_average_pool2d, "MAX_POOL_2D": read_max_pool2d}
