"""Truth values and integers inside of ONNX networks, float32 and quantized, against onnxruntime."""

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.reference import evaluate
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.ir.types import Array, DType
from tinygen.options import Options
from tinygen.pipeline import compile_model

_REAL = """
    real (float[2, 6] x, float[6] y, bool[2, 1] m) =>
        (float[2, 6] a, bool[2, 6] b, int64[2] c, float[2, 6] d, bool[2, 6] e) {
        zero = Constant<value = float {0.0}>()
        above = Greater(x, y)
        positive = LessOrEqual(zero, x)
        both = And(above, positive)
        other = Not(m)
        b = Xor(both, other)
        a = Where(b, x, y)
        c = ArgMin<axis = 1, keepdims = 0>(a)
        ones = Cast<to = 1>(b)
        whole = Constant<value = int64[2] {2, 6}>()
        e = Expand(m, whole)
        axis = Constant<value = int64 {1}>()
        d = CumSum<exclusive = 1>(ones, axis)
    }
"""
_INTEGERS = """
    counts (int32[3] x, int32[2, 1] y) => (int32[2, 3] a, int32[3, 2] b, int32[4, 2, 3] c) {
        two = Constant<value = int32 {2}>()
        sum = Add(x, y)
        half = Div(sum, two)
        rest = Mod(sum, two)
        a = Mul(half, rest)
        flipped = Transpose<perm = [1, 0]>(half)
        b = Max(flipped, two)
        four = Constant<value = int64[3] {4, 1, 1}>()
        c = Expand(half, four)
    }
"""
_CALIBRATED = """
    network (float[1, 8] x) => (float[1, 8] a, int64[1] k) {
        c = Constant<value = float[1] {0.3}>()
        n = Constant<value = float[1] {-2.0}>()
        y = Tanh(x)
        above = Greater(y, c)
        a = Where(above, y, n)
        k = ArgMax<axis = 1, keepdims = 0>(a)
    }
"""
_QUANTIZED = """
    stored (float[1, 3, 4, 4] x, float[1, 3, 4, 4] y) => (float[1, 3, 4, 4] a, int64[1, 3, 4] c) {
        s = Constant<value = float {0.05}>()
        z = Constant<value = int8 {-3}>()
        xq = QuantizeLinear(x, s, z)
        xr = DequantizeLinear(xq, s, z)
        yq = QuantizeLinear(y, s, z)
        yr = DequantizeLinear(yq, s, z)
        above = GreaterOrEqual(xr, yr)
        chosen = Where(above, xr, yr)
        aq = QuantizeLinear(chosen, s, z)
        a = DequantizeLinear(aq, s, z)
        c = ArgMax<axis = 3, keepdims = 0>(a)
    }
"""


def _model(text: str, folder: Path, opset: int = 17) -> Path:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>{text}')
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _values(path: Path) -> list[Array]:
    rng, values = np.random.default_rng(3), []
    for port in onnx.load(path).graph.input:
        numbers = rng.integers(-6, 7, [dim.dim_value for dim in port.type.tensor_type.shape.dim])
        dtype = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        values.append(
            ((numbers > 0) if dtype == np.bool_ else numbers / 4 if dtype == np.float32 else numbers).astype(dtype)
        )
    return values


@needs_onnxruntime
@pytest.mark.parametrize("text", [_REAL, _INTEGERS, _QUANTIZED], ids=["real", "integers", "quantized"])
def test_truth_values_and_integers_are_onnxruntime_s(text: str, tmp_path: Path) -> None:
    path = _model(text, tmp_path)
    values = _values(path)
    computed, expected = evaluate(import_model(path), values), run_onnxruntime(path, values)
    assert all(np.array_equal(found, wanted) for found, wanted in zip(computed, expected, strict=True))


@pytest.mark.parametrize("text", [_REAL, _INTEGERS], ids=["real", "integers"])
def test_truth_values_and_integers_run(text: str, tmp_path: Path) -> None:
    path = _model(text, tmp_path)
    values = _values(path)
    (outputs,) = compile_model(path, Options(target="host", allow_float=True)).execute([values]).outputs
    for found, wanted in zip(outputs, evaluate(import_model(path), values), strict=True):
        assert np.array_equal(found, wanted)


def test_truth_values_are_calibrated_around(tmp_path: Path) -> None:
    path, samples = _model(_CALIBRATED, tmp_path), tmp_path / "samples.npy"
    values = np.random.default_rng(0).normal(size=(16, 1, 8)).astype(np.float32)
    np.save(samples, values)
    compiled = compile_model(path, Options(target="host", calibrate=samples))
    assert [port.external.dtype for port in compiled.imported.outputs] == [DType.FLOAT32, DType.INT32]
    real = evaluate(import_model(path), [values[0]])
    (outputs,) = compiled.execute([[values[0]]]).outputs
    assert np.allclose(outputs[0], real[0], atol=0.05)
    assert np.array_equal(outputs[1], real[1])


@needs_onnxruntime
def test_nothing_is_done_where_nothing_changes(tmp_path: Path) -> None:
    """A maximum with minus infinity, where jax's softmax begins, and a slice of everything."""
    text = """
        idle (float[2, 6] x) => (float[2, 6] a) {
            start = Constant<value = float[1] {-inf}>()
            end = Constant<value = float {inf}>()
            zeros = Constant<value = int64[2] {0, 0}>()
            ends = Constant<value = int64[2] {9, 6}>()
            above = Max(start, x)
            below = Min(above, end)
            all = Slice(below, zeros, ends)
            a = Tanh(all)
        }
    """
    path = _model(text, tmp_path)
    graph = import_model(path)
    assert len(graph.ops) == 1
    values = _values(path)
    assert np.allclose(evaluate(graph, values)[0], run_onnxruntime(path, values)[0], rtol=1e-6)


def test_infinity_of_neither_sign_is_refused(tmp_path: Path) -> None:
    text = """
    net (float[4] x) => (bool[4] found) {
        found = IsInf<detect_negative = 0, detect_positive = 0>(x)
    }
    """
    with pytest.raises(UnsupportedOperatorsError, match=r"by \[0, 0\], \[1, 1\], \[0, 1\] or \[1, 0\] was expected"):
        import_model(_model(text, tmp_path))


@needs_onnxruntime
def test_bits_of_packed_constants_are_known(tmp_path: Path) -> None:
    """Two numbers of 4 bits in each byte, as exporters unpack weights; and bits of integers at run time."""
    text = """
    net (float[4] x, int32[4] i, int32[4] j) => (float[4] y, int32[4] a, int32[4] b, int32[4] c, int32[4] d)
        <uint8[4] packed = {18, 240, 15, 167}, uint8[1] four = {4}, uint8[1] mask = {15}, uint8[1] most = {8}> {
        high = BitShift<direction = "RIGHT">(packed, four)
        low = BitwiseAnd(packed, mask)
        up = BitShift<direction = "LEFT">(packed, four)
        none = BitShift<direction = "RIGHT">(packed, most)
        flipped = BitwiseNot(low)
        either = BitwiseOr(high, none)
        both = BitwiseXor(either, up)
        all = BitwiseXor(both, flipped)
        weights = Cast<to = 1>(all)
        y = Add(x, weights)
        a = BitwiseAnd(i, j)
        b = BitwiseOr(i, j)
        c = BitwiseXor(i, j)
        d = BitwiseNot(i)
    }
    """
    path = _model(text, tmp_path, opset=18)
    values = _values(path)
    computed, expected = evaluate(import_model(path), values), run_onnxruntime(path, values)
    assert all(np.array_equal(found, wanted) for found, wanted in zip(computed, expected, strict=True))


@pytest.mark.parametrize("operator", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
@pytest.mark.parametrize("mask", [1 << 32, -(1 << 40)])
def test_bits_beyond_int32_are_refused(operator: str, mask: int, tmp_path: Path) -> None:
    """Instead of those of the nearest int32, which are others."""
    text = f"""
    net (int64[2] i) => (int64[2] y) <int64[1] mask = {{{mask}}}> {{
        y = {operator}(mask, i)
    }}
    """
    with pytest.raises(UnsupportedOperatorsError, match=f"constant 'mask' holds numbers from {mask} to {mask}, those"):
        import_model(_model(text, tmp_path, opset=18))


@pytest.mark.parametrize(("direction", "type"), [("UP", "uint8"), ("LEFT", "int32")])
def test_other_shifts_of_constants_are_refused(direction: str, type: str, tmp_path: Path) -> None:
    text = f"""
    net (float[1] x) => (float[1] y) <{type}[1] a = {{8}}, {type}[1] b = {{1}}> {{
        shifted = BitShift<direction = "{direction}">(a, b)
        cast = Cast<to = 1>(shifted)
        y = Add(x, cast)
    }}
    """
    with pytest.raises(UnsupportedOperatorsError, match=f"shifts to '{direction}', LEFT or RIGHT of integers without"):
        import_model(_model(text, tmp_path))
