"""Validation finds what is wrong, and where; and finds nothing where nothing is wrong."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import needs_litert
from tests.support.models import SUPPORTED, compiled_model, golden, model_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.errors import ToolError, UsageError
from tinygen.kernels.base import Library, Objective
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.options import InputMode, Options
from tinygen.pipeline import compile_model
from tinygen.verify import litert_interpreter
from tinygen.verify.comparison import Side
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import FirstMismatch, validate

MODEL = "kws_ref_model"
REFUSED_BY_LITERT = "tflm_person_detect"


@needs_litert
@pytest.mark.parametrize("name", [name for name in SUPPORTED if name != REFUSED_BY_LITERT])
def test_s2_07_every_tensor_of_every_model(name: str) -> None:
    found = validate(compiled_model(name, "host"), samples=2)
    assert (found.exact, found.mismatches, found.first_mismatch) == (True, 0, None)
    assert found.max_abs_diff <= 1  # a fully connected layer that LiteRT rounds otherwise


@pytest.mark.qemu
@requires_qemu
@needs_litert
@pytest.mark.parametrize(
    ("board", "library"),
    [
        ("mps2-an385", Library.PORTABLE),
        pytest.param("mps2-an386", Library.CMSIS_NN, marks=requires_cmsis),
        pytest.param("mps3-an547", Library.CMSIS_NN, marks=requires_cmsis),
    ],
)
def test_on_boards(board: str, library: Library) -> None:
    steps: list[tuple[int, int]] = []
    compiled = compiled_model(MODEL, board, library)
    found = validate(compiled, samples=3, per_layer=True, progress=lambda *step: steps.append(step))
    assert (found.exact, found.samples, found.target, found.kernels) == (True, 3, board, library.value)
    assert steps == [(1, 3), (2, 3), (3, 3)]
    graph = compiled.schedule.graph
    assert [layer.name for layer in found.layers[1:-1]] == [op.results[0].name for op in graph.ops]
    assert [layer.kernel for layer in found.layers if layer.kernel] == [
        call.kernel.function for call in compiled.schedule.calls
    ]


@pytest.mark.parametrize("position", [0, 3, 8, -1])
def test_corrupted_weights_are_found_at_their_operator(position: int) -> None:
    """Weights are changed in the C text after planning: all layers from there on differ, the first one is named."""
    compiled = compiled_model(MODEL, "host")
    op = [call.op for call in compiled.schedule.calls if call.kernel.has_table("weights")][position]
    files = {file: _with_negated_weights(text, op.source.number) for file, text in compiled.files.items()}
    found = validate(replace(compiled, files=files), samples=3, against=Oracle.SIMULATOR, per_layer=True)
    name = op.results[0].name
    assert not found.exact and found.mismatches > 0 and found.max_abs_diff > 0
    assert found.first_mismatch == FirstMismatch(op.source.spelling.split()[0], name, Side.TARGET)
    before = found.layers[: [layer.name for layer in found.layers].index(name)]
    assert all(layer.mismatches == 0 for layer in before)


def _with_negated_weights(text: str, number: int) -> str:
    """The C text with the weights of one operator of the file negated."""
    table = re.compile(rf"(int8_t \w*_{number}_weights\[\d+\] = {{)([^}}]*)")
    return table.sub(lambda found: found[1] + re.sub(r"-?\d+", lambda number: str(-int(number[0])), found[2]), text)


@needs_litert
def test_other_meaning_than_litert_is_found_at_its_operator(tmp_path: Path) -> None:
    """LiteRT is given a file with other weights in one layer: target and references agree, LiteRT does not."""
    compiled = compiled_model(MODEL, "host")
    op = compiled.imported.ops[3]
    stored = op.operands[1].data
    assert stored is not None
    data = model_file(MODEL).read_bytes()
    assert data.count(stored.tobytes()) == 1
    other = tmp_path / f"{MODEL}.tflite"
    other.write_bytes(data.replace(stored.tobytes(), stored[..., ::-1].tobytes()))
    found = validate(replace(compiled, source=other), samples=1, per_layer=True)
    assert found.first_mismatch == FirstMismatch(op.source.spelling.split()[0], op.results[0].name, Side.ORACLE)
    wrong = [layer.name for layer in found.layers if layer.oracle_mismatches]
    assert wrong == [op.results[0].name]
    assert not any(layer.mismatches for layer in found.layers)


@needs_litert
@pytest.mark.parametrize("kind", [FullyConnected, Conv2D])
def test_one_lsb_is_allowed_for_fully_connected_only(kind: type[FullyConnected | Conv2D], tmp_path: Path) -> None:
    """LiteRT is given biases that move one layer's output by 0.9 LSB, and by 1.8 LSB."""
    compiled = compiled_model(MODEL, "host")
    op = next(op for op in compiled.imported.ops if isinstance(op, kind))
    assert op.bias is not None and op.bias.data is not None and op.weights.type.quant is not None
    accumulators_per_lsb = op.output.type.scale / (op.input.type.scale * np.asarray(op.weights.type.quant.scales))
    data, stored = model_file(MODEL).read_bytes(), op.bias.data.tobytes()
    assert data.count(stored) == 1
    for lsb, differs in ((0.9, 1), (1.8, 2)):
        other = tmp_path / f"{lsb}.tflite"
        moved = op.bias.data + np.rint(lsb * accumulators_per_lsb)
        other.write_bytes(data.replace(stored, moved.astype(np.int32).tobytes()))
        found = validate(replace(compiled, source=other), samples=1)
        assert found.max_abs_diff == differs
        assert found.exact == (kind is FullyConnected and differs == 1)


def test_data_of_the_user_is_taken_first() -> None:
    compiled = compiled_model(MODEL, "host")
    inputs, _ = golden(MODEL, compiled)
    assert validate(compiled, inputs, samples=2, against=Oracle.SIMULATOR).samples == 2
    assert validate(compiled, inputs, samples=100, against=Oracle.SIMULATOR).samples == len(inputs)
    with pytest.raises(UsageError, match=r"^validation: has 0 samples, 1 or more were expected\.$"):
        validate(compiled, [], against=Oracle.SIMULATOR)


def test_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiled_model(MODEL, "host")
    with pytest.raises(UsageError) as usage:
        validate(compiled, against=Oracle.ONNXRUNTIME)
    assert str(usage.value) == (
        f"--against ort: cannot run {MODEL}.tflite, litert or simulator was expected. "
        "Name one of them, or leave the option out."
    )
    monkeypatch.setattr(litert_interpreter, "Interpreter", None)
    with pytest.raises(ToolError) as missing:
        validate(compiled, against=Oracle.LITERT)
    assert str(missing.value) == (
        "ai-edge-litert: not installed, needed to compare with LiteRT. "
        "Run `pip install tinygen[litert]`, or compare with --against simulator."
    )


@needs_litert
def test_model_that_litert_refuses() -> None:
    compiled = compiled_model(REFUSED_BY_LITERT, "host")
    with pytest.raises(UsageError) as refused:
        validate(compiled, against=Oracle.LITERT)
    assert str(refused.value) == (
        "tflm_person_detect.tflite, operator 0 (DEPTHWISE_CONV_2D 'MobilenetV1/MobilenetV1/Conv2d_0/Relu6'): LiteRT's "
        "reference kernels cannot run it, an oracle that can was expected. Compare with --against simulator."
    )
    assert validate(compiled, samples=1, against=Oracle.SIMULATOR).exact
    found = validate(compiled, samples=1)
    assert (found.exact, found.oracle) == (True, Oracle.TFLM)


def test_columns_that_nobody_reads() -> None:
    """Strips leave them out: what is not computed is not compared, what is, is."""
    options = Options("host", objective=Objective.RAM, input=InputMode.REREADABLE)
    compiled = compile_model(model_file("silabs_rock_paper_scissors"), options)
    assert any(piece.columns is not None for piece in compiled.schedule.pieces.values())
    assert validate(compiled, samples=1, against=Oracle.SIMULATOR).exact
