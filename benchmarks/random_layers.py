"""Runs thousands of random layers on native kernels, against the numpy references of their operators.

    python -m benchmarks.random_layers [--layers 2000] [--boards mps2-an386,mps2-an505] [--families convolution]
        [--seed 0] [--tiles winograd_1x2]

Needs arm-none-eabi-gcc and QEMU, a host compiler for the board `host`. Layers run in programs of a hundred, each drawn
from a seed of its own: the first from --seed, the next from the number after it. What fails is printed with the command
that runs it again. Ends with code 1 where a layer differs or a program fails.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.native_layers import FAMILIES, check
from tinygen.errors import TinygenError
from tinygen.kernels.native.winograd import METHODS, Method

_BATCH = 100  # layers in one program
_BOARDS = "host,mps2-an382,mps2-an385,mps2-an386,mps2-an500,mps2-an505,mps3-an547"  # M0, M3, M4, M7, M33, M55
_METHODS = {method.name: method for method in METHODS}


@dataclass(frozen=True)
class Batch:
    """One program of random layers."""

    layers: int
    native: int
    failures: tuple[str, ...]


def random_batches(family: str, layers: int, seed: int, board: str, method: Method | None) -> Iterator[Batch]:
    """The outcomes of programs that have `layers` layers together."""
    for number, first in enumerate(range(0, layers, _BATCH)):
        yield _run(family, min(_BATCH, layers - first), seed + number, board, method)


def _run(family: str, layers: int, seed: int, board: str, method: Method | None) -> Batch:
    again = f"python -m benchmarks.random_layers --boards {board} --families {family} --layers {layers} --seed {seed}"
    again += f" --tiles {method.name}" if method else ""
    try:
        with tempfile.TemporaryDirectory(prefix="tinygen-") as folder:
            found = check(family, layers, seed, board, Path(folder), method=method)
    except TinygenError as error:
        return Batch(layers, 0, (f"{error} Again: {again}",))
    return Batch(layers, found.native, tuple(f"{layer}. Again: {again}" for layer in found.differing))


def main() -> int:
    """Print a line for each family and board, and one for each failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=2000)
    parser.add_argument("--boards", default=_BOARDS)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tiles", choices=_METHODS, help="run all layers that can by this method of Winograd's")
    given = parser.parse_args()
    method = _METHODS[given.tiles] if given.tiles else None
    failed = 0
    for board in given.boards.split(","):
        for family in given.families.split(","):
            layers = native = failures = 0
            for batch in random_batches(family, given.layers, given.seed, board, method):
                layers, native, failures = layers + batch.layers, native + batch.native, failures + len(batch.failures)
                for failure in batch.failures:
                    print(f"    {failure}", flush=True)
            print(
                f"{board:12} {family:16} {layers} layers, {native} calls of native kernels, {failures} failures",
                flush=True,
            )
            failed += failures
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
