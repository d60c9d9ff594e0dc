"""Float32 operators of TFLite: numpy references and C kernels, operator by operator, against LiteRT."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import tflite

from tests.support.fuzz import survive
from tests.support.litert import needs_litert
from tests.support.shared import shared_file
from tests.support.tflite_writer import ModelWriter
from tinygen import passes
from tinygen.frontends import import_model
from tinygen.ir.types import Array, DType
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify.validate import validate

UNARY = ["ABS", "EXP", "GELU", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6", "SQUARE", "TANH"]
POSITIVE = ["LOG", "RSQRT", "SQRT"]
BINARY = ["ADD", "MAXIMUM", "MINIMUM", "MUL", "PRELU", "SQUARED_DIFFERENCE", "SUB"]
REDUCTIONS = ["MEAN", "REDUCE_MAX", "REDUCE_MIN", "SUM"]
_SAME, _VALID = tflite.Padding.SAME, tflite.Padding.VALID
_RELU, _RELU6 = tflite.ActivationFunctionType.RELU, tflite.ActivationFunctionType.RELU6


class _Drawn:
    """A model of operators side by side: each reads the input, or constants, and is an output."""

    def __init__(self, *shape: int) -> None:
        self.writer, self.outputs = ModelWriter(), list[int]()
        self.random = np.random.default_rng(0)
        self.x = self.writer.tensor("x", shape, "float32")

    def constant(self, *shape: int, positive: bool = False) -> int:
        values = self.random.normal(size=shape)
        data = np.abs(values) + 0.1 if positive else values
        return self.writer.tensor(self._name(), shape, "float32", data=data.astype(np.float32))

    def integers(self, numbers: Sequence[int] | Array) -> int:
        data = np.asarray(numbers, np.int32)
        return self.writer.tensor(self._name(), data.shape, "int32", data=data)

    def add(
        self, operator: str, inputs: Sequence[int], shape: Sequence[int], keeps: bool = True, **options: float
    ) -> int:
        y = self.writer.tensor(self._name(), shape, "float32")
        self.writer.operator(operator, inputs, [y], **options)  # type: ignore[arg-type]
        if keeps:
            self.outputs.append(y)
        return y

    def save(self, folder: Path) -> Path:
        path = folder / "float.tflite"
        path.write_bytes(self.writer.finish([self.x], self.outputs))
        return path

    def _name(self) -> str:
        self._count = getattr(self, "_count", 0) + 1
        return f"t{self._count}"


def elementwise() -> _Drawn:
    """Functions of one and of two tensors, reductions, arg max."""
    drawn = _Drawn(1, 5, 6, 8)
    shape = (1, 5, 6, 8)
    for operator in UNARY:
        drawn.add(operator, [drawn.x], shape)
    drawn.add("SOFTMAX", [drawn.x], shape, beta=0.7)
    drawn.add("LEAKY_RELU", [drawn.x], shape, alpha=0.2)
    positive = drawn.add("ABS", [drawn.x], shape, keeps=False)
    for operator in POSITIVE:
        drawn.add(operator, [positive], shape)
    for operator in BINARY:
        drawn.add(operator, [drawn.x, drawn.constant(1, 1, 8)], shape)
    drawn.add("ADD", [drawn.x, drawn.x], shape, fused_activation_function=_RELU6)
    for operator in REDUCTIONS:
        drawn.add(operator, [drawn.x, drawn.integers([1, 2])], (1, 8), keep_dims=False)
        drawn.add(operator, [drawn.x, drawn.integers([1, 3])], (1, 1, 6, 1), keep_dims=True)
    return drawn


def windows() -> _Drawn:
    """Convolutions, pools, matrix products, resizing, padding."""
    drawn = _Drawn(2, 9, 7, 4)
    x, same = drawn.x, {"stride_h": 2, "stride_w": 1, "padding": _SAME}
    ones = {"stride_h": 1, "stride_w": 1, "padding": _VALID}
    dilated = {**ones, "dilation_h_factor": 2, "dilation_w_factor": 3}
    drawn.add("CONV_2D", [x, drawn.constant(6, 3, 3, 4), drawn.constant(6)], (2, 5, 7, 6), **same)
    drawn.add(
        "CONV_2D",
        [x, drawn.constant(6, 3, 2, 4), drawn.constant(6)],
        (2, 5, 4, 6),
        fused_activation_function=_RELU,
        **dilated,
    )
    depthwise = {"depth_multiplier": 2, **same}
    drawn.add("DEPTHWISE_CONV_2D", [x, drawn.constant(1, 3, 3, 8), drawn.constant(8)], (2, 5, 7, 8), **depthwise)
    drawn.add("AVERAGE_POOL_2D", [x], (2, 5, 7, 4), filter_height=3, filter_width=3, **same)
    drawn.add("MAX_POOL_2D", [x], (2, 8, 5, 4), filter_height=2, filter_width=3, **ones)
    drawn.add("FULLY_CONNECTED", [x, drawn.constant(5, 4), drawn.constant(5)], (126, 5))
    shape = drawn.integers([2, 18, 14, 3])
    strides = {"padding": _SAME, "stride_h": 2, "stride_w": 2}
    drawn.add("TRANSPOSE_CONV", [shape, drawn.constant(3, 3, 3, 4), x], (2, 18, 14, 3), **strides)
    drawn.add("BATCH_MATMUL", [x, drawn.constant(2, 9, 5, 4)], (2, 9, 7, 5), adj_y=True)
    for corners, half in ((False, False), (True, False), (False, True)):
        flags = {"align_corners": corners, "half_pixel_centers": half}
        drawn.add("RESIZE_BILINEAR", [x, drawn.integers([5, 16])], (2, 5, 16, 4), **flags)
        drawn.add("RESIZE_NEAREST_NEIGHBOR", [x, drawn.integers([5, 16])], (2, 5, 16, 4), **flags)
    widths = drawn.integers(np.array([[0, 0], [1, 2], [0, 3], [0, 1]]))
    drawn.add("PAD", [x, widths], (2, 12, 10, 5))
    drawn.add("PADV2", [x, widths, drawn.constant()], (2, 12, 10, 5))
    drawn.add("CONCATENATION", [x, drawn.constant(2, 9, 7, 3)], (2, 9, 7, 7), axis=3)
    drawn.add("TRANSPOSE", [x, drawn.integers([0, 3, 1, 2])], (2, 4, 9, 7))
    return drawn


@needs_litert
@pytest.mark.parametrize("draw", [elementwise, windows])
def test_against_litert(draw: "type[_Drawn]", tmp_path: Path) -> None:
    """References within 1e-5 of LiteRT's operator by operator, C within 1e-5 of the references."""
    options = Options(allow_float=True, kernels=Kernels.PORTABLE, target="host")
    compiled = compile_model(draw().save(tmp_path), options)
    found = validate(compiled, samples=2, per_layer=True)
    wrong = [layer for layer in found.layers if layer.mismatches or layer.oracle_mismatches]
    assert wrong == []


def test_dynamic_range_weights_stay_integers() -> None:
    """int8 weights under float activations: layers of integers, between which everything is real."""
    graph = import_model(shared_file("models/mlperf_tiny/kws_ref_model_float32.tflite"))
    weights = [op.filters.weights.type.dtype for op in graph.ops if op.filters is not None]
    assert weights.count(DType.INT8) == 5  # its depthwise and last layers are float32 in the file
    assert all(port.tensor.type.dtype.is_real for port in (*graph.inputs, *graph.outputs))


def import_and_simplify(path: Path) -> None:
    """What reads a model before anything is planned."""
    passes.run(import_model(path), passes.FLOAT_PASSES)


def test_damaged_files(tmp_path: Path) -> None:
    files = []
    for draw in (elementwise, windows):
        (tmp_path / draw.__name__).mkdir()
        files.append(draw().save(tmp_path / draw.__name__))
    survival = survive("tests.ops.test_float:import_and_simplify", files, 1500, 20261120)
    assert survival.failure is None
    assert min(survival.refused, survival.accepted) > 50
    assert survival.peak_resident_bytes < 700_000_000
