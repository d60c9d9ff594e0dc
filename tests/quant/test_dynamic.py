"""Quantization at run time of float networks and of networks that are quantized already (the items S1-02 to S1-22)."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.dynamic_models import CLASSES, float_model, quantized_at_run_time, quantized_before, samples
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import OnnxWriter
from tests.support.reference import evaluate
from tests.support.shared import shared_file
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tinygen.codegen.harness import Measure
from tinygen.errors import DoesNotFitError, UsageError
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph, Source, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, TensorType
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dequantize_sums import DequantizeSums
from tinygen.ops.dynamic_layer import quantization
from tinygen.ops.dynamic_quantize import DynamicQuantize, DynamicRange, RangeRule
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.integer_fully_connected import IntegerFullyConnected
from tinygen.ops.integer_products import IntegerProducts
from tinygen.options import options_from_text
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.schedule.constants import const_bytes
from tinygen.quant.dynamic.scheme import ALL, DynamicScheme, Granularity, Symmetry
from tinygen.quant.dynamic.weights import quantized_weights
from tinygen.quant.errors import Code, DynamicError
from tinygen.verify.validate import validate

FLOAT_LAYERS = (Conv2D, DepthwiseConv2D, FullyConnected)


def _compiled(model: Path, target: str = "host", **options: Any) -> Compiled:
    return compile_model(model, options_from_text(target, kernels="portable", **options))


def _count(graph: Graph, *kinds: type) -> int:
    return sum(isinstance(op, kinds) for op in graph.ops)


def _sqnr(found: Sequence[Array], expected: Sequence[Array]) -> float:
    wanted = np.stack(expected).astype(np.float64)
    noise = float(((np.stack(found).astype(np.float64) - wanted) ** 2).sum())
    return 10 * float(np.log10(float((wanted**2).sum()) / noise))


def _scores(graph: Graph, count: int = 16) -> list[Array]:
    return [evaluate(graph, sample)[0] for sample in samples(count)]


def _refused(model: Path, code: Code, **options: Any) -> str:
    with pytest.raises(DynamicError) as caught:
        _compiled(model, **options)
    assert caught.value.code is code and caught.value.exit_code == 2
    assert str(caught.value).startswith(f"{code.value} --")
    return str(caught.value)


@needs_onnxruntime
def test_s1_02_without_quantization_layers_are_float32(tmp_path: Path) -> None:
    model = float_model(tmp_path)
    compiled = _compiled(model, allow_float=True)
    assert not _count(compiled.graph, DynamicQuantize, IntegerProducts)
    inputs = samples(4)
    for sample, (found,) in zip(inputs, compiled.execute(inputs).outputs, strict=True):
        (expected,) = (array.astype(np.float32) for array in run_onnxruntime(model, sample))
        assert np.abs(found.astype(np.float32) - expected).max() <= 1e-5 * np.abs(expected).max()


@needs_onnxruntime
@pytest.mark.parametrize("reduce_range", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("is_unsigned", [False, True])
def test_s1_03_models_quantized_at_run_time_need_no_flag(
    is_unsigned: bool, per_channel: bool, reduce_range: bool, tmp_path: Path
) -> None:
    """All forms of `quantize_dynamic`: each operator is onnxruntime's, weights are int8, no layer is float32."""
    model = quantized_at_run_time(float_model(tmp_path), is_unsigned, per_channel, reduce_range)
    compiled = _compiled(model)
    assert not _count(compiled.graph, *FLOAT_LAYERS) and _count(compiled.graph, IntegerProducts) == 4
    found = validate(compiled, samples(3), samples=3)
    assert found.exact and not found.permitted


@needs_onnxruntime
@pytest.mark.parametrize("as_operators", [False, True])
def test_s1_03_s1_04_models_quantized_before_need_no_flag(as_operators: bool, tmp_path: Path) -> None:
    compiled = _compiled(quantized_before(float_model(tmp_path), as_operators))
    assert validate(compiled, samples(3), samples=3).exact
    assert not any(tensor.type.dtype.is_real for tensor in compiled.graph.tensors)


@needs_onnxruntime
def test_s1_03_weights_stay_int8_in_flash(tmp_path: Path) -> None:
    """The program has kernels of int8 and no float convolution, and 0.35 of the constants at most."""
    model = float_model(tmp_path)
    dynamic, plain = _compiled(quantized_at_run_time(model, False, False)), _compiled(model, allow_float=True)
    symbols = {}
    for name, compiled in (("dynamic", dynamic), ("plain", plain)):
        folder = tmp_path / name
        folder.mkdir()
        elf = compiled.build(folder, Measure.INSTRUCTIONS).elf
        listed = subprocess.run(["nm", elf], capture_output=True, text=True, check=True).stdout
        symbols[name] = {line.split()[-1] for line in listed.splitlines()}
    is_convolution = {name: {s for s in found if s.endswith("convolve_f32")} for name, found in symbols.items()}
    assert is_convolution["plain"] and not is_convolution["dynamic"]
    assert any(symbol.endswith("integer_convolve_s8") for symbol in symbols["dynamic"])
    assert const_bytes(dynamic.schedule) <= 0.35 * const_bytes(plain.schedule)


@needs_onnxruntime
def test_s1_05_a_float_model_is_quantized_while_compiling(tmp_path: Path) -> None:
    """Its C equals the references; what it computes is near the float network."""
    compiled = _compiled(float_model(tmp_path), quant_dynamic="auto")
    assert _count(compiled.graph, IntegerProducts) == 4 and not _count(compiled.graph, *FLOAT_LAYERS)
    assert validate(compiled, samples(3), samples=3).exact
    plain = _compiled(float_model(tmp_path), allow_float=True)
    assert _sqnr(_scores(compiled.imported), _scores(plain.imported)) > 30


def test_s1_05_layers_may_share_a_bias(tmp_path: Path) -> None:
    writer, random = ModelWriter(), np.random.default_rng(0)
    x, hidden, y = (writer.tensor(name, (1, 16), "float32") for name in ("x", "hidden", "y"))
    bias = writer.tensor("bias", (16,), "float32", data=random.normal(size=16).astype(np.float32))
    for input, output in ((x, hidden), (hidden, y)):
        values = random.normal(size=(16, 16)).astype(np.float32)
        weights = writer.tensor(f"weights {output}", (16, 16), "float32", data=values)
        writer.operator("FULLY_CONNECTED", [input, weights, bias], [output])
    model = tmp_path / "shared.tflite"
    model.write_bytes(writer.finish([x], [y]))
    compiled = _compiled(model, quant_dynamic="asymActivation,symWeight", quant_op_types="fully_connected")
    [first, second] = [op for op in compiled.imported.ops if isinstance(op, DequantizeSums)]
    assert first.bias is second.bias and validate(compiled, samples=2).exact


def test_s1_06_static_quantization_stands_beside_it(tmp_path: Path) -> None:
    """By a table, on the same float model; not both at once."""
    model, data = float_model(tmp_path), tmp_path / "data.npz"
    np.savez(data, in0=np.stack([sample[0][0] for sample in samples(8)]))
    static = _compiled(model, calibrate=data)
    assert not any(tensor.type.dtype.is_real for tensor in static.graph.tensors)
    said = _refused(model, Code.CONTRADICTION, quant_dynamic="auto", calibrate=data)
    assert said == (
        "TG-Q004 --quant-dynamic: is given with --calibrate or --ctable, one of them was expected. Leave one out."
    )


def test_s1_06_a_model_quantized_at_run_time_can_be_calibrated(tmp_path: Path) -> None:
    """From the numbers that its integers stand for."""
    model, data = shared_file("models/mlperf_tiny/kws_ref_model_float32.tflite"), tmp_path / "data.npz"
    np.savez(data, in0=np.random.default_rng(1).normal(size=(4, 49, 10, 1)).astype(np.float32))
    assert not _count(_compiled(model, calibrate=data).graph, DynamicQuantize)


@pytest.mark.parametrize("scheme", ALL, ids=str)
def test_s1_07_s1_08_scales_are_scalars_and_levels_int8(scheme: DynamicScheme, tmp_path: Path) -> None:
    compiled = _compiled(float_model(tmp_path), quant_dynamic=str(scheme))
    for op in compiled.imported.ops:
        if isinstance(op, DynamicRange):
            assert op.outputs[0].type.elements == op.outputs[1].type.elements == 1
        if isinstance(op, IntegerProducts):
            quant = op.weights.type.quant
            assert quant is not None and quant.is_per_tensor
            assert {op.input.type.dtype, op.weights.type.dtype} == {DType.INT8}
            least = -127 if scheme.weights is Symmetry.SYMMETRIC else -128
            assert op.weights.data is not None and least <= op.weights.data.min() and op.weights.data.max() <= 127
    by_channel = _compiled(float_model(tmp_path), quant_dynamic=str(scheme), quant_granularity="per-channel")
    scales = [op.factors.type.elements for op in by_channel.imported.ops if isinstance(op, DequantizeSums)]
    assert scales == [16, 16, 32, CLASSES]


def test_s1_09_a_board_must_multiply_int8(tmp_path: Path) -> None:
    text = Path("boards/mps2-an386.toml").read_text() if Path("boards").is_dir() else None
    if text is None:
        pytest.skip("boards/ missing: not run from a checkout")
    board = tmp_path / "float-only.toml"
    text = text.replace('name = "mps2-an386"', 'name = "float-only"', 1)
    board.write_text(text + '\n[[engine]]\nname = "fpu"\nkind = "float"\n')
    model = float_model(tmp_path)
    with pytest.raises(DynamicError) as caught:
        compile_model(model, options_from_text(str(board), quant_dynamic="auto"))
    assert str(caught.value) == (
        "TG-Q001 --quant-dynamic: float-only has no engine on the core that multiplies int8 by int8, one was "
        "expected. Choose another target, or add an engine to the board's file."
    )
    assert caught.value.exit_code == 2
    ended = tinygen("compile", model, "-t", board, "--quant-dynamic", "-o", tmp_path / "out", "--json")
    assert ended.code == 2 and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"maccel": "CMSIS-NN", "march": "armv7e-m"}, None),
        ({"maccel": "tinygen"}, None),
        (
            {"maccel": "NNPA"},
            "TG-Q001 --maccel: mps2-an386 has no engine 'NNPA' on the core that multiplies int8 by int8, cmsis-nn or "
            "tinygen was expected. Choose another one, or another target.",
        ),
        (
            {"march": "arch15"},
            "TG-Q001 --march: is arch15, armv7e-m was expected, which mps2-an386 has. Choose another target.",
        ),
    ],
)
def test_s1_09_accelerator_and_architecture_as_onnx_mlir_names_them(
    given: dict[str, str], said: str | None, tmp_path: Path
) -> None:
    model = float_model(tmp_path)
    if said is None:
        assert _count(_compiled(model, "mps2-an386", quant_dynamic="auto", **given).graph, IntegerProducts) == 4
        return
    with pytest.raises(DynamicError) as caught:
        _compiled(model, "mps2-an386", quant_dynamic="auto", **given)
    assert str(caught.value) == said and caught.value.exit_code == 2


def test_s1_09_an_accelerator_without_quantization_is_refused(tmp_path: Path) -> None:
    said = _refused(float_model(tmp_path), Code.CONTRADICTION, maccel="cmsis-nn", allow_float=True)
    assert said == "TG-Q004 --maccel: is given without --quant-dynamic, both were expected. Add it."


@needs_onnxruntime
def test_s1_10_what_is_int8_already_is_left_alone(tmp_path: Path) -> None:
    model = quantized_at_run_time(float_model(tmp_path), False, False)
    plain, asked = _compiled(model), _compiled(model, quant_dynamic="auto")
    assert _count(asked.graph, DynamicQuantize) == _count(plain.graph, DynamicQuantize) == 4
    assert asked.dynamic is not None and not asked.dynamic.is_changed
    assert {decision.reason for decision in asked.dynamic.quantized.decisions} == {"is int8 already"}


@pytest.mark.parametrize("prefix", ["--", "--nnpa-"])
def test_s1_11_s1_12_flags_of_the_command(prefix: str, tmp_path: Path) -> None:
    """Without them the C has no quantization; with them only what is listed, however it is written."""
    model, out = float_model(tmp_path), tmp_path / "out"
    assert tinygen("compile", model, "--allow-float", "-o", out).code == 0
    assert "quantize_rows" not in (out / "net.c").read_text()
    flags = [f"{prefix}quant-dynamic=asymActivation,symWeight", f"{prefix}quant-op-types=matmul"]
    ended = tinygen("compile", model, *flags, "--explain-quant", "-o", out, "--json")
    layers = ended.document["dynamic"]["layers"]
    assert [(layer["operator"], layer["dtype"], layer["reason"]) for layer in layers] == [
        *[("Conv", "float32", "is not listed")] * 3,
        ("Gemm", "int8", "is listed"),
    ]
    text = (out / "net.c").read_text()
    assert "run_tg_quantize_rows_f32_s8" in text and "run_tg_integer_convolve_s8" not in text


def test_s1_12_types_that_have_no_layers(tmp_path: Path) -> None:
    model = float_model(tmp_path)
    assert _refused(model, Code.UNKNOWN_TYPE, quant_dynamic="auto", quant_op_types="MatMul,Relu") == (
        "TG-Q003 --quant-op-types: 'Relu' has no layers of int8, some of MatMul, Gemm and Conv were expected. "
        "Correct it."
    )
    assert _refused(model, Code.CONTRADICTION, quant_op_types="MatMul") == (
        "TG-Q004 --quant-op-types: is given without --quant-dynamic, both were expected. Add it."
    )
    graph = _compiled(model, quant_dynamic="auto", quant_op_types="Conv").graph
    assert (_count(graph, IntegerProducts), _count(graph, FullyConnected)) == (3, 1)


@needs_onnxruntime
def test_s1_12_layers_that_cannot_be_quantized(tmp_path: Path) -> None:
    writer = OnnxWriter(opset=13)
    x = writer.port([4, 4])
    writer.output(writer.node("MatMul", [x, writer.node("Relu", [x])]))
    path = tmp_path / "both.onnx"
    path.write_bytes(writer.finish())
    assert "both operands are computed at run time" in _refused(
        path, Code.NOT_QUANTIZABLE, quant_dynamic="auto", quant_op_types="MatMul"
    )
    decided = _compiled(path, quant_dynamic="auto").dynamic
    assert decided is not None and not decided.is_changed


@pytest.mark.parametrize(
    ("values", "code", "part"),
    [
        ("asymActivations", Code.UNKNOWN_VALUE, "'asymActivations' is unknown"),
        ("", Code.UNKNOWN_VALUE, "'' is unknown"),
        ("symWeight,asymWeight", Code.CONTRADICTION, "symWeight and asymWeight are both given"),
        ("auto,symWeight", Code.CONTRADICTION, "'auto' stands beside other values"),
    ],
)
def test_s1_13_values_that_are_refused(values: str, code: Code, part: str, tmp_path: Path) -> None:
    assert part in _refused(float_model(tmp_path), code, quant_dynamic=values)


def test_s1_13_with_compat_the_last_value_wins() -> None:
    def scheme(values: str) -> str:
        return str(options_from_text(quant_dynamic=values, quant_compat="onnx-mlir").dynamic.scheme)

    assert scheme("symActivation,symWeight,asymActivation") == "asymActivation,symWeight"
    assert scheme("symActivation,auto,asymWeight") == "asymActivation,symWeight"


@pytest.mark.parametrize("scheme", ALL, ids=str)
def test_s1_13_all_schemes_run(scheme: DynamicScheme, tmp_path: Path) -> None:
    compiled = _compiled(float_model(tmp_path), quant_dynamic=str(scheme))
    assert validate(compiled, samples(2), samples=2).exact
    plain = _compiled(float_model(tmp_path), allow_float=True)
    assert _sqnr(_scores(compiled.imported, 4), _scores(plain.imported, 4)) > 25


def test_s1_14_scales_and_zero_points_follow_the_formulas(tmp_path: Path) -> None:
    """asymActivation,symWeight: those of each input and of each layer's weights, from the numbers themselves."""
    model = float_model(tmp_path)
    graph = _compiled(model, quant_dynamic="asymActivation,symWeight").imported
    plain = {op.results[0].name: op for op in _compiled(model, allow_float=True).graph.ops}
    arrays: dict[Tensor, Array] = dict(zip(graph.input_tensors, samples(1)[0], strict=True))
    values = Values(arrays.__getitem__)
    for op in graph.ops:
        arrays.update(zip(op.results, op.evaluate(values), strict=True))
        if isinstance(op, DynamicRange):
            scale, zero_point = (float(arrays[tensor].item()) for tensor in op.outputs)
            low, high = min(0.0, float(arrays[op.input].min())), max(0.0, float(arrays[op.input].max()))
            assert scale == pytest.approx((high - low) / 255, rel=1e-6)
            assert zero_point == round(min(max(-128 - low / scale, -128), 127))
        if isinstance(op, DequantizeSums):
            weights = next(t.data for t in plain[op.output.name].operands if t.data is not None and t.data.ndim > 1)
            assert op.factors.data is not None
            assert op.factors.data.item() == pytest.approx(float(np.abs(weights).max()) / 127, rel=1e-6)


def test_s1_15_the_bare_flag_decides(tmp_path: Path) -> None:
    """Scheme and layers, each with a reason."""
    ended = tinygen("compile", float_model(tmp_path), "--quant-dynamic", "--explain-quant", "-o", tmp_path / "out")
    assert "asymActivation,symWeight" in ended.stdout and ended.stdout.count("takes fewer instructions") == 4
    without = tinygen("compile", float_model(tmp_path), "--allow-float", "--explain-quant", "-o", tmp_path / "out")
    assert (without.code, without.stderr.strip()) == (
        2,
        "tinygen: --explain-quant: is given without --quant-dynamic, both were expected. Add it.",
    )


def _row(values: Float32Array, rule: RangeRule) -> tuple[float, int, Array]:
    input = Tensor("x", TensorType(DType.FLOAT32, values.shape))
    made = quantization(input, rule, 1, Source("x", 0, "X"), lambda role: role)
    arrays: dict[Tensor, Array] = {input: values}
    for op in made.ops:
        arrays.update(zip(op.results, op.evaluate(Values(arrays.__getitem__)), strict=True))
    levels = made.levels
    return float(arrays[levels.scale].item()), int(arrays[levels.zero_point].item()), arrays[levels.stored]


def test_s1_17_s1_18_symmetric_formulas_and_levels() -> None:
    """scale = absmax / 127, zero point 0; levels are rint(x / scale) + zero point, saturated."""
    random = np.random.default_rng(5)
    for width in 10.0 ** np.arange(-8, 8):
        values = (random.normal(size=100) * width).astype(np.float32)
        scale, zero_point, levels = _row(values, RangeRule.SYMMETRIC)
        assert (scale, zero_point) == (float(np.abs(values).max() / np.float32(127)), 0)
        assert np.array_equal(levels, np.clip(np.rint(values / np.float32(scale)), -128, 127))
        scale, zero_point, levels = _row(values, RangeRule.ASYMMETRIC)
        assert np.array_equal(levels, np.clip(np.rint(values / np.float32(scale)) + zero_point, -128, 127))
    zeros = np.zeros(3, np.float32)
    assert _row(zeros, RangeRule.SYMMETRIC)[:2] == (1.0, 0) and _row(zeros, RangeRule.ASYMMETRIC)[:2] == (1.0, -128)


def test_s1_19_asymmetric_weights_keep_their_bound() -> None:
    """Half a step at most from each weight, and products are those of the numbers that levels stand for."""
    random = np.random.default_rng(6)
    for low in (-1.0, 0.0, 0.5):
        real = random.uniform(low, 3, (8, 40)).astype(np.float32)
        weights = Tensor("w", TensorType(DType.FLOAT32, real.shape), real)
        for granularity in Granularity:
            scheme = DynamicScheme(weights=Symmetry.ASYMMETRIC, granularity=granularity)
            stored = quantized_weights(weights, 0, scheme, "stored")
            quant = stored.type.quant
            assert quant is not None and stored.data is not None
            scales, zeros = (np.array(numbers).reshape(-1, 1) for numbers in (quant.scales, quant.zero_points))
            back = (stored.data - zeros.astype(np.float64)) * scales
            assert np.all(np.abs(back - real) <= 0.5001 * scales + 1e-6)
            assert zeros.min() < 0 or low < 0


@pytest.mark.qemu
@requires_qemu
def test_s1_20_symmetric_schemes_are_faster_and_less_accurate(tmp_path: Path) -> None:
    """Activations behind rectifiers lose half of the levels; zero points of weights cost instructions."""
    model = float_model(tmp_path)
    plain = _scores(_compiled(model, allow_float=True).imported)
    sqnr, instructions = {}, {}
    for scheme in ALL:
        compiled = _compiled(model, "mps2-an386", quant_dynamic=str(scheme))
        sqnr[str(scheme)] = _sqnr(_scores(compiled.imported), plain)
        instructions[str(scheme)] = compiled.execute(samples(1)).outcome.values["instructions"]
    assert sqnr["asymActivation,symWeight"] > sqnr["symActivation,symWeight"]
    assert instructions["symActivation,symWeight"] < instructions["symActivation,asymWeight"]
    assert instructions["symActivation,symWeight"] <= 1.01 * instructions["asymActivation,symWeight"]


def test_s1_21_a_search_shows_all_schemes_and_takes_the_best(tmp_path: Path) -> None:
    model, data = float_model(tmp_path), tmp_path / "data.npz"
    np.savez(data, in0=np.stack([sample[0][0] for sample in samples(12)]))
    ended = tinygen("compile", model, "--quant-search", data, "-o", tmp_path / "out", "--json")
    found = ended.document["dynamic"]
    assert {trial["scheme"] for trial in found["trials"]} == {str(scheme) for scheme in ALL}
    best = max(found["trials"], key=lambda trial: trial["sqnr_db"])
    assert found["scheme"] == best["scheme"] == found["trials"][0]["scheme"]
    plain = _compiled(model, allow_float=True).imported
    for trial in found["trials"]:
        graph = _compiled(model, quant_dynamic=trial["scheme"]).imported
        assert trial["sqnr_db"] == pytest.approx(_sqnr(_scores(graph, 12), _scores(plain, 12)), abs=0.01)
    assert "Schemes, the best first" in tinygen("compile", model, "--quant-search", data, "-o", tmp_path / "out").stdout
    both = tinygen("compile", model, "--quant-search", data, "--quant-dynamic=symWeight", "-o", tmp_path / "out")
    assert both.code == 2 and "TG-Q004 --quant-search: tries all schemes" in both.stderr


def test_s1_22_a_vector_of_constant_weights() -> None:
    """200 weights by one factor, 127 / absmax: each level is that of exact arithmetic, where no half is near."""
    factor = 57.61623
    levels = np.random.default_rng(8).integers(-127, 128, 200)
    levels[0] = 127
    offsets = np.random.default_rng(9).uniform(-0.49, 0.49, 200)
    offsets[0] = 0.0
    real = ((levels + offsets) / factor).astype(np.float32).reshape(1, -1)
    real = np.clip(real, -real[0, 0], real[0, 0])
    stored = quantized_weights(Tensor("w", TensorType(DType.FLOAT32, real.shape), real), 0, DynamicScheme(), "stored")
    assert stored.type.quant is not None and stored.data is not None
    assert 1 / stored.type.quant.scale == pytest.approx(factor, rel=1e-6)
    assert np.array_equal(stored.data, levels.reshape(1, -1))


def test_an_input_of_several_layers_is_quantized_once(tmp_path: Path) -> None:
    writer, random = OnnxWriter(opset=13), np.random.default_rng(2)
    x = writer.port([2, 64])
    for _ in range(3):
        writer.output(writer.node("MatMul", [x, writer.constant(random.normal(size=(64, 64)).astype(np.float32))]))
    path = tmp_path / "fan.onnx"
    path.write_bytes(writer.finish())
    graph = _compiled(path, quant_dynamic="auto", quant_op_types="MatMul").imported
    assert (_count(graph, DynamicQuantize), _count(graph, IntegerFullyConnected)) == (1, 3)


@requires_qemu
@pytest.mark.qemu
@pytest.mark.parametrize(("board", "times"), [("mps2-an386", 2.0), ("mps3-an547", 4.0)])
def test_s1_20_kws_takes_fewer_instructions_than_with_float32(board: str, times: float) -> None:
    """Also with zero points of weights, which cost most."""
    model = shared_file("models/mlperf_tiny/kws_fp32_qualcomm.tflite")
    sample = [np.random.default_rng(3).normal(size=(1, 49, 10, 1)).astype(np.float32)]
    forms: tuple[dict[str, Any], ...] = (
        {"allow_float": True},
        {"quant_dynamic": "asymActivation,symWeight"},
        {"quant_dynamic": "asymActivation,asymWeight"},
    )
    counts = [_compiled(model, board, **form).execute([sample]).outcome.values["instructions"] for form in forms]
    assert counts[0] >= times * max(counts[1:])


@pytest.mark.parametrize("scheme", ["asymActivation,symWeight", "asymActivation,asymWeight"])
def test_s1_05_kws_loses_less_than_half_a_point(scheme: str) -> None:
    """Of 900 official inputs, by the C on this machine."""
    model, official = shared_file("models/mlperf_tiny/kws_fp32_qualcomm.tflite"), np.load(shared_file("eval/kws01.npz"))
    stored = import_model(shared_file("models/mlperf_tiny/kws_ref_model.tflite")).inputs[0].external
    inputs = (official["x"][100:].astype(np.float32) - stored.zero_point) * np.float32(stored.scale)

    def right(**options: Any) -> int:
        outputs = _compiled(model, **options).execute([[x.reshape(1, 49, 10, 1)] for x in inputs]).outputs
        found = np.stack([scores.reshape(-1) for (scores,) in outputs]).argmax(axis=1)
        return int((found == official["y"][100:]).sum())

    assert right(quant_dynamic=scheme) > right(allow_float=True) - 0.005 * len(inputs)


def test_kws_row_by_row_takes_less_than_static_int8_on_whole_tensors() -> None:
    """Layers run twice: once for their range, once for their levels, of which some rows are there as real numbers."""
    model = shared_file("models/mlperf_tiny/kws_fp32_qualcomm.tflite")
    whole = _compiled(model, "mps2-an386", quant_dynamic="auto", optimize="time")
    twice = _compiled(model, "mps2-an386", quant_dynamic="auto", optimize="ram", recompute="100%")
    assert (whole.schedule.arena_bytes, twice.schedule.arena_bytes) == (40_005, 9_613)
    macs = sum(call.op.macs for call in twice.schedule.calls)
    assert twice.imported.macs < macs <= 2 * twice.imported.macs


def test_layers_that_must_run_twice_fit_by_a_share_that_was_tried() -> None:
    """A tenth of the multiplications is not enough: the first larger share that is, is what helps, and it compiles."""
    model = shared_file("models/mlperf_tiny/kws_fp32_qualcomm.tflite")
    with pytest.raises(DoesNotFitError) as caught:
        _compiled(model, "mps2-an386", quant_dynamic="auto", ram="20000").check_fits()
    (found,) = re.findall(r"--recompute (\d+%): (\d+) bytes$", str(caught.value), re.MULTILINE)
    compiled = _compiled(model, "mps2-an386", quant_dynamic="auto", ram="20000", recompute=found[0])
    assert compiled.schedule.arena_bytes == int(found[1]) <= 20_000


def test_kws_as_litert_runs_it() -> None:
    """The dynamic-range model of the checkout, without an option: exact by LiteRT's own arithmetic."""
    model = shared_file("models/mlperf_tiny/kws_ref_model_float32.tflite")
    compiled = _compiled(model)
    assert _count(compiled.graph, IntegerProducts) == 5
    found = validate(compiled, samples=2)
    assert found.exact and not found.permitted
    with pytest.raises(UsageError, match="simulator was expected"):
        validate(_compiled(model, quant_dynamic="auto"), samples=1, against=found.oracle)
    assert import_model(model).macs == compiled.imported.macs
