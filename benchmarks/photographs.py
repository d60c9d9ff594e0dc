"""Crops of the photographs that scikit-image ships: an astronaut, a cat, a cup of coffee, a rocket."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from skimage import data
from skimage.transform import resize

from tinygen.ir.types import Float32Array

_LEAST, _MOST = 0.4, 0.9  # side of a crop, as a share of the shorter side of what it is cut from
_PHOTOGRAPHS: tuple[Callable[[], npt.NDArray[np.uint8]], ...] = (data.astronaut, data.chelsea, data.coffee, data.rocket)


def crops(count: int, side: int, rng: np.random.Generator, is_left: bool) -> Float32Array:
    """So many squares [count, side, side, 3] in [0, 1] of left or right halves alone, some of them mirrored."""
    halves = []
    for photograph in _PHOTOGRAPHS:
        pixels = photograph()
        middle = pixels.shape[1] // 2
        halves.append(pixels[:, :middle] if is_left else pixels[:, middle:])
    return np.stack(list(_crops(halves, count, side, rng)))


def _crops(
    photographs: list[npt.NDArray[np.uint8]], count: int, side: int, rng: np.random.Generator
) -> Iterator[Float32Array]:
    for number in range(count):
        pixels = photographs[number % len(photographs)]
        high, wide = pixels.shape[:2]
        size = int(rng.uniform(_LEAST, _MOST) * min(high, wide))
        top, left = int(rng.integers(high - size)), int(rng.integers(wide - size))
        crop = pixels[top : top + size, left : left + size]
        found = resize(crop[:, ::-1] if rng.random() < 1 / 2 else crop, (side, side), anti_aliasing=True)
        yield found.astype(np.float32)
