"""Inputs of an ONNX file that the user gives one value: constants of the network."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from tinygen.budget import TENSOR_BYTES
from tinygen.errors import UsageError
from tinygen.frontends.onnx.boundary import fixed_shape
from tinygen.frontends.onnx.raw import RawInput, RawModel
from tinygen.ir.types import Array


def with_frozen(model: RawModel, values: Mapping[str, float]) -> RawModel:
    """The model with `values` of inputs as constants; see `frozen_constants`."""
    constants = frozen_constants(model, values)
    inputs = tuple(input for input in model.inputs if input.name not in constants)
    return replace(model, inputs=inputs, constants={**model.constants, **constants})


def frozen_constants(model: RawModel, values: Mapping[str, float]) -> dict[str, Array]:
    """The inputs that have one value each, in all of their elements.

    UsageError where the model has no such input, no other one, or one that cannot hold the value; UnsupportedModelError
    where its size is open.
    """
    inputs = {input.name: input for input in model.inputs}
    for name in values:
        if name not in inputs:
            known = ", ".join(f"'{other}'" for other in inputs)
            raise UsageError(f"--freeze: {model.path.name} has no input '{name}', one of {known} was expected.")
    if values and len(values) == len(inputs):
        raise UsageError(f"--freeze: leaves {model.path.name} no input, one was expected. Leave one of them out.")
    return {name: _constant(model, inputs[name], value) for name, value in values.items()}


def _constant(model: RawModel, input: RawInput, value: float) -> Array:
    shape, dtype = fixed_shape(model, input), np.dtype(input.dtype)
    TENSOR_BYTES.check(dtype.itemsize * prod(shape), f"{model.path.name}, input '{input.name}'")
    if not _holds(dtype, value):
        raise UsageError(
            f"--freeze: {value} for input '{input.name}' of {model.path.name}, a number of {dtype} was expected."
        )
    return np.full(shape, value, dtype)


def _holds(dtype: np.dtype[np.generic], value: float) -> bool:
    """Whether a value is a number of that type, but for a rounding of real ones."""
    if dtype.kind == "b":
        return value in (0, 1)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)  # type: ignore[type-var]
        return isinstance(value, int) and limits.min <= value <= limits.max
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.asarray(value, np.float64).astype(dtype)))
