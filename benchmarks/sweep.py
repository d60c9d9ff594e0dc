"""Runs thousands of random layers on native kernels, against the numpy references of their operators.

    python -m benchmarks.sweep [--layers 2000] [--boards mps2-an386,mps2-an505] [--seed 0] [--families convolution]

Needs arm-none-eabi-gcc and QEMU, a host compiler for the board `host`. Ends with code 1 where a layer differs.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.native_layers import FAMILIES, Outcome, check

_BATCH = 100  # layers in one program
_BOARDS = "host,mps2-an385,mps2-an386,mps2-an500,mps2-an505,mps3-an547"


def sweep(family: str, layers: int, seed: int, board: str) -> Iterator[Outcome]:
    """The outcomes of programs that have `layers` layers together."""
    for number, first in enumerate(range(0, layers, _BATCH)):
        with tempfile.TemporaryDirectory(prefix="tinygen-") as folder:
            yield check(family, min(_BATCH, layers - first), 1000 * seed + number, board, Path(folder))


def main() -> int:
    """Print a line for each family and board."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=2000)
    parser.add_argument("--boards", default=_BOARDS)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed = 0
    for board in given.boards.split(","):
        for family in given.families.split(","):
            outcomes = list(sweep(family, given.layers, given.seed, board))
            differing = [layer for outcome in outcomes for layer in outcome.differing]
            native = sum(outcome.native for outcome in outcomes)
            print(f"{board:12} {family:16} {given.layers} layers, {native} native, {len(differing)} differ", flush=True)
            print(*(f"    {layer}" for layer in differing), sep="\n", end="")
            failed += len(differing)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
