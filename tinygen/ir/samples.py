"""Samples that a user gives: which array is for which input of a model, and what its elements may be.

The one rule for files and for Python, whether they calibrate, run, validate, simulate or drive firmware. An array is
for an input where it has the input's name, or in0, in1, ... by the input's place. Of a model with one input it may also
be called x, or anything where it is the only array beside labels. Its first axis counts samples.
"""

from collections.abc import Collection, Sequence

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.types import Array, DType, TensorType

LABELS = ("labels", "label", "y")  # names that an array of classes may have

_ONLY = "x"  # what the array of the only input may be called


def input_arrays(where: str, given: Collection[str], inputs: Sequence[str]) -> tuple[str, ...]:
    """The array of each input, by name; `where` is what messages call the file.

    Raises UsageError where an input has none, or two inputs have the same one.
    """
    found = tuple(_input_array(where, given, index, name, len(inputs)) for index, name in enumerate(inputs))
    for index, array in enumerate(found):
        first = found.index(array)
        if first != index:
            raise UsageError(
                f"{where}: array '{array}' is for input '{inputs[first]}' by its name and for '{inputs[index]}' by its "
                "number, one was expected. Name all arrays as the model names its inputs."
            )
    return found


def _input_array(where: str, given: Collection[str], index: int, name: str, inputs: int) -> str:
    numbered = f"in{index}"
    for known in (name, numbered, *([_ONLY] if inputs == 1 else [])):
        if known in given:
            return known
    others = [array for array in given if array not in LABELS]
    if inputs == 1 and len(others) == 1:
        return others[0]
    held = f"the arrays {sorted(given)}" if given else "no array"
    names = " or ".join(f"'{known}'" for known in dict.fromkeys((name, numbered)))
    raise UsageError(f"{where}: holds {held}, one named {names} was expected. Rename an array.")


def check_shape(where: str, name: str, given: Sequence[int], wanted: TensorType, reader: str) -> None:
    """Raise UsageError unless the first axis counts samples and the others have as many elements as the input.

    `reader` is what takes the array, as in "input 'image'".
    """
    if not given or np.prod(given[1:], dtype=np.int64) != wanted.elements:
        sizes = wanted.shape[1:] if wanted.shape[:1] == (1,) else wanted.shape
        raise UsageError(
            f"{where}: array '{name}' has shape {list(given)}, [{', '.join(map(str, ('samples', *sizes)))}] was "
            f"expected for {reader}. Reshape it."
        )


def check_elements(where: str, name: str, given: np.dtype[np.generic], wanted: DType, reader: str) -> None:
    """Raise UsageError where elements of a kind are never taken: floats for floats, integers or floats for integers."""
    kinds = {DType.FLOAT32: "f", DType.BOOL: "b"}.get(wanted, "iuf")
    if given.kind not in kinds:
        raise UsageError(
            f"{where}: array '{name}' has elements of {given}, {wanted.numpy} were expected for {reader}. Convert them."
        )


def elements(
    where: str, name: str, values: Array, wanted: DType, reader: str, first: int = 0, unit: str = "sample"
) -> Array:
    """The values, in their shape, as `wanted`: finite floats, or whole numbers within its range.

    `first` is the number of the first one of `values`, by whose first axis messages count in `unit`. Raises UsageError
    that names the array, the sample and what is wrong.
    """
    check_elements(where, name, values.dtype, wanted, reader)
    at = f"{where}: array '{name}', {unit}"
    if wanted is DType.FLOAT32:
        with np.errstate(over="ignore"):  # what float32 does not hold becomes infinite, and is refused
            stored = values.astype(np.float32)
        finite = np.isfinite(stored)
        if not finite.all():
            raise UsageError(
                f"{at} {first + _first_false(finite)[0]} holds NaN or infinity, finite numbers were expected. "
                "Remove the sample, or correct what made it."
            )
        return stored
    if wanted.is_integer and values.dtype != wanted.numpy:
        is_float = values.dtype.kind == "f"
        exact = values.astype(np.float64) if is_float else values  # narrow floats cannot say the bounds
        fits = np.greater_equal(exact, wanted.min) & np.less_equal(exact, wanted.max)
        if is_float:
            fits &= exact == np.rint(exact)
        if not fits.all():
            place = _first_false(fits)
            raise UsageError(
                f"{at} {first + place[0]} holds {values[place]}, a whole number of {wanted.min}..{wanted.max} was "
                f"expected for {reader}. Convert the array, or correct what made it."
            )
    return values.astype(wanted.numpy, copy=False)


def _first_false(fits: Array) -> tuple[int, ...]:
    return tuple(int(index) for index in np.unravel_index(np.argmin(fits), fits.shape))
