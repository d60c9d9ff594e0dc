"""The real CMSIS-NN, built for this machine, computes what the numpy references say, in the scratch asked for."""

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.kernel_calls import CALLABLE, Call, build_library
from tests.support.operator_models import random_model
from tests.support.reference import evaluate, import_model
from tests.support.tools import requires_cmsis
from tinygen.build.kernel_sources import kernel_library, operators
from tinygen.ir.graph import Graph, Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, Quant
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.select import select
from tinygen.targets.isa import Isa

pytestmark = requires_cmsis

CASES = 150
HOST = Toolbox(Library.CMSIS_NN, Isa.HOST)
FUNCTIONS = (
    "arm_avgpool_s8",
    "arm_batch_matmul_s8",
    "arm_convolve_1x1_s8",
    "arm_convolve_1x1_s8_fast",
    "arm_convolve_s8",
    "arm_depthwise_conv_3x3_s8",
    "arm_depthwise_conv_s8",
    "arm_depthwise_conv_s8_opt",
    "arm_fully_connected_per_channel_s8",
    "arm_fully_connected_s8",
    "arm_max_pool_s8",
    "arm_softmax_s8",
    "arm_transpose_conv_s8",
    "tg_softmax_s8",
)
REACHED = {
    "AVERAGE_POOL_2D": {"arm_avgpool_s8"},
    "BATCH_MATMUL": {"arm_batch_matmul_s8"},
    "CONV_2D": {"arm_convolve_1x1_s8", "arm_convolve_1x1_s8_fast", "arm_convolve_s8"},
    "DEPTHWISE_CONV_2D": {
        "arm_convolve_s8",
        "arm_depthwise_conv_3x3_s8",
        "arm_depthwise_conv_s8",
        "arm_depthwise_conv_s8_opt",
    },
    "FULLY_CONNECTED": {"arm_fully_connected_per_channel_s8", "arm_fully_connected_s8"},
    "MAX_POOL_2D": {"arm_max_pool_s8"},
    "REDUCE_MAX": {"arm_max_pool_s8"},
    "SOFTMAX": {"arm_softmax_s8"},
    "TRANSPOSE_CONV": {"arm_convolve_s8", "arm_transpose_conv_s8"},
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    folder: Path = tmp_path_factory.mktemp("cmsis_nn")
    yield build_library((kernel_library(Library.CMSIS_NN, None), operators()), FUNCTIONS, folder)


def _run(library: ctypes.CDLL, op: Op, arrays: dict[Tensor, Array]) -> tuple[str, Array] | None:
    """The function that was called and its output; None for tinygen's own functions, which have tests elsewhere."""
    kernel = select(op, HOST)
    if type(kernel) not in CALLABLE:
        return None
    inputs = [tensor.data if tensor.data is not None else arrays[tensor] for tensor in kernel.reads]
    return kernel.function, Call(library, kernel, inputs).run()


def _with_output_scale(graph: Graph, factor: float) -> Graph:
    """The graph of one operator with another output scale."""
    (old,) = graph.output_tensors
    scale = float(np.float32(old.type.scale * factor))
    new = Tensor(old.name, replace(old.type, quant=Quant((scale,), (old.type.zero_point,))))
    return graph.replace_tensors({old: new})


@pytest.mark.parametrize("name", REACHED)
def test_random_operators(name: str, library: ctypes.CDLL) -> None:
    reached = set()
    for seed in range(CASES):
        model = random_model(name, seed)
        graph = import_model(model.finish())
        result = _run(library, graph.ops[0], dict(zip(graph.input_tensors, model.values, strict=True)))
        if result is not None:
            function, output = result
            reached.add(function)
            assert np.array_equal(output, evaluate(graph, model.values)[0]), f"{name}, seed {seed}: {function}"
    assert reached >= REACHED[name]


@pytest.mark.parametrize("name", ["BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"])
@pytest.mark.parametrize("factor", [2.0**-7, 2.0**7, 2.0**16, 2.0**28])
def test_output_scales_far_from_the_accumulators(name: str, factor: float, library: ctypes.CDLL) -> None:
    """Shifts from left shifts, where most outputs saturate, down to -31 and to a multiplier of 0."""
    for seed in range(25):
        model = random_model(name, seed)
        graph = _with_output_scale(import_model(model.finish()), factor)
        result = _run(library, graph.ops[0], dict(zip(graph.input_tensors, model.values, strict=True)))
        if result is not None:
            assert np.array_equal(result[1], evaluate(graph, model.values)[0]), f"{name}, seed {seed}, {result[0]}"


def test_softmax_of_rows_that_cmsis_nn_gets_wrong(library: ctypes.CDLL) -> None:
    """Equal values in rows of 512 and more: no share reaches 1/512, so all outputs are the zero point."""
    model = random_model("SOFTMAX", 0)
    graph = import_model(model.finish())
    for size in (511, 512, 600, 5000, 8191):
        old = graph.ops[0]
        shape = (2, size)
        tensors = {t: Tensor(t.name, replace(t.type, shape=shape)) for t in (*old.operands, *old.results)}
        op = old.replace_tensors(tensors)
        values = np.full(shape, 17, np.int8)
        result = _run(library, op, {op.operands[0]: values})
        assert result is not None
        assert result[0] == ("arm_softmax_s8" if size < 512 else "tg_softmax_s8")
        assert (result[1] == (-127 if size < 512 else -128)).all()
        assert np.array_equal(result[1], op.evaluate(Values({op.operands[0]: values}.__getitem__))[0])


def test_the_own_softmax_is_cmsis_nn_s(library: ctypes.CDLL) -> None:
    for seed in range(CASES):
        model = random_model("SOFTMAX", seed)
        graph = import_model(model.finish())
        kernel = replace(select(graph.ops[0], HOST), function="tg_softmax_s8")
        assert np.array_equal(Call(library, kernel, model.values).run(), evaluate(graph, model.values)[0]), (
            f"seed {seed}"
        )
