"""All operators that ONNX models may have; needs no package onnx, so that they can be listed without it."""

from tinygen.frontends.onnx.node import Readers
from tinygen.frontends.onnx.operators import (
    activation,
    blocks,
    composite,
    convolution,
    discrete,
    dynamic,
    elementwise,
    function,
    matmul,
    movement,
    normalization,
    pooling,
    qonnx,
    quantization,
    recurrent,
    reduction,
    resize,
    shape,
)

READERS: Readers = {
    **activation.READERS,
    **blocks.READERS,
    **composite.READERS,
    **convolution.READERS,
    **discrete.READERS,
    **dynamic.READERS,
    **elementwise.READERS,
    **function.READERS,
    **matmul.READERS,
    **movement.READERS,
    **normalization.READERS,
    **pooling.READERS,
    **qonnx.READERS,
    **quantization.READERS,
    **recurrent.READERS,
    **reduction.READERS,
    **resize.READERS,
    **shape.READERS,
}
