"""Layers whose scale is beyond 2^23 times the output's: the zero point is added modulo 2^32, as both runtimes do."""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.batches import TOOLBOXES, run_batch, stacked
from tests.support.litert import run_reference
from tests.support.measured_operators import operators_of_models
from tests.support.tflite_writer import ModelWriter
from tests.support.tflm import run_tflm
from tests.support.tools import requires_gcc_sanitizers
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.clamp import Clamp
from tinygen.verify import reference

EPSILON = 181 * 2.0**-22  # 1 - its square is a multiplier of 2^31 - 4: sums that end in bits 10 reach the end of int32
OUTPUT_SCALE, LOWEST = 2.0**-30, -128
EACH = 3  # of the operators
PAIRS = (("input", "weights"), ("first", "second"))


def _scaled(tensor: Tensor, scale: float, zero_point: int | None = None) -> Tensor:
    quant = tensor.type.quant
    assert quant is not None
    points = quant.zero_points if zero_point is None else (zero_point,)
    own = replace(quant, scales=(scale,) * len(quant.scales), zero_points=points)
    return replace(tensor, type=replace(tensor.type, quant=own))


def _huge(op: Op) -> Op | None:
    """The operator with a factor of nearly 2^30; None for one that has no sums of int8, or refuses such a factor."""
    names = {each.name for each in fields(op)}
    for pair in PAIRS:
        tensors = [getattr(op, name) for name in (*pair, "output")] if {*pair, "output"} <= names else []
        if tensors and all(t.type.quant for t in tensors) and tensors[-1].type.dtype is DType.INT8:
            first, second, output = tensors
            changes: dict[str, Any] = {pair[0]: _scaled(first, 1 + EPSILON), pair[1]: _scaled(second, 1 - EPSILON)}
            changes["output"] = _scaled(output, OUTPUT_SCALE, LOWEST)
            if "clamp" in names:
                changes["clamp"] = Clamp(-128, 127)
            try:
                made = replace(op, **changes)
                made.verify()
            except ValueError:
                return None
            return made
    return None


def _graphs() -> Iterator[Graph]:
    for number, op in enumerate(filter(None, map(_huge, operators_of_models()))):
        inputs = [tensor for tensor in dict.fromkeys(op.operands) if not tensor.is_constant]
        given, made = (tuple(Port(t.name, t, t.type) for t in tensors) for tensors in (inputs, op.results))
        yield Graph(f"g{number}", given, made, (op,))


@requires_gcc_sanitizers
@pytest.mark.parametrize("kind", ["portable", "native"])
def test_sums_at_the_end_of_32_bits(kind: str, tmp_path: Path) -> None:
    graphs = list(_graphs())[::EACH]
    assert {type(graph.ops[0]).__name__ for graph in graphs} >= {
        "BatchMatMul",
        "Conv2D",
        "DepthwiseConv2D",
        "FullyConnected",
        "SignConv2D",
        "TransposeConv2D",
    }
    with stacked():
        assert run_batch(graphs, TOOLBOXES[kind], 1, tmp_path) == []


def test_as_the_runtimes(tmp_path: Path) -> None:
    """-2 times 2^30 is just above the end, and -128 wraps it to the other one."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 1), scale=1 + EPSILON)
    w = writer.tensor("w", (1, 1), scale=1 - EPSILON, data=np.ones((1, 1)))
    y = writer.tensor("y", (1, 1), scale=OUTPUT_SCALE, zero_point=LOWEST)
    writer.operator("FULLY_CONNECTED", [x, w], [y])
    path, inputs = tmp_path / "model.tflite", [np.full((1, 1), -2, np.int8)]
    path.write_bytes(writer.finish([x], [y]))
    graph = import_model(path)
    [ours] = reference.outputs(graph, reference.evaluate(graph, inputs))
    assert ours.item() == 127
    assert np.array_equal(run_reference(path, inputs).outputs[0], ours)
    assert np.array_equal(run_tflm(path.read_bytes(), inputs, 1)[0], ours)
