"""Inputs from files and from a seed, and what is said of files that do not fit."""

from pathlib import Path

import numpy as np
import pytest

from tinygen.errors import UsageError
from tinygen.ir.graph import Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.verify.samples import load_samples, random_samples

IMAGE = Port(
    "image",
    Tensor("q", TensorType(DType.INT8, (1, 4, 3), Quant((0.5,), (-128,)))),
    TensorType(DType.FLOAT32, (1, 4, 3)),
)
FLAG = Port("flag", Tensor("flag", TensorType(DType.INT8, (2,))), TensorType(DType.INT8, (2,)))


def test_drawn_samples_reach_all_values_and_repeat() -> None:
    samples = random_samples([IMAGE, FLAG], 2000, seed=7)
    images, flags = (np.stack([sample[index] for sample in samples]) for index in (0, 1))
    assert images.dtype == np.float32 and images.shape == (2000, 1, 4, 3)
    assert images.max() > 127.5 and images.min() > -1  # real range [0, 127.5] and a little more above
    assert {-128, 127} <= {int(value) for value in flags.reshape(-1)}
    again = random_samples([IMAGE, FLAG], 2000, seed=7)
    other = random_samples([IMAGE, FLAG], 2000, seed=8)
    assert np.array_equal(again[3][0], samples[3][0]) and not np.array_equal(other[3][0], samples[3][0])


@pytest.mark.parametrize("names", [("image", "flag"), ("in0", "in1"), ("image", "in1")])
def test_arrays_by_name_or_number(names: tuple[str, str], tmp_path: Path) -> None:
    images = np.arange(36, dtype=np.float64).reshape(3, 12)  # flat, and wider than float32
    flags = np.array([[1, 2], [3, 4], [5, 6]])
    np.savez(tmp_path / "x.npz", **{names[0]: images, names[1]: flags})  # type: ignore[arg-type]
    samples = load_samples(tmp_path / "x.npz", [IMAGE, FLAG])
    assert len(samples) == 3
    assert samples[1][0].dtype == np.float32 and np.array_equal(samples[1][0], images[1].reshape(1, 4, 3))
    assert samples[2][1].dtype == np.int8 and np.array_equal(samples[2][1], [5, 6])


def test_single_input_takes_any_name_and_npy(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((5, 2), np.int8))
    np.save(tmp_path / "x.npy", np.zeros((4, 2), np.int8))
    assert len(load_samples(tmp_path / "x.npz", [FLAG])) == 5
    assert len(load_samples(tmp_path / "x.npy", [FLAG])) == 4


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"image": np.zeros((3, 12), np.float32)},
            "x.npz: holds the arrays ['image'], one named 'flag' or 'in1' was expected. Rename an array.",
        ),
        (
            {"image": np.zeros((3, 12), np.float32), "flag": np.zeros((2, 2), np.int8)},
            "x.npz: its arrays have [2, 3] samples, the same number was expected in each.",
        ),
        (
            {"image": np.zeros((3, 11), np.float32), "flag": np.zeros((3, 2), np.int8)},
            "x.npz: array 'image' has shape [3, 11], [samples, 4, 3] was expected for input 'image'. Reshape it.",
        ),
        (
            {"image": np.zeros((3, 12), np.float32), "flag": np.full((3, 2), 200)},
            "x.npz: array 'flag', sample 0 holds 200, a whole number of -128..127 was expected for input 'flag'. "
            "Convert the array, or correct what made it.",
        ),
        (
            {"image": np.zeros((3, 12), np.int8), "flag": np.zeros((3, 2), np.int8)},
            "x.npz: array 'image' has elements of int8, float32 were expected for input 'image'. Convert them.",
        ),
    ],
)
def test_messages(
    arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]], message: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "x.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as caught:
        load_samples(tmp_path / "x.npz", [IMAGE, FLAG])
    assert str(caught.value) == message


@pytest.mark.parametrize("content", [b"", b"no array", b"PK\x03\x04 no archive", b"\x93NUMPY\x01\x00"])
def test_damaged_files(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    file.write_bytes(content)
    with pytest.raises(
        UsageError, match=r"cannot be read as samples \(.*\), an .npz or .npy file of numpy was expected"
    ):
        load_samples(file, [FLAG])
    with pytest.raises(UsageError, match="cannot be read as samples"):
        load_samples(tmp_path / "missing.npz", [FLAG])
