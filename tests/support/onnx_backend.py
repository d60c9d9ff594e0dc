"""The onnx package's own tests of single operators: float32 in and out, all inputs but the first as constants.

Those of integers and truth values have all inputs at run time.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

from tinygen import passes
from tinygen.frontends import import_model
from tinygen.frontends.onnx.fold import FOLDED
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array

# The operators that are promised, by their ONNX names, beside what TFLite models have.
LISTED = frozenset(
    (
        "Abs",
        "Acos",
        "Acosh",
        "Add",
        "ArgMax",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "Attention",
        "AveragePool",
        "BatchNormalization",
        "Cast",
        "CastLike",
        "CausalConvWithState",
        "Ceil",
        "Celu",
        "CenterCropPad",
        "Clip",
        "Compress",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "Conv",
        "ConvInteger",
        "ConvTranspose",
        "Cos",
        "Cosh",
        "DepthToSpace",
        "Div",
        "Dropout",
        "DynamicQuantizeLinear",
        "Einsum",
        "Elu",
        "Equal",
        "Erf",
        "Exp",
        "Expand",
        "Flatten",
        "Floor",
        "GRU",
        "Gather",
        "GatherElements",
        "GatherND",
        "Gelu",
        "Gemm",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "Greater",
        "GreaterOrEqual",
        "GroupNormalization",
        "HardSigmoid",
        "HardSwish",
        "Hardmax",
        "Identity",
        "InstanceNormalization",
        "LRN",
        "LSTM",
        "LayerNormalization",
        "LeakyRelu",
        "Less",
        "LessOrEqual",
        "Log",
        "LogSoftmax",
        "LpNormalization",
        "LpPool",
        "MatMul",
        "MatMulInteger",
        "Max",
        "MaxPool",
        "Mean",
        "MeanVarianceNormalization",
        "Min",
        "Mish",
        "Mul",
        "Neg",
        "PRelu",
        "Pad",
        "Pow",
        "RMSNormalization",
        "RNN",
        "Reciprocal",
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "ReduceSumSquare",
        "Relu",
        "Reshape",
        "Resize",
        "ReverseSequence",
        "RotaryEmbedding",
        "Round",
        "Scatter",
        "ScatterElements",
        "ScatterND",
        "Selu",
        "Shape",
        "Shrink",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Size",
        "Slice",
        "Softmax",
        "Softplus",
        "Softsign",
        "SpaceToDepth",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Sum",
        "SwiGLU",
        "Swish",
        "Tan",
        "Tanh",
        "ThresholdedRelu",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Upsample",
        "Where",
    )
)
DISCRETE = frozenset(
    (
        "And",
        "ArgMax",
        "ArgMin",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "Equal",
        "Greater",
        "GreaterOrEqual",
        "IsInf",
        "IsNaN",
        "Less",
        "LessOrEqual",
        "Max",
        "Min",
        "Mod",
        "Not",
        "Or",
        "Trilu",
        "Where",
        "Xor",
    )
)
"""Operators with integers or truth values in or out."""
_RUN_TIME_TYPES = ("bool", "int32", "int64", "float32")
_OTHER_MEANINGS = ("select_last_index", "fmod", "mod_mixed_sign_float", "test_not_")  # the last: of opset 1
_WITHOUT_ELEMENTS = ("test_tril_zero", "test_triu_zero")
_OF_ONE_INPUT = frozenset(("Trilu",))  # whose other one is a constant
EXCLUDED_MODES = ("training_mode", "cubic", "antialias")  # in names of tests


@dataclass(frozen=True, eq=False)
class BackendCase:
    """A model of one operator and of constants, its input, and the outputs that are expected."""

    name: str
    operator: str
    model: ModelProto
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    rtol: float
    atol: float

    def import_graph(self, folder: Path) -> Graph:
        """The graph after all passes."""
        file = folder / f"{self.name}.onnx"
        file.write_bytes(self.model.SerializeToString())
        return passes.run(import_model(file), passes.FLOAT_PASSES)

    def agrees(self, outputs: list[Array]) -> bool:
        """Whether outputs are what is expected, by the package's own tolerances."""
        return len(outputs) == len(self.outputs) and all(
            found.shape == wanted.shape and np.allclose(found, wanted, self.rtol, self.atol, equal_nan=True)
            for found, wanted in zip(outputs, self.outputs, strict=True)
        )


@cache
def _of_one_operator() -> tuple[BackendCase, ...]:
    """All tests of the package of one operator, as they are: any number of inputs, of any kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    return tuple(
        BackendCase(
            test.name,
            test.model.graph.node[0].op_type,
            test.model,
            tuple(inputs),
            tuple(outputs),
            test.rtol,
            test.atol,
        )
        for test in tests
        if test.model is not None and len(test.model.graph.node) == 1
        for inputs, outputs in (test.data_sets or ())[:1]
    )


@cache
def backend_cases() -> tuple[BackendCase, ...]:
    """All tests of listed operators and modes that have float32 in and out."""
    return tuple(
        replace(case, model=_with_constants(case.model, case.inputs[1:]), inputs=case.inputs[:1])
        for case in _of_one_operator()
        if case.operator in LISTED
        and not any(mode in case.name for mode in EXCLUDED_MODES)
        and _is_float(case.inputs[:1])
        and _is_float(case.outputs)
        and all(isinstance(array, np.ndarray) for array in case.inputs)
    )


@cache
def discrete_cases() -> tuple[BackendCase, ...]:
    """All tests of operators on integers and truth values whose element types tinygen has; int64 becomes int32."""
    return tuple(
        _at_run_time(case)
        for case in _of_one_operator()
        if case.operator in DISCRETE
        and not any(mode in case.name for mode in (*_OTHER_MEANINGS, *_WITHOUT_ELEMENTS))
        and _are_run_time([*case.inputs, *case.outputs])
    )


def _at_run_time(case: BackendCase) -> BackendCase:
    if case.operator in _OF_ONE_INPUT:
        case = replace(case, model=_with_constants(case.model, case.inputs[1:]), inputs=case.inputs[:1])
    narrowed = (array.astype(np.int32) if array.dtype == np.int64 else array for array in case.inputs)
    return replace(case, inputs=tuple(narrowed))


@cache
def constant_cases() -> tuple[BackendCase, ...]:
    """All tests of operators that are computed when a model is read, where all inputs are constants: what comes out
    goes behind an input, if it has the type that is expected."""
    return tuple(
        _at_once(case)
        for case in _of_one_operator()
        if case.operator in FOLDED
        and all(isinstance(array, np.ndarray | np.generic) for array in (*case.inputs, *case.outputs[:1]))
        and case.outputs[0].dtype.name in (*_RUN_TIME_TYPES, "float64")
    )


def _at_once(case: BackendCase) -> BackendCase:
    x, output = np.array([0.5], np.float32), case.outputs[0]
    expected = np.append(x, output.astype(np.float32).reshape(-1))
    return replace(case, model=_behind_input(case.model, case.inputs, output.dtype), inputs=(x,), outputs=(expected,))


def _behind_input(model: ModelProto, constants: Sequence[Array], dtype: "np.dtype[np.generic]") -> ModelProto:
    """The model with its inputs as constants, its output behind a new input x. What joins it with nothing, 0 or false,
    takes no other type than that."""
    found = ModelProto()
    found.CopyFrom(model)
    graph = found.graph
    added = {":nothing": np.zeros(1, dtype), ":all": np.array([-1])}
    named = zip((*(port.name for port in graph.input), *added), (*constants, *added.values()), strict=True)
    graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in named)
    del graph.input[:]
    graph.input.append(helper.make_tensor_value_info(":x", TensorProto.FLOAT, [1]))
    graph.node.extend(
        (
            helper.make_node("Or" if dtype == np.bool_ else "Add", [graph.output[0].name, ":nothing"], [":typed"]),
            helper.make_node("Cast", [":typed"], [":real"], to=TensorProto.FLOAT),
            helper.make_node("Reshape", [":real", ":all"], [":row"]),
            helper.make_node("Concat", [":x", ":row"], [":behind x"], axis=0),
        )
    )
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info(":behind x", TensorProto.FLOAT, None))
    return found


def _are_run_time(arrays: Sequence[Array]) -> bool:
    return all(isinstance(array, np.ndarray) and array.dtype.name in _RUN_TIME_TYPES for array in arrays)


def _is_float(arrays: Sequence[Array]) -> bool:
    return bool(arrays) and all(isinstance(array, np.ndarray) and array.dtype == np.float32 for array in arrays)


def _with_constants(model: ModelProto, constants: Sequence[Array]) -> ModelProto:
    """The model with all inputs but the first one as constants."""
    frozen = ModelProto()
    frozen.CopyFrom(model)
    for port, array in zip(frozen.graph.input[1:], constants, strict=True):
        frozen.graph.initializer.append(numpy_helper.from_array(array, port.name))
    del frozen.graph.input[1:]
    return frozen


def merged(graphs: dict[str, Graph], name: str) -> Graph:
    """Many networks as one that takes all their inputs and gives all their outputs."""
    parts = [_prefixed(graph, f"{prefix}/") for prefix, graph in graphs.items()]
    return Graph(
        name,
        tuple(port for part in parts for port in part.inputs),
        tuple(port for part in parts for port in part.outputs),
        tuple(op for part in parts for op in part.ops),
    )


def _prefixed(graph: Graph, prefix: str) -> Graph:
    renamed = graph.replace_tensors(
        {tensor: Tensor(prefix + tensor.name, tensor.type, tensor.data) for tensor in graph.tensors}
    )
    return replace(
        renamed,
        inputs=tuple(replace(port, name=prefix + port.name) for port in renamed.inputs),
        outputs=tuple(replace(port, name=prefix + port.name) for port in renamed.outputs),
        ops=tuple(replace(op, name=prefix + op.name) for op in renamed.ops),
    )
