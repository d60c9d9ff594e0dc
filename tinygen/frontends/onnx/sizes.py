"""Sizes that a user gives to what an ONNX file leaves open."""

from dataclasses import replace

from tinygen.errors import UsageError
from tinygen.frontends.onnx.raw import RawInput, RawModel
from tinygen.frontends.spelling import Spelling


def with_sizes(model: RawModel, spelling: Spelling) -> RawModel:
    """The model with open sizes of its inputs as the user has given them; UsageError where these do not fit."""
    names = [input.name for input in model.inputs]
    for name in spelling.shapes:
        if name not in names:
            known = ", ".join(f"'{other}'" for other in names)
            raise UsageError(f"--input-shape: {model.path.name} has no input '{name}', one of {known} was expected.")
    open_names = {size for input in model.inputs for size in input.shape if isinstance(size, str) and size}
    for name in spelling.dims:
        if name not in open_names:
            known = ", ".join(f"'{other}'" for other in sorted(open_names)) or "none"
            raise UsageError(f"--dim: {model.path.name} has no open size '{name}' (it has {known}).")
    return replace(model, inputs=tuple(_sized(model, input, spelling) for input in model.inputs))


def _sized(model: RawModel, input: RawInput, spelling: Spelling) -> RawInput:
    given = spelling.shapes.get(input.name)
    if given is None:
        shape = tuple(spelling.dims.get(size, size) if isinstance(size, str) else size for size in input.shape)
        return replace(input, shape=shape)
    fits = len(given) == len(input.shape) and all(
        isinstance(own, str) or own == size for own, size in zip(input.shape, given, strict=True)
    )
    if not fits:
        own = ", ".join(str(size) or "?" for size in input.shape)
        raise UsageError(
            f"--input-shape: {list(given)} for input '{input.name}' of {model.path.name}, [{own}] was expected, "
            "with numbers for names."
        )
    return replace(input, shape=given)
