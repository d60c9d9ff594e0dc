"""Networks of TVM's Relax, built from ONNX by TVM's importer and by TVM's own functions; TVM computes them, too."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def from_onnx(nodes: Sequence[onnx.NodeProto], shape: Sequence[int], outputs: int = 1, /, **constants: Any) -> Any:
    """A module of a network from x to y, or to y0, y1, ..."""
    names = ["y"] if outputs == 1 else [f"y{number}" for number in range(outputs)]
    graph = helper.make_graph(
        list(nodes),
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return import_module("tvm.relax.frontend.onnx").from_onnx(model)


def built(shapes: Sequence[Sequence[int]], make: Callable[..., Any], dtype: str = "float32") -> Any:
    """A module of what `make` gives of one variable for each shape."""
    relax = import_module("tvm.relax")
    variables = [relax.Var(f"x{number}", relax.TensorType(tuple(s), dtype)) for number, s in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(make(*variables))
        builder.emit_func_output(result)
    return builder.get()


def computed(module: Any, inputs: Sequence[Any]) -> list[Any]:
    """What TVM computes of a module on this machine."""
    tvm = import_module("tvm")
    machine = tvm.relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = machine["main"](*[tvm.runtime.tensor(value) for value in inputs])
    return [found.numpy()] if hasattr(found, "numpy") else [each.numpy() for each in found]
