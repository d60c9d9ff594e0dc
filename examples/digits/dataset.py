"""The digits data set as this example uses it: which images are held out, and how pixels become int8.

Needs numpy only, so that the test suite can check the test images without TensorFlow.
"""

import numpy as np
from numpy.typing import NDArray

CLASSES = 10
PIXEL_MAX = 16  # scikit-learn's images count the set pixels of a 4x4 block
HELD_OUT_EVERY = 5


def held_out(labels: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mask [N] of the test images: of each digit the first of every five, in scikit-learn's order.

    Counting per digit keeps the classes balanced (the file repeats 0..9, so every fifth image of the whole
    would be a 0 or a 5), and needs no random generator whose stream could change.
    """
    mask = np.zeros(len(labels), dtype=np.bool_)
    for digit in range(CLASSES):
        mask[np.flatnonzero(labels == digit)[::HELD_OUT_EVERY]] = True
    return mask


def model_input(pixels: NDArray[np.floating]) -> NDArray[np.float32]:
    """Pixels [N, 8, 8] in 0..16 as the network's real input [N, 8, 8, 1] in 0..1."""
    return (pixels[..., np.newaxis] / PIXEL_MAX).astype(np.float32)


def quantize(real: NDArray[np.float32], scale: float, zero_point: int) -> NDArray[np.int8]:
    """Real values as int8: real = scale * (stored - zero_point), rounded to nearest even, saturated."""
    stored: NDArray[np.float64] = np.rint(real.astype(np.float64) / scale) + zero_point
    return stored.clip(-128, 127).astype(np.int8)
