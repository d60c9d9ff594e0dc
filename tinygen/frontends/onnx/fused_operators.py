"""Layers that onnxruntime's optimizer joins with what follows them, in the spelling that they had before."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import takewhile

from tinygen.frontends.onnx.raw import Attribute, RawNode

_PARAMETERS: Mapping[str, tuple[str, ...]] = {  # by activation: names of its numbers, in the order of the fused node's
    "Clip": ("min", "max"),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
}
_SUMMAND = 3  # input of FusedConv that is added before the activation
_OF_GEMM = ("activation_alpha", "activation_beta", "activation_gamma")


def conv(node: RawNode) -> tuple[RawNode, ...]:
    """FusedConv: a convolution, perhaps a sum, and an activation with `activation_params`."""
    numbers = node.attributes.get("activation_params", ())
    return _spread(node, "Conv", numbers if isinstance(numbers, tuple) else (), node.inputs[_SUMMAND])


def gemm(node: RawNode) -> tuple[RawNode, ...]:
    """FusedGemm: a fully connected layer and an activation."""
    named = takewhile(node.attributes.__contains__, _OF_GEMM)
    return _spread(node, "Gemm", tuple(node.attributes[name] for name in named), "")


def _spread(node: RawNode, operator: str, numbers: tuple[Attribute, ...], summand: str) -> tuple[RawNode, ...]:
    """The node with a problem where its activation is none that is known, or its numbers are not there."""
    activation, (result,) = node.attributes.get("activation"), node.outputs
    names = _PARAMETERS.get(activation) if isinstance(activation, str) else None
    if names is None or not isinstance(activation, str) or len(numbers) < len(names):
        known = ", ".join(
            f"{name} with {len(wanted)} numbers" if wanted else name for name, wanted in _PARAMETERS.items()
        )
        problem = f"activation is '{activation}' with {len(numbers)} numbers, one of {known} was expected"
        return (replace(node, domain="", operator=operator, problem=problem),)
    own = {name: value for name, value in node.attributes.items() if not name.startswith("activation")}
    sums, total = f"{result}:sums", f"{result}:total"
    parts = [(operator, node.inputs[:_SUMMAND], sums, own)]
    if summand:
        parts.append(("Add", (sums, summand), total, {}))
    last = total if summand else sums
    parameters = dict(zip(names, numbers, strict=False))
    if activation != "Clip":
        parts.append((activation, (last,), result, parameters))
    else:  # whose limits are inputs
        limits = tuple(f"{result}:{name}" for name in names)
        parts.extend(
            ("Constant", (), limit, {"value_float": number})
            for limit, number in zip(limits, parameters.values(), strict=True)
        )
        parts.append((activation, (last, *limits), result, parameters))
    return tuple(
        replace(node, domain="", operator=name, inputs=inputs, outputs=(output,), attributes=attributes)
        for name, inputs, output, attributes in parts
    )


FUSED: Mapping[str, Callable[[RawNode], tuple[RawNode, ...]]] = {"FusedConv": conv, "FusedGemm": gemm}
