"""Integers as vectors of zeros and a one, and the rows of tables that such vectors choose, against onnxruntime."""

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.reference import evaluate
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.ops.gather import Gather
from tinygen.options import Options
from tinygen.pipeline import compile_model

_PLACES = np.array([0, 3, 4, 5, -1, -5, -6, 2**31 - 1, -(2**31), 2], np.int32)
_DEPTH = 5
_ONE_HOT = """
    places ({integer}[10] x) => ({type}[{shape}] a) {{
        depth = Constant<value = {integer} {{5}}>()
        values = Constant<value = {type}[2] {values}>()
        a = OneHot<axis = {axis}>(x, depth, values)
    }}
"""
_CHOSEN = """
    rows (int32[10] x) => (float[10, 2] a) {{
        shape = Constant<value = int64[2] {{10, 1}}>()
        wide = Constant<value = int64[2] {{10, {repeated}}}>()
        column = Reshape(x, shape)
        spread = Expand(column, wide)
        places = Constant<value = int32[1, 5] {places}>()
        table = Constant<value = float[5, 2] {{1.0, -2.0, 3.5, 4.0, {special}, 6.0, -7.0, 8.0, 9.0, -10.5}}>()
        hot = Equal({operands})
        vectors = Cast<to = 1>(hot)
        a = {product}(vectors, table)
    }}
"""
_STORED = """
    rows (int32[2, 3] x) => (float[{shape}] a, float[{shape}] b) <
        {type}[5, 2] table = {{1, 2, 3, 44, 50, 6, 7, 88, 99, 100}},
        float scale = {{0.25}},
        {type} zero = {{9}},
        int64[2] flat = {{2, -1}},
        int64[1] axes = {{1}}
    > {{
        chosen = Gather(table, x)
        {moves}
        a = DequantizeLinear(moved, scale, zero)
        same = DequantizeLinear(moved, scale, zero)
        b = Neg(same)
    }}
"""
_MOVES = {
    "none": ("moved = Identity(chosen)", "2, 3, 2"),
    "turned": ("moved = Transpose<perm = [2, 0, 1]>(chosen)", "2, 2, 3"),
    "twice": ("turned = Transpose<perm = [0, 2, 1]>(chosen) moved = Reshape(turned, flat)", "2, 6"),
    "axis": ("wide = Unsqueeze(chosen, axes) moved = Transpose<perm = [1, 0, 3, 2]>(wide)", "1, 2, 2, 3"),
}
_ROW = "{-1, 0, 1, 2, 3}"


def _model(text: str, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>{text}').SerializeToString())
    return path


def _check(path: Path, values: list[Array]) -> None:
    """That the reference and the C on the host give what onnxruntime does."""
    graph, expected = import_model(path), run_onnxruntime(path, values)
    (outputs,) = compile_model(path, Options(target="host", allow_float=True)).execute([values]).outputs
    for found, run, wanted in zip(evaluate(graph, values), outputs, expected, strict=True):
        assert np.array_equal(found, wanted)
        assert np.array_equal(run, wanted)


@needs_onnxruntime
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize(("type", "values"), [("float", "{0.0, 1.0}"), ("float", "{2.5, -1.0}"), ("int64", "{-3, 7}")])
def test_one_hot_is_onnxruntime_s(axis: int, type: str, values: str, tmp_path: Path) -> None:
    shape = "5, 10" if axis == 0 else "10, 5"
    integer = "int64" if type == "int64" else "int32"  # of onnxruntime's combinations
    text = _ONE_HOT.format(axis=axis, integer=integer, type=type, values=values, shape=shape)
    _check(_model(text, tmp_path), [_PLACES.astype(integer)])


@needs_onnxruntime
@pytest.mark.parametrize("type", ["uint8", "int8"])
@pytest.mark.parametrize("moves", _MOVES)
def test_item_16_rows_of_stored_tables_are_moved_before_they_are_real(moves: str, type: str, tmp_path: Path) -> None:
    text, shape = _MOVES[moves]
    rows = np.array([[0, 3, 4], [2, 2, 1]], np.int32)
    _check(_model(_STORED.format(type=type, moves=text, shape=shape), tmp_path), [rows])


@pytest.mark.parametrize(
    ("depth", "reason"), [("{0}", "depth is [0] with 2 values"), ("{99999999}", "depth is [99999999] with 2 values")]
)
def test_depths_that_are_none(depth: str, reason: str, tmp_path: Path) -> None:
    text = _ONE_HOT.format(axis=-1, integer="int32", type="float", values="{0.0, 1.0}", shape="10, 5")
    with pytest.raises(UnsupportedModelError) as refusal:
        import_model(_model(text.replace("{5}", depth), tmp_path))
    assert reason in str(refusal.value)


@needs_onnxruntime
@pytest.mark.parametrize("repeated", [1, 5])
@pytest.mark.parametrize("operands", ["spread, places", "places, spread"])
@pytest.mark.parametrize("product", ["MatMul", "Gemm"])
def test_a_table_s_rows_are_chosen(repeated: int, operands: str, product: str, tmp_path: Path) -> None:
    text = _CHOSEN.format(repeated=repeated, operands=operands, product=product, places=_ROW, special="5.0")
    path = _model(text, tmp_path)
    _check(path, [_PLACES])
    compiled = compile_model(path, Options(target="host", allow_float=True))
    assert any(isinstance(op, Gather) for op in compiled.graph.ops)
    assert sum(op.macs for op in compiled.graph.ops) == 0


@needs_onnxruntime
@pytest.mark.parametrize(
    ("places", "special"), [("{-1, 0, 1, 2, 2}", "5.0"), ("{3, 2, 1, 0, -1}", "5.0"), (_ROW, "inf")]
)
def test_other_comparisons_stay_products(places: str, special: str, tmp_path: Path) -> None:
    text = _CHOSEN.format(repeated=1, operands="spread, places", product="MatMul", places=places, special=special)
    path, values = _model(text, tmp_path), [_PLACES]
    graph = import_model(path)
    assert not any(isinstance(op, Gather) for op in graph.ops)
    with np.errstate(invalid="ignore"):  # the infinity times 0
        (found,) = evaluate(graph, values)
    assert np.array_equal(found, run_onnxruntime(path, values)[0], equal_nan=True)
