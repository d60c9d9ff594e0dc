"""All operators that ONNX models may have; needs no package onnx, so that they can be listed without it."""

from typing import Final

from tinygen.frontends.onnx.node import Readers
from tinygen.frontends.onnx.operators import (
    activation,
    blocks,
    choosing,
    composite,
    control,
    convolution,
    diagonal,
    discrete,
    dynamic,
    elementwise,
    function,
    matmul,
    movement,
    normalization,
    norms,
    one_hot,
    pad,
    pooling,
    qonnx,
    quantization,
    recurrent,
    reduction,
    resize,
    scatter,
    shape,
    top_k,
    truncation,
)

READERS: Readers = {
    **activation.READERS,
    **blocks.READERS,
    **choosing.READERS,
    **composite.READERS,
    **control.READERS,
    **convolution.READERS,
    **diagonal.READERS,
    **discrete.READERS,
    **dynamic.READERS,
    **elementwise.READERS,
    **function.READERS,
    **matmul.READERS,
    **movement.READERS,
    **normalization.READERS,
    **norms.READERS,
    **one_hot.READERS,
    **pad.READERS,
    **pooling.READERS,
    **qonnx.READERS,
    **quantization.READERS,
    **recurrent.READERS,
    **reduction.READERS,
    **resize.READERS,
    **scatter.READERS,
    **shape.READERS,
    **top_k.READERS,
    **truncation.READERS,
}

STANDARD_FUNCTIONS: Final = frozenset(
    (
        "Attention",
        "CastLike",
        "CausalConvWithState",
        "Celu",
        "CenterCropPad",
        "MeanVarianceNormalization",
        "RotaryEmbedding",
        "Shrink",
        "SwiGLU",
        "ThresholdedRelu",
    )
)
"""Those of the default domain in whose place the operators stand by which ONNX defines them."""
