"""Seed 003 item by item on ONNX models, and the arithmetic against golden numbers and ml_dtypes."""

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support.weight_models import convolution, dequantize_nodes, matmul, scale_of
from tinygen.compress import (
    Compat,
    CompressionError,
    CompressionGranularity,
    CompressionWarning,
    DType,
    PowerOfTwo,
    QScheme,
    quantize_weights,
)
from tinygen.compress.encode import encode
from tinygen.compress.scheme import CodeScheme
from tinygen.ir.coding import Coding

_TENSOR, _CHANNEL, _BLOCK = CompressionGranularity
_SYMMETRIC, _ASYMMETRIC = QScheme
_WEIGHTS = (
    DType.INT8, DType.INT4, DType.INT2, DType.UINT8, DType.UINT4, DType.UINT2,
    DType.FP8_E4M3FN, DType.FP8_E5M2, DType.FP4_E2M1FN,
)  # fmt: skip


def _granularity(dtype: DType) -> CompressionGranularity:
    return _BLOCK if dtype is DType.FP4_E2M1FN else _CHANNEL


def _outputs(model: onnx.ModelProto, seed: int = 0) -> np.ndarray:
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    value = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    outputs: Any = ReferenceEvaluator(model).run(None, {model.graph.input[0].name: value})
    return np.asarray(outputs[0])


def test_s3_01_each_eligible_constant_gets_one_dequantize_linear() -> None:
    model = matmul(64, 48, extra_matmul=True)
    found = quantize_weights(model, DType.INT8)
    assert len(dequantize_nodes(found)) == 2
    assert not dequantize_nodes(model)
    onnx.checker.check_model(found, full_check=True)


def test_s3_02_constants_that_other_operators_read_stay() -> None:
    model = matmul(64, 48, added=True)  # rows of an Add, more than the threshold
    found = quantize_weights(model, DType.INT8)
    (node,) = dequantize_nodes(found)
    assert node.output[0] == "weights"
    added = next(t for t in found.graph.initializer if t.name == "added")
    assert added.data_type == TensorProto.FLOAT


def test_s3_03_blocks_that_do_not_divide_are_skipped_with_a_warning() -> None:
    model = convolution(32, 16)
    with pytest.warns(CompressionWarning, match=r"^TG-W301 weights 'weights' stay as they are: Invalid block_sizes"):
        found = quantize_weights(model, DType.INT4, granularity=_BLOCK, block_size=48)
    assert found == model


@pytest.mark.parametrize("model", [matmul(64, 48), convolution(32, 16)], ids=["linear", "convolution"])
def test_s3_04_per_tensor_has_one_scale(model: onnx.ModelProto) -> None:
    assert scale_of(quantize_weights(model, DType.INT8, granularity=_TENSOR)).shape == ()
    assert _coding(model, DType.INT8, _TENSOR).scales.size == 1


def test_s3_05_per_channel_has_a_scale_for_each_output() -> None:
    assert scale_of(quantize_weights(matmul(64, 48), DType.INT8)).shape == (48,)
    assert scale_of(quantize_weights(convolution(32, 16), DType.INT8)).shape == (16,)
    assert _coding(convolution(32, 16), DType.INT8, _CHANNEL).scales.shape == (16, 1, 1, 1)


def test_s3_06_blocks_have_scales_along_input_channels() -> None:
    found = quantize_weights(matmul(64, 48), DType.INT4, granularity=_BLOCK)
    assert scale_of(found).shape == (2, 48)
    found = quantize_weights(convolution(64, 16), DType.INT4, granularity=_BLOCK)
    assert scale_of(found).shape == (16, 2, 3, 3)  # ONNX repeats those of the window
    assert _coding(convolution(64, 16), DType.INT4, _BLOCK).scales.shape == (16, 2, 1, 1)


@pytest.mark.parametrize("dtype", _WEIGHTS, ids=lambda dtype: dtype.value)
def test_s3_07_all_nine_types_run_and_are_near(dtype: DType) -> None:
    model = matmul(64, 48)
    found = quantize_weights(model, dtype, granularity=_granularity(dtype))
    onnx.checker.check_model(found, full_check=True)
    expected, actual = _outputs(model), _outputs(found)
    most = {8: 0.06, 4: 0.35, 2: 1.0}[dtype.bits]
    assert np.linalg.norm(actual - expected) < most * np.linalg.norm(expected)
    codes = next(t for t in found.graph.initializer if t.name == "weights:codes")
    assert len(codes.raw_data) == 64 * 48 * dtype.bits // 8  # narrow in the file
    assert dtype.value == dtype.name.lower()


_GOLDEN_WEIGHTS = np.array([[-2, 0.5, 1, -0.5], [0.2, 1.8, -1.5, 0]], np.float32)
_GOLDEN = [
    (DType.INT8, _SYMMETRIC, [[-127, 32, 63, -32], [14, 127, -106, 0]], None),
    (DType.INT8, _ASYMMETRIC, [[-128, 84, 127, 0], [3, 127, -128, -12]], [42, -12]),
    (DType.UINT8, _SYMMETRIC, [[0, 159, 190, 95], [141, 254, 21, 127]], [127, 127]),
    (DType.INT4, _SYMMETRIC, [[-7, 2, 3, -2], [1, 7, -6, 0]], None),
    (DType.INT4, _ASYMMETRIC, [[-8, 4, 7, 0], [0, 7, -8, -1]], [2, -1]),
    (DType.UINT4, _SYMMETRIC, [[0, 9, 10, 5], [8, 14, 1, 7]], [7, 7]),
    (DType.UINT8, _ASYMMETRIC, [[0, 212, 255, 128], [131, 255, 0, 116]], [170, 116]),
    (DType.UINT4, _ASYMMETRIC, [[0, 12, 15, 8], [8, 15, 0, 7]], [10, 7]),
]
_GOLDEN_SCALES = {
    (DType.INT8, _SYMMETRIC): [0.0157480352, 0.014173232],
    (DType.INT8, _ASYMMETRIC): [0.0117647098, 0.0129411798],
    (DType.INT4, _SYMMETRIC): [0.285714358, 0.257142931],
}


@pytest.mark.parametrize(("dtype", "qscheme", "codes", "zero_points"), _GOLDEN)
@pytest.mark.parametrize("compat", list(Compat))
def test_s3_08_schemes_have_the_golden_codes(
    dtype: DType, qscheme: QScheme, codes: list[list[int]], zero_points: list[int] | None, compat: Compat
) -> None:
    found = encode(_GOLDEN_WEIGHTS, CodeScheme(dtype, qscheme, compat=compat), (1, 0))
    assert found.codes.astype(int).tolist() == codes
    assert (None if found.zero_points is None else found.zero_points.ravel().tolist()) == zero_points
    if (dtype, qscheme) in _GOLDEN_SCALES:
        np.testing.assert_array_max_ulp(
            found.scales.ravel().astype(np.float32), np.array(_GOLDEN_SCALES[dtype, qscheme], np.float32), maxulp=1
        )


def test_s3_08_symmetric_is_the_default() -> None:
    assert quantize_weights(matmul(64, 48), DType.INT8) == quantize_weights(matmul(64, 48), DType.INT8, _SYMMETRIC)


def test_s3_09_per_channel_is_the_default() -> None:
    expected = quantize_weights(matmul(64, 48), DType.INT8, granularity=_CHANNEL)
    assert quantize_weights(matmul(64, 48), DType.INT8) == expected


def test_s3_10_block_size_is_32_and_counts_per_block_alone() -> None:
    model = matmul(64, 48)
    blocks = quantize_weights(model, DType.INT4, granularity=_BLOCK)
    assert blocks == quantize_weights(model, DType.INT4, granularity=_BLOCK, block_size=32)
    assert quantize_weights(model, DType.INT4, block_size=7) == quantize_weights(model, DType.INT4)
    for size in (0, -1):
        with pytest.raises(CompressionError, match=r"^TG-W302 block_size is -?\d, a positive number was expected"):
            quantize_weights(model, DType.INT4, granularity=_BLOCK, block_size=size)


@pytest.mark.parametrize(("threshold", "is_quantized"), [(4608, False), (4607, True)])
def test_s3_11_weights_have_more_elements_than_the_threshold(threshold: int, is_quantized: bool) -> None:
    found = quantize_weights(convolution(32, 16), DType.INT8, weight_num_threshold=threshold)
    assert bool(dequantize_nodes(found)) == is_quantized


_REFUSED = [
    ("s3_12", {"dtype": DType.INT8, "scale_dtype": DType.FP8_E8M0FNU}, "scale_dtype must be None for integer dtype"),
    ("s3_13", {"dtype": DType.FP4_E2M1FN, "granularity": _BLOCK, "scale_dtype": DType.FP8_E8M0FNU},
     "scale_dtype must be None for FP4 dtype"),
    ("s3_14", {"dtype": DType.FP8_E4M3FN, "scale_dtype": DType.INT8}, "Invalid scale_dtype"),
    ("s3_17", {"dtype": DType.FP8_E8M0FNU}, "Unsupported weight dtype"),
    ("s3_18", {"dtype": DType.FP8_E5M2, "qscheme": _ASYMMETRIC},
     "Asymmetric quantization is not supported for FP dtype"),
    ("s3_19", {"dtype": DType.FP4_E2M1FN},
     "DType.FP4_E2M1FN requires granularity=CompressionGranularity.PER_BLOCK and block_size=32"),
    ("s3_19", {"dtype": DType.FP4_E2M1FN, "granularity": _BLOCK, "block_size": 16},
     "DType.FP4_E2M1FN requires granularity="),
    ("threshold", {"dtype": DType.INT8, "weight_num_threshold": -1}, "weight_num_threshold is -1"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "text"), [r[1:] for r in _REFUSED], ids=[r[0] for r in _REFUSED])
def test_s3_12_13_14_17_18_19_what_does_not_go_together_is_a_value_error(
    arguments: dict[str, object], text: str
) -> None:
    with pytest.raises(ValueError, match=f"^TG-W302 {text}"):
        quantize_weights(matmul(64, 48), **arguments)  # type: ignore[arg-type]


def test_s3_14_scales_of_fp8_have_the_type_of_the_weights_or_are_powers_of_two() -> None:
    for dtype in (np.float32, np.float16):
        assert scale_of(quantize_weights(matmul(64, 48, dtype=dtype), DType.FP8_E4M3FN)).dtype == dtype
    found = quantize_weights(matmul(64, 64), DType.FP8_E4M3FN, granularity=_BLOCK, scale_dtype=DType.FP8_E8M0FNU)
    assert scale_of(found).dtype == ml_dtypes.float8_e8m0fnu
    expected = _outputs(matmul(64, 64))
    assert np.linalg.norm(_outputs(found) - expected) < 0.05 * np.linalg.norm(expected)


def test_s3_15_in_place_changes_the_model_itself() -> None:
    model = matmul(64, 48)
    before = model.SerializeToString()
    assert quantize_weights(model, DType.INT8) is not model
    assert model.SerializeToString() == before
    assert quantize_weights(model, DType.INT8, in_place=True) is model
    assert dequantize_nodes(model)


def test_s3_16_the_result_is_a_model_of_the_same_interface() -> None:
    model = convolution(32, 16)
    found = quantize_weights(model, DType.INT4)
    assert isinstance(found, onnx.ModelProto)
    assert found.graph.input == model.graph.input
    assert found.graph.output == model.graph.output


def _floor_reference(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes and exponents of MXFP4 by OCP's rule, number by number."""
    levels = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    codes, exponents = np.zeros(weights.shape, np.uint8), np.zeros((len(weights), weights.shape[1] // 32), int)
    for row in range(len(weights)):
        for block in range(exponents.shape[1]):
            values = weights[row, block * 32 : block * 32 + 32].astype(np.float64)
            exponent = int(np.floor(np.log2(np.abs(values).max()))) - 2
            exponents[row, block] = exponent + 127
            for column, value in enumerate(values / 2.0**exponent):
                distances = np.abs(levels - min(abs(value), 6))
                near = np.flatnonzero(distances == distances.min())
                level = next((int(n) for n in near if n % 2 == 0), int(near[0]))  # ties to an even mantissa
                codes[row, block * 32 + column] = level | (8 if np.signbit(value) else 0)
    return codes, exponents


def test_s3_20_floor_has_the_bits_of_the_microscaling_rule() -> None:
    weights = np.random.default_rng(3).normal(size=(4, 64)).astype(np.float32)
    weights[0, :4] = [2.5, 5.0, 0.25, -0.75]  # between two levels
    found = encode(weights, _mx(PowerOfTwo.FLOOR), (1, 32))
    codes, exponents = _floor_reference(weights)
    np.testing.assert_array_equal(found.codes.view(np.uint8), codes)
    np.testing.assert_array_equal(found.scales.view(np.uint8), exponents)


def test_s3_20_every_rule_makes_the_nearest_codes_for_the_scale_that_is_stored() -> None:
    weights = np.random.default_rng(4).normal(size=(8, 64)).astype(np.float32)
    for rule in PowerOfTwo:
        for scheme in (
            _mx(rule),
            CodeScheme(DType.FP8_E4M3FN, granularity=_BLOCK, scale_dtype=DType.FP8_E8M0FNU, e8m0=rule),
        ):
            found = encode(weights, scheme, (1, 32))
            scales = np.repeat(found.scales.astype(np.float32), 32, axis=1)
            limit = scheme.dtype.max
            expected = np.clip(weights / scales, -limit, limit).astype(scheme.dtype.numpy)
            np.testing.assert_array_equal(found.codes.view(np.uint8), expected.view(np.uint8))


def test_s3_20_gaussian_weights_keep_18_db_and_more_than_the_other_system() -> None:
    weights = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)
    ratios = {rule: _sqnr(weights, encode(weights, _mx(rule), (1, 32))) for rule in PowerOfTwo}
    other = _sqnr(
        weights, encode(weights, CodeScheme(DType.FP4_E2M1FN, granularity=_BLOCK, compat=Compat.COREAI), (1, 32))
    )
    assert ratios[PowerOfTwo.SEARCH] == max(ratios.values())
    assert ratios[PowerOfTwo.SEARCH] >= 18.0
    assert ratios[PowerOfTwo.SEARCH] >= other + 5


def test_s3_20_compat_rounds_scales_when_they_are_stored_alone() -> None:
    weights = np.random.default_rng(5).normal(size=(4, 64)).astype(np.float32)
    found = encode(weights, CodeScheme(DType.FP4_E2M1FN, granularity=_BLOCK, compat=Compat.COREAI), (1, 32))
    raw = (2 * np.abs(weights.reshape(4, 2, 32)).max(axis=2) + np.float32(1e-6)) / np.float32(12)
    np.testing.assert_array_equal(found.scales.view(np.uint8), raw.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8))
    expected = np.clip(weights / np.repeat(raw, 32, axis=1), -6, 6).astype(ml_dtypes.float4_e2m1fn)
    np.testing.assert_array_equal(found.codes.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("size", [0.0, 1e-38, 1e38], ids=str)
def test_s3_20_blocks_of_zeros_and_of_extremes_stay_finite(size: float) -> None:
    weights = np.full((2, 64), size, np.float32)
    for dtype in _WEIGHTS:
        scheme = CodeScheme(dtype, granularity=_BLOCK)
        found = encode(weights, scheme, (1, 32)).decoded
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, weights, rtol=0.3, atol=2e-6)


@pytest.mark.parametrize("dtype", [DType.INT4, DType.UINT4, DType.UINT8], ids=lambda dtype: dtype.value)
def test_s3_21_blocks_are_scaled_and_shifted(dtype: DType) -> None:
    """(data - offset) * scale, block by block, as numpy has it."""
    weights = np.random.default_rng(6).normal(1, 1, size=(4, 64)).astype(np.float32)
    found = encode(weights, CodeScheme(dtype, _ASYMMETRIC, _BLOCK), (1, 32))
    assert found.zero_points is not None
    shifted = found.codes.astype(np.float32).reshape(4, 2, 32) - found.zero_points.astype(np.float32)[..., None]
    expected = (shifted * found.scales.astype(np.float32)[..., None]).reshape(4, 64)
    np.testing.assert_array_equal(found.decoded, expected)
    assert _sqnr(weights, found) > {4: 15, 8: 40}[dtype.bits]


def test_s3_22_integers_stay() -> None:
    table = helper.make_node("Gather", ["table", "indices"], ["result"])
    model = helper.make_model(
        helper.make_graph(
            [table],
            "gather",
            [helper.make_tensor_value_info("indices", TensorProto.INT64, [3])],
            [helper.make_tensor_value_info("result", TensorProto.INT32, [3, 64])],
            [numpy_helper.from_array(np.zeros((64, 64), np.int32), "table")],
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quantize_weights(model, DType.INT8) == model


def test_transposed_weights_have_their_scales_along_the_outputs() -> None:
    weights = np.random.default_rng(1).normal(size=(48, 64)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["weights"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["input", "turned"], ["result"]),
    ]
    model = helper.make_model(
        helper.make_graph(
            nodes,
            "turned",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 64])],
            [helper.make_tensor_value_info("result", TensorProto.FLOAT, [1, 48])],
            [numpy_helper.from_array(weights, "weights")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    found = quantize_weights(model, DType.INT4, granularity=_BLOCK)
    assert scale_of(found).shape == (48, 2)
    assert next(e.version for e in found.opset_import) == 21  # that DequantizeLinear of blocks needs


def test_numbers_that_are_not_finite_are_skipped_with_a_warning() -> None:
    model = matmul(64, 48)
    weights = numpy_helper.to_array(model.graph.initializer[0]).copy()
    weights[3, 4] = np.inf
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "weights"))
    with pytest.warns(CompressionWarning, match="stay as they are: it holds numbers that are not finite"):
        assert quantize_weights(model, DType.INT8) == model


def test_constants_of_blocks_take_the_share_of_int8_that_is_promised() -> None:
    """Weights and scales on weights that blocks of 32 divide, beside int8 per channel."""

    def size(dtype: DType, granularity: CompressionGranularity, of: type) -> int:
        return _coding(matmul(256, 256, dtype=of), dtype, granularity).bytes

    for of, most in ((np.float32, 0.63), (np.float16, 0.57)):
        whole = size(DType.INT8, _CHANNEL, of)
        assert size(DType.INT4, _BLOCK, of) <= most * whole
        assert size(DType.FP4_E2M1FN, _BLOCK, of) <= 0.54 * whole


def _mx(rule: PowerOfTwo) -> CodeScheme:
    return CodeScheme(DType.FP4_E2M1FN, granularity=_BLOCK, e8m0=rule)


def _sqnr(weights: np.ndarray, coding: Coding) -> float:
    return float(10 * np.log10((weights**2).sum() / ((weights - coding.decoded) ** 2).sum()))


def _coding(model: onnx.ModelProto, dtype: DType, granularity: CompressionGranularity) -> Coding:
    weights = numpy_helper.to_array(next(t for t in model.graph.initializer if t.name == "weights"))
    scheme = CodeScheme(dtype, granularity=granularity)
    axes = (0, 1) if weights.ndim == 4 else (1, 0)
    return encode(weights, scheme, scheme.block_sizes(weights.ndim, *axes))
