"""The C of 150 combinations of model, board, objective and kernels, as digests: what a change of the code does to it.

    python -m benchmarks.generated before.json
    python -m benchmarks.generated after.json --against before.json [--only MODEL]...

The first writes a digest of the generated files, the arena and the modelled instructions of each combination; the
second does so too and prints the combinations that differ, with both. It ends with code 1 where an arena or the
instructions of one have grown. Asks for `../shared`, and for CMSIS-NN where kernels come from it; says what is missing.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from tinygen.errors import TinygenError
from tinygen.kernels.base import Library, Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, choose_library, compile_model
from tinygen.planner.cost.cost import estimated_instructions

_CHECKOUT = Path(__file__).resolve().parents[1]
_SHARED = _CHECKOUT.parent / "shared" / "models"
MODELS = (
    _CHECKOUT / "examples/digits/digits_int8.tflite",
    *(
        _SHARED / "mlperf_tiny" / f"{name}.tflite"
        for name in ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8")
    ),
    *(
        _SHARED / "open" / f"{name}.tflite"
        for name in ("tflm_micro_speech_int8", "tflm_hello_world_int8", "tflm_keyword_scrambled_i16")
    ),
    _SHARED / "open" / "tflm_mnist_lstm_int8.tflite",
)
BOARDS = ("mps2-an385", "mps2-an386", "mps3-an547")
WAYS: tuple[tuple[Objective, Kernels], ...] = (
    (Objective.BALANCED, Kernels.AUTO),
    (Objective.TIME, Kernels.NATIVE),
    (Objective.RAM, Kernels.AUTO),
    (Objective.BALANCED, Kernels.CMSIS_NN),
    (Objective.SIZE, Kernels.PORTABLE),
)


@dataclass(frozen=True)
class Generated:
    """What came of one combination."""

    digest: str  # of all generated files
    arena_bytes: int
    instructions: int  # modelled, of one inference

    @classmethod
    def of(cls, compiled: Compiled) -> "Generated":
        """Of a model that was compiled."""
        text = json.dumps(compiled.files, sort_keys=True)
        instructions = round(estimated_instructions(compiled.schedule, compiled.library))
        return cls(hashlib.sha256(text.encode()).hexdigest()[:16], compiled.schedule.arena_bytes, instructions)


Found = dict[str, Generated]


def generated(models: Sequence[Path]) -> Iterator[tuple[str, Generated | TinygenError]]:
    """Each combination by its name, with what is generated or why nothing is."""
    for model, board, (objective, kernels) in product(models, BOARDS, WAYS):
        name = " ".join((model.stem, board, objective.value, kernels.value))
        try:
            yield name, Generated.of(compile_model(model, Options(board, objective=objective, kernels=kernels)))
        except TinygenError as error:
            yield name, error


def differences(before: Mapping[str, Generated], after: Mapping[str, Generated]) -> Iterator[str]:
    """A line for each combination of both that is no longer the same."""
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        if old != new:
            arena = f"{old.arena_bytes} -> {new.arena_bytes} bytes"
            yield f"{name}: {arena}, {old.instructions} -> {new.instructions} instructions"


def grown(before: Mapping[str, Generated], after: Mapping[str, Generated]) -> list[str]:
    """The combinations that take more memory or more instructions than before."""
    return sorted(
        name
        for name in before.keys() & after.keys()
        if after[name].arena_bytes > before[name].arena_bytes or after[name].instructions > before[name].instructions
    )


def read(file: Path) -> Found:
    """What an earlier run wrote."""
    rows: dict[str, dict[str, object]] = json.loads(file.read_text(encoding="utf-8"))
    return {name: Generated(**row) for name, row in rows.items()}  # type: ignore[arg-type]


def main() -> int:
    """Write what is generated, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="file to write")
    parser.add_argument("--against", type=Path, help="file of an earlier run")
    parser.add_argument("--only", action="append", metavar="MODEL", help="a model's name; without: all")
    asked = parser.parse_args()
    models = [model for model in MODELS if not asked.only or model.stem in asked.only]
    missing = [model.stem for model in models if not model.exists()]
    if missing:
        print(f"missing, so not generated: {', '.join(missing)}", file=sys.stderr)
    if choose_library(Options()) is not Library.CMSIS_NN:
        print("CMSIS-NN is missing: auto is without it", file=sys.stderr)
    found: Found = {}
    for name, made in generated([model for model in models if model.exists()]):
        if isinstance(made, TinygenError):
            print(f"{name}: {made}", file=sys.stderr)
        else:
            found[name] = made
    asked.out.write_text(json.dumps({name: asdict(made) for name, made in found.items()}, indent=1) + "\n", "utf-8")
    print(f"{len(found)} combinations")
    if asked.against is None:
        return 0
    before = read(asked.against)
    changed, worse = sorted(differences(before, found)), grown(before, found)
    print("\n".join([f"{len(changed)} of {len(before.keys() & found.keys())} differ", *changed]))
    print("\n".join([f"{len(worse)} have grown", *worse]))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
