"""Convolutions, dense layers and pools: what the float operators and those of qnn have in common."""

from math import prod

import numpy as np

from tinygen.frontends.relay.call import RelayCall
from tinygen.frontends.relay.emitter import Wired
from tinygen.ir.types import Array

_FILTERS = {"OIHW": (0, 1, 2, 3), "HWIO": (3, 2, 0, 1), "OHWI": (0, 3, 1, 2), "HWOI": (2, 3, 0, 1)}


def window(call: RelayCall, kernel: list[int]) -> dict[str, object]:
    """ONNX's attributes of windows that slide over an image."""
    padding = call.integers("padding", [0, 0]) or [0]
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"attribute padding has {len(padding)} entries, 1, 2 or 4 were expected")
    found: dict[str, object] = {
        "kernel_shape": kernel,
        "strides": _two(call, "strides"),
        "dilations": _two(call, "dilation"),
        "pads": (padding * 4)[:4],
    }
    if min(padding) < 0:
        raise ValueError(f"attribute padding is {padding}, 0 or more were expected")
    return found


def kernel_size(call: RelayCall, name: str) -> list[int]:
    """Height and width of a window."""
    found = call.integers(name) or []
    if len(found) not in (1, 2) or min(found) < 1:
        raise ValueError(f"attribute {name} is {found}, two sizes were expected")
    return (found * 2)[:2]


def _two(call: RelayCall, name: str) -> list[int]:
    found = call.integers(name, [1, 1]) or []
    if len(found) not in (1, 2) or min(found) < 1:
        raise ValueError(f"attribute {name} is {found}, one or two positive numbers were expected")
    return (found * 2)[:2]


def filters(call: RelayCall, weights: Array, channels: int) -> tuple[Array, dict[str, object]]:
    """Filters as ONNX has them (outputs, inputs of a group, height, width), and the attributes of the convolution.

    Depthwise ones have the channel and how many filters it has in the places of outputs and inputs.
    """
    layout = call.text("kernel_layout", "OIHW")
    if layout not in _FILTERS or weights.ndim != 4:
        raise ValueError(f"attribute kernel_layout is '{layout}', one of {', '.join(_FILTERS)} was expected")
    groups = call.integer("groups", 1)
    stored = weights.transpose(_FILTERS[layout])
    if groups < 1 or channels % groups:
        raise ValueError(f"attribute groups is {groups}, a divisor of {channels} channels was expected")
    if 1 < groups == channels == stored.shape[0] and stored.size:
        stored = stored.reshape(prod(stored.shape[:2]), 1, *stored.shape[2:])
    if stored.shape[1] * groups != channels or stored.shape[0] % groups:
        raise ValueError(f"its filters have shape {list(weights.shape)} as {layout}, ones of {channels} were expected")
    call.ignore("channels", "kernel_size")
    return np.ascontiguousarray(stored), {**window(call, list(stored.shape[2:])), "group": groups}


def pool(call: RelayCall, image: Wired, operator: str) -> Wired:
    """MaxPool or AveragePool of an image in the layout that the call names."""
    layout = call.layout()
    attributes = window(call, kernel_size(call, "pool_size")) | {"ceil_mode": int(call.flag("ceil_mode", False))}
    if operator == "AveragePool":
        if attributes.pop("dilations") != [1, 1]:
            raise ValueError("an average over a dilated window was found, one without dilation was expected")
        attributes["count_include_pad"] = int(call.flag("count_include_pad", False))
    call.ignore("count_include_pad")  # Relax has it of all pools
    found = call.emitter.emit(operator, [call.first(image, layout)], attributes, image.quantized)
    return call.as_laid_out(found, layout)


def global_pool(call: RelayCall, image: Wired, operator: str) -> Wired:
    """GlobalMaxPool or GlobalAveragePool."""
    layout = call.layout()
    found = call.emitter.emit(operator, [call.first(image, layout)], quantized=image.quantized)
    return call.as_laid_out(found, layout)


def reduced_axes(call: RelayCall, rank: int) -> list[int]:
    """The axes of a reduction: all where none are named, and all others where these are to be kept."""
    named = call.integers("axis", []) or []
    if any(not -rank <= axis < rank for axis in named):
        raise ValueError(f"attribute axis is {named}, some of {rank} axes were expected")
    chosen = {axis % rank for axis in named} or set(range(rank))
    if call.flag("exclude", False):
        chosen = set(range(rank)) - chosen
    return sorted(chosen)
