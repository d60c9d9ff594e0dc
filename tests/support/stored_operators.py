"""Random operators on stored integers that only readers of ONNX make: normalizations, functions by tables, resizing."""

import numpy as np

from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.interpolate import InterpolateStored, Neighbours
from tinygen.ops.interpolated import Interpolated, TabledFunction
from tinygen.ops.standardize import FixedAffine, Standardize

_NOWHERE = Source("test", 0, "TEST")
_FUNCTIONS = (np.tanh, np.sin, np.abs, lambda x: x / (1 + np.abs(x)), lambda x: np.log1p(np.exp(x)))


def random_standardize(rng: np.random.Generator) -> Standardize:
    """Of int8 or int16, over one axis of three."""
    dtype = DType.INT8 if rng.random() < 0.5 else DType.INT16
    outer, size, inner = (int(rng.choice([1, 2, 3, 7, 33])) for _ in range(3))
    shape, channels = (outer, size, inner), size * inner if rng.random() < 0.5 else inner
    points = [int(rng.integers(-128, 128)) if dtype is DType.INT8 else 0 for _ in range(2)]
    bits = 0 if dtype is DType.INT8 else 8
    scales = [float(np.float32(10.0 ** rng.uniform(-4, 1) * 2.0**-bits)) for _ in range(2)]
    input, output = (
        Tensor(name, TensorType(dtype, shape, Quant((scale,), (point,))))
        for name, scale, point in zip("xy", scales, points, strict=True)
    )
    gain = scales[1] * 2.0 ** rng.uniform(0, 12)
    affine = FixedAffine.of(
        rng.uniform(-gain, gain, channels) / scales[1], rng.uniform(-gain, gain, channels) / scales[1]
    )
    return Standardize(
        name="y",
        source=_NOWHERE,
        input=input,
        factors=Tensor("f", TensorType(DType.INT32, (channels,)), affine.factors),
        summands=Tensor("s", TensorType(DType.INT32, (channels,)), affine.summands),
        output=output,
        axes=(1,),
        channel_step=1,
        factor_bits=affine.bits,
        epsilon=float(10.0 ** rng.uniform(-12, 0)),
        centers=bool(rng.integers(2)),
    )


def random_interpolation(rng: np.random.Generator) -> InterpolateStored:
    """Of int8 or int16, between rows and columns anywhere, beyond the edges too."""
    dtype = DType.INT8 if rng.random() < 0.5 else DType.INT16
    height, width, tall, wide = (int(number) for number in rng.integers(1, 9, 4))
    types = (TensorType(dtype, (1, *size, 2), Quant((0.5,), (0,))) for size in ((height, width), (tall, wide)))
    input, output = (Tensor(name, type) for name, type in zip("xy", types, strict=True))
    rows, columns = (
        Neighbours.at((rng.uniform(-1, size, count)).tolist(), size) for size, count in ((height, tall), (width, wide))
    )
    return InterpolateStored(name="y", source=_NOWHERE, input=input, output=output, rows=rows, columns=columns)


def random_function(rng: np.random.Generator) -> Interpolated:
    """Of int16, by a table, of any scales."""
    shape = (int(rng.integers(1, 8)), int(rng.integers(1, 60)))
    scales = [float(np.float32(10.0 ** rng.uniform(-5, -3))) for _ in range(2)]
    input, output = (
        Tensor(name, TensorType(DType.INT16, shape, Quant((scale,), (0,))))
        for name, scale in zip("xy", scales, strict=True)
    )
    apply = _FUNCTIONS[int(rng.integers(len(_FUNCTIONS)))]
    values = TabledFunction(apply, *scales).table
    table = Tensor("table", TensorType(DType.INT16, values.shape), values)
    return Interpolated(name="y", source=_NOWHERE, input=input, table=table, output=output)
