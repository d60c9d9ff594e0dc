"""Operators that ONNX defines by others, put in their place: what has no reader of its own is read so."""

from collections.abc import Mapping
from typing import Any

from onnx import FunctionProto, ModelProto, NodeProto, TypeProto, defs, helper, shape_inference

from tinygen.frontends.onnx.functions import inlined
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.registry import STANDARD_FUNCTIONS

_DOMAINS = ("", "ai.onnx")
_DOMAIN = "tinygen.standard"  # of what is put in the place of a node
_MAX_DEPTH = 8  # of functions that call others


def expanded(model: ModelProto, name: str) -> ModelProto:
    """The model of a file whose outermost operators are none that ONNX defines by others.

    BudgetError for too many operators; UnsupportedError where the standard has no definition for a node.
    """
    opsets = [entry.version for entry in model.opset_import if entry.domain in _DOMAINS]
    for _ in range(_MAX_DEPTH):
        nodes = [node for node in model.graph.node if node.domain in _DOMAINS and node.op_type in STANDARD_FUNCTIONS]
        if not nodes or not opsets:
            break
        types = _types(model)
        for number, node in enumerate(nodes):
            _replace(model, node, f"{node.op_type}_{number}", _definition(node, max(opsets), types))
        if _DOMAIN not in {entry.domain for entry in model.opset_import}:
            model.opset_import.append(helper.make_opsetid(_DOMAIN, 1))
        model = inlined(model, name)
    return model


def _replace(model: ModelProto, node: NodeProto, name: str, definition: FunctionProto) -> None:
    """A node becomes the call of a function of the model."""
    definition.domain = node.domain = _DOMAIN
    definition.name = node.op_type = name
    del definition.opset_import[:]
    definition.opset_import.extend(entry for entry in model.opset_import if entry.domain in _DOMAINS)
    model.functions.append(definition)


def _definition(node: NodeProto, opset: int, types: Mapping[str, TypeProto]) -> FunctionProto:
    """What a node stands for; its attributes are filled in with the values that they have where none are said."""
    schema = _schema(node.op_type, opset)
    if not schema.min_input <= len(node.input) <= schema.max_input or not node.output:
        raise UnsupportedError(
            f"{node.op_type} has {len(node.input)} inputs, {schema.min_input} to {schema.max_input} were expected"
        )
    said = {attribute.name for attribute in node.attribute}
    defaults = (each.default_value for name, each in sorted(schema.attributes.items()) if name not in said)
    node.attribute.extend(default for default in defaults if default.name)
    if schema.has_function:
        version = _version(schema.function_opset_versions, opset)
        return _decoded(schema.get_function_with_opset_version(version))
    given = [types.get(name, TypeProto()).SerializeToString() for name in node.input]
    version = _version(schema.context_dependent_function_opset_versions, opset)
    try:
        text = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), given)
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UnsupportedError(f"{node.op_type} '{node.output[0]}' is not as ONNX defines it ({reason})") from None
    definition = _decoded(text)
    if not definition.node:
        raise UnsupportedError(f"{node.op_type} '{node.output[0]}' has inputs for which ONNX does not define it")
    return definition


def _schema(operator: str, opset: int) -> Any:  # whose functions the package does not type
    """That of an opset, or of a later one: definitions of older operators use CastLike, which is of opset 15."""
    try:
        return defs.get_schema(operator, opset, "")
    except defs.SchemaError:
        return defs.get_schema(operator)


def _decoded(text: bytes) -> FunctionProto:
    function: FunctionProto = FunctionProto.FromString(text)
    return function


def _version(versions: list[int], opset: int) -> int:
    """The newest definition of those up to an opset, or the first."""
    return max((version for version in versions if version <= opset), default=min(versions))


def _types(model: ModelProto) -> dict[str, TypeProto]:
    """What is known of tensors' types and shapes."""
    try:
        graph = shape_inference.infer_shapes(model).graph
    except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
        raise UnsupportedError(f"types do not follow ({str(error).strip().partition(chr(10))[0]})") from None
    types = {value.name: value.type for value in (*graph.value_info, *graph.input, *graph.output)}
    stored = {each.name: helper.make_tensor_type_proto(each.data_type, each.dims) for each in graph.initializer}
    return types | stored
