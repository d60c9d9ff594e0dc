"""From a module of TVM's Relax to an ONNX model, in the process that has built the module.

Nothing goes through files of TVM: the function is walked as it stands in memory (apache-tvm 0.27).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tinygen.budget import NODES, Account
from tinygen.errors import UnsupportedModelError
from tinygen.frontends.relax.operators import READERS
from tinygen.frontends.relax.prim_function import elementwise
from tinygen.frontends.relay.call import ProductSum, RelayCall, Value, Wide
from tinygen.frontends.relay.emitter import Emitter, Wired
from tinygen.ir.types import Array

_CALL_TIR = "call_tir"
_MAIN = "main"
_PARAMETERS = "params"  # an attribute of functions: arrays of their last parameters


def is_relax(built: object) -> bool:
    """Whether this is a module of TVM; it is not loaded to find out."""
    return any(f"{kind.__module__}.{kind.__name__}" == "tvm.ir.module.IRModule" for kind in type(built).__mro__)


def export_relax(module: object, where: str, out: Path) -> None:
    """Write the function `main` of an IRModule, or its only one, as ONNX to `out`.

    Raises UnsupportedModelError, naming the binding, where it has operators that are not read, or open shapes.
    """
    try:
        model = _Importer(module).model(Path(where).stem)
    except ValueError as error:
        raise UnsupportedModelError(
            f"{where}: {error}. Give the module before it is legalized or fused, with shapes that are known, or export "
            "the network to ONNX."
        ) from error
    out.write_bytes(model)


@dataclass(eq=False)
class _Importer:
    """A function while its values become tensors of ONNX."""

    module: Any  # tvm.IRModule
    emitter: Emitter = field(default_factory=Emitter)
    values: dict[Any, Value] = field(default_factory=dict)  # by relax.Var, which are equal where they are the same

    def model(self, name: str) -> bytes:
        """The ONNX model, as its bytes."""
        function = self._function()
        inputs = self._parameters(function)
        for block in function.body.blocks:
            for binding in block.bindings:
                self.values[binding.var] = self._bound(binding)
        found = self._value(function.body.body)
        listed = [self._output(each) for each in (found if isinstance(found, tuple) else (found,))]
        names = ["output"] if len(listed) == 1 else [f"output{number}" for number in range(len(listed))]
        model = self.emitter.model(name, inputs, list(zip(names, listed, strict=True)))
        return bytes(model.SerializeToString())

    def _function(self) -> Any:
        relax = import_module("tvm.relax")
        functions = {var.name_hint: f for var, f in self.module.functions.items() if isinstance(f, relax.Function)}
        if _MAIN not in functions and len(functions) != 1:
            raise ValueError(f"it has {len(functions)} functions of Relax, one or '{_MAIN}' was expected")
        return functions.get(_MAIN) or next(iter(functions.values()))

    def _parameters(self, function: Any) -> list[Wired]:
        """The inputs; parameters that the function has arrays for are constants."""
        attributes = function.attrs or {}
        given = list(attributes[_PARAMETERS]) if _PARAMETERS in attributes else []
        count = len(function.params) - len(given)
        inputs, taken = [], set()
        for number, parameter in enumerate(function.params):
            name = parameter.name if parameter.name not in taken else f"{parameter.name}:{number}"
            taken.add(name)
            shape, dtype = _type(parameter)
            if number < count:
                self.values[parameter] = wired = Wired(name, dtype, shape)
                inputs.append(wired)
            else:
                self.values[parameter] = self.emitter.constant(_checked(given[number - count], dtype, shape), name)
        return inputs

    def _bound(self, binding: Any) -> Value:
        if not hasattr(binding, "value"):
            raise ValueError(f"{binding.var.name}: matches a shape, shapes that are known were expected")
        try:
            return self._value(binding.value)
        except UnsupportedModelError:
            raise
        except ValueError as error:
            raise ValueError(f"{binding.var.name}: {error}") from error

    def _value(self, expression: Any) -> Value:
        kind = type(expression).__name__
        if expression in self.values:
            return self.values[expression]
        if kind in ("GenericConst", "Constant"):
            value = expression.value if kind == "GenericConst" else expression.data
            return self.emitter.constant(np.asarray(value.numpy()))
        if kind == "Tuple":
            return tuple(self._value(each) for each in expression.fields)
        if kind == "TupleGetItem":
            whole, index = self._value(expression.tuple_value), int(expression.index)
            if not isinstance(whole, tuple) or not 0 <= index < len(whole):
                raise ValueError(f"entry {index} of a tuple is asked for, which has no such")
            return whole[index]
        if kind == "Call":
            return self._called(expression)
        raise ValueError(f"it is a {kind}, a call, a constant or a tuple was expected")

    def _called(self, call: Any) -> Value:
        name = getattr(call.op, "name", None)
        if name is None:
            raise ValueError("it calls a function, an operator was expected")
        operator = name.removeprefix("relax.")
        NODES.check(len(self.emitter.nodes), "the function")
        if operator == _CALL_TIR:
            operands = [self._operand(each) for each in call.args[1].fields]
            return elementwise(self.module[call.args[0]], call.args[0].name_hint, operands, self.emitter)
        if operator not in READERS:
            raise ValueError(f"{operator}: is not read, an operator of docs/relax.md was expected")
        settings = [plain(each) for each in call.args]
        tensors = [self._value(each) for each, said in zip(call.args, settings, strict=True) if said is None]
        rest = [said for said in settings if said is not None]
        attributes = _attributes(call.attrs)
        made = RelayCall(operator, tuple(tensors), attributes, self.emitter)
        return made.answer(lambda call: READERS[operator](call, rest), operator)

    def _operand(self, expression: Any) -> Wired:
        return self._output(self._value(expression))

    def _output(self, value: Value) -> Wired:
        if isinstance(value, (tuple, ProductSum, Wide)):
            raise ValueError("a tuple of tuples was found, tensors were expected")
        return value


def plain(expression: Any) -> object:
    """What a number, a shape or a tuple of numbers says; None for tensors.

    Relax gives sizes, limits and axes as arguments of a call, beside the tensors.
    """
    kind = type(expression).__name__
    if kind in ("IntImm", "FloatImm"):
        return expression.value
    if kind == "PrimValue":
        return plain(expression.value)
    if kind == "ShapeExpr":
        return [_size(each) for each in expression.values]
    if kind == "Tuple" and expression.fields:
        parts = [plain(each) for each in expression.fields]
        return parts if all(isinstance(each, int) for each in parts) else None
    return None


def _size(dim: Any) -> int:
    if type(dim).__name__ != "IntImm":
        raise ValueError(f"size {dim!s:.40} is open, a number was expected")
    return int(dim.value)


def _type(variable: Any) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    type_of = variable.ty
    shape, dtype = getattr(type_of, "shape", None), getattr(type_of, "dtype", None)
    if shape is None or dtype is None:
        raise ValueError(f"{variable.name}: is {type_of!s:.60}, a tensor of known shape was expected")
    sizes = tuple(_size(each) for each in shape.values)
    if min(sizes, default=1) < 1:
        raise ValueError(f"{variable.name}: has shape {list(sizes)}, elements were expected")
    return sizes, np.dtype(str(dtype))


def _checked(given: Any, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    data: Array = np.asarray(given.numpy())
    if (data.dtype, data.shape) != (dtype, shape):
        raise ValueError(
            f"a parameter is {data.dtype} {list(data.shape)}, {dtype} {list(shape)} was expected, as its type says"
        )
    return data


def _attributes(attributes: Any) -> Mapping[str, object]:
    """What an operator's attributes say, in Python's own types; those that are None are left out."""
    if attributes is None:
        return {}
    fields = set(dir(attributes)) - set(dir(import_module("tvm.ir").Attrs))
    count = Account(NODES)
    found = {name: _python(getattr(attributes, name), count) for name in sorted(fields)}
    return {name: value for name, value in found.items() if value is not None}


def _python(value: Any, count: Account) -> object:
    count.spend(1, "attributes")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if type(value).__name__ in ("IntImm", "FloatImm"):
        return value.value
    if type(value).__name__ == "Array":
        return [_python(each, count) for each in value]
    return str(value)
