"""Which array is for which input, and what its elements may be: the rule that all commands share."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import DIGITS, tinygen
from tinygen.errors import UsageError
from tinygen.ir.samples import elements, input_arrays
from tinygen.ir.types import Array, DType

NAME = "serving_default_image:0"  # of the input of DIGITS


@pytest.mark.parametrize(
    ("given", "inputs", "found"),
    [
        (["image", "in0"], ["image"], ("image",)),
        (["in0", "x"], ["image"], ("in0",)),
        (["x", "other"], ["image"], ("x",)),
        (["pictures", "labels"], ["image"], ("pictures",)),
        (["pictures", "y", "label"], ["image"], ("pictures",)),
        (["x", "y"], ["y"], ("y",)),
        (["in1", "a"], ["a", "b"], ("a", "in1")),
        (["in0", "in1"], ["in1", "in0"], ("in1", "in0")),
    ],
)
def test_names(given: list[str], inputs: list[str], found: tuple[str, ...]) -> None:
    assert input_arrays("x.npz", given, inputs) == found


@pytest.mark.parametrize(
    ("given", "inputs", "message"),
    [
        ([], ["a"], "x.npz: holds no array, one named 'a' or 'in0' was expected. Rename an array."),
        (
            ["labels"],
            ["a"],
            "x.npz: holds the arrays ['labels'], one named 'a' or 'in0' was expected. Rename an array.",
        ),
        (["p", "q"], ["in0"], "x.npz: holds the arrays ['p', 'q'], one named 'in0' was expected. Rename an array."),
        (["x"], ["a", "b"], "x.npz: holds the arrays ['x'], one named 'a' or 'in0' was expected. Rename an array."),
        (
            ["in0", "in1"],
            ["in1", "b"],
            "x.npz: array 'in1' is for input 'in1' by its name and for 'b' by its number, one was expected. "
            "Name all arrays as the model names its inputs.",
        ),
    ],
)
def test_names_that_are_refused(given: list[str], inputs: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        input_arrays("x.npz", given, inputs)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", [NAME, "in0", "x", "pictures"])
def test_every_command_knows_the_same_names(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside labels, which all commands leave alone."""
    monkeypatch.chdir(tmp_path)
    arrays = {name: np.zeros((2, 8, 8, 1), np.int64), "labels": np.zeros(2, np.int64)}
    np.savez("data.npz", **arrays)  # type: ignore[arg-type]
    for command in (
        ["run", "-t", "host", "--input"],
        ["validate", "-t", "host", "--against", "simulator", "--data"],
        ["simulate", "--data"],
    ):
        ended = tinygen(command[0], DIGITS, *command[1:], "data.npz", "--json")
        assert (ended.code, ended.document["samples"]) == (0, 2), ended.stderr


@pytest.mark.parametrize(
    ("values", "wanted", "message"),
    [
        (
            np.array([[1, 2], [3, np.nan]]),
            DType.FLOAT32,
            "sample 8 holds NaN or infinity, finite numbers were expected. Remove the sample, or correct what made it.",
        ),
        (np.array([[1, 2], [-np.inf, 4]]), DType.FLOAT32, "sample 8 holds NaN or infinity, finite "),
        (np.array([[1, 2], [3, 1e300]]), DType.FLOAT32, "sample 8 holds NaN or infinity, finite "),
        (np.array([[1, 2], [3, np.nan]]), DType.INT8, "sample 8 holds nan, a whole number of -128..127 was expected "),
        (np.array([[1, 2], [3, np.inf]]), DType.INT16, "sample 8 holds inf, a whole number of -32768..32767 was "),
        (np.array([[0, 1], [256, 2]]), DType.UINT8, "sample 8 holds 256, a whole number of 0..255 was expected for x."),
        (np.array([[0, -129]]), DType.INT8, "sample 7 holds -129, a whole number of -128..127 was expected for x."),
    ],
)
def test_values_that_are_refused(values: Array, wanted: DType, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"d.npz: array 'a', {message}")):
        elements("d.npz", "a", values, wanted, "x", first=7)


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([1j]), np.array(["2020-01-01"], "datetime64[D]")])
@pytest.mark.parametrize("wanted", [DType.FLOAT32, DType.INT8, DType.BOOL])
def test_elements_that_are_no_numbers(values: Array, wanted: DType) -> None:
    with pytest.raises(
        UsageError, match=rf"d\.npz: array 'a' has elements of .*, {wanted.numpy} were expected for x\."
    ):
        elements("d.npz", "a", values, wanted, "x")


@pytest.mark.parametrize("wanted", [DType.INT8, DType.UINT8, DType.INT16, DType.INT32])
@pytest.mark.parametrize("given", ["float16", "float64", "uint8", "int64", ">i4", "uint64"])
def test_whole_numbers_of_any_type(given: str, wanted: DType) -> None:
    found = elements("d.npz", "a", np.array([[0, 5], [127, 1]]).astype(given), wanted, "x")
    assert found.dtype == wanted.numpy and found.tolist() == [[0, 5], [127, 1]]
