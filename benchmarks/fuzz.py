"""Structure-aware mutants of models through the whole pipeline, and those that are accepted through C.

    python -m benchmarks.fuzz [--accepted 5000] [--seed 0] [--keep build/fuzz] [--record]

Random models of TFLite and ONNX, with some of their numbers changed, are compiled; what raises anything but a
`TinygenError` is a finding. Those that are accepted run side by side in programs of some tens, under sanitizers, with
portable and native kernels in turn, and must give the outputs of the numpy references. The files of what fails are
kept; a file that showed a defect goes to tests/models/corpus, where a test runs it ever after. With `--record` the
round stands in fuzz.json and fuzz.md beside this file, with the commit that it tried.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle
from pathlib import Path

import numpy as np

from tests.ops.test_binary import add_operator
from tests.support import movement_models
from tests.support.batches import TOOLBOXES, run_batch
from tests.support.native_layers import FAMILIES
from tests.support.onnx_models import CASES, single
from tests.support.onnx_mutations import mutate_message, mutate_numbers
from tests.support.onnx_qoperators import QOPERATORS, qoperator_model
from tests.support.operator_models import BUILDERS, OperatorModel
from tests.support.tflite_mutations import mutate_model
from tinygen.errors import TinygenError, VerifyError
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Toolbox
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

_BATCH = 40
_BINARY = ("ADD", "MAXIMUM", "MINIMUM", "MUL", "SQUARED_DIFFERENCE", "SUB")
_MOST_MACS = 1_000_000
_MOST_ELEMENTS = 100_000
_GENTLE = 0.8  # of ONNX mutants
_ROUNDS = Path(__file__).with_suffix(".json")
_PAGE = Path(__file__).with_suffix(".md")
_INTRODUCTION = f"""# Mutants of models

Random models of TFLite and ONNX with some of their numbers changed, through the whole pipeline: `make fuzz`. Those that
compile run in C under sanitizers, {_BATCH} in a program, with portable and native kernels in turn, beside the numpy
references. A *finding* is an error that is no refusal, a report of a sanitizer, or an output that is another one by a
single bit; what is found is mended, and its file is a test ever after (`tests/models/corpus`,
`tests/models/test_fuzzed.py`). `--record` adds a round to this page; the same commit and seed give the same mutants.
"""


@dataclass
class Round:
    """What has come of the mutants so far."""

    refused: Counter[str] = field(default_factory=Counter)
    accepted: int = 0
    run: int = 0
    errors: int = 0  # that are no refusals
    findings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Recorded:
    """A round of the page."""

    commit: str  # that was tried
    accepted: int  # each ran in C
    seed: int
    first: int  # number of the first mutant
    findings: int
    mutants: int | None = None  # None: not kept
    refused: dict[str, int] | None = None  # by the class of the error

    @property
    def row(self) -> str:
        """Of the table."""
        command = f"python -m benchmarks.fuzz --accepted {self.accepted} --seed {self.seed}"
        command += f" --first {self.first}" if self.first else ""
        refused = ", ".join(f"{number:,} {name}" for name, number in (self.refused or {}).items()) or "not kept"
        mutants = "not kept" if self.mutants is None else f"{self.mutants:,}"
        return f"| {self.commit} | `{command}` | {mutants} | {refused} | {self.accepted:,} | {self.findings} |"


@dataclass(frozen=True)
class Mutant:
    """A file and the graph that was read from it."""

    name: str
    content: bytes
    graph: Graph


def _tflite(build: Callable[[OperatorModel], None], seed: int, random_: random.Random) -> bytes:
    model = OperatorModel(np.random.default_rng(seed))
    build(model)
    mutate_model(model.writer, random_)
    return model.finish()


def _movement(name: str, seed: int, random_: random.Random) -> bytes:
    model = movement_models.random_model([name], seed, 1)
    mutate_model(model.writer, random_)
    return model.finish()


def _onnx(content: bytes, random_: random.Random) -> bytes:
    return (mutate_numbers if random_.random() < _GENTLE else mutate_message)(content, random_)


def mutant(number: int, seed: int) -> tuple[str, bytes]:
    """A file name and its content: always the same for the same numbers."""
    random_ = random.Random(f"{seed}/{number}")
    drawn = random_.randrange(1 << 30)
    kind = random_.randrange(5)
    if kind == 0:
        name = random_.choice(sorted(BUILDERS))
        return f"{name}.tflite", _tflite(BUILDERS[name], drawn, random_)
    if kind == 1:
        name = random_.choice(sorted(FAMILIES))
        return f"{name}.tflite", _tflite(FAMILIES[name], drawn, random_)
    if kind == 2:
        name = random_.choice(_BINARY)
        return f"{name}.tflite", _tflite(lambda model: add_operator(name, model), drawn, random_)
    if kind == 3:
        name = random_.choice(sorted(movement_models.OPERATORS))
        return f"{name}.tflite", _movement(name, drawn, random_)
    name = random_.choice((*sorted(CASES), *sorted(QOPERATORS)))
    content = single(name, drawn).finish() if name in CASES else qoperator_model(name)
    return f"{name}.onnx", _onnx(content, random_)


def accepted(name: str, content: bytes, folder: Path) -> Graph | str:
    """The graph of a file that compiles, or the class of the error that refuses it; other errors pass."""
    file = folder / f"mutant{Path(name).suffix}"
    file.write_bytes(content)
    try:
        compiled = compile_model(file, Options(target="host", kernels=Kernels.PORTABLE))
        compiled.check_fits()
    except VerifyError:
        raise
    except TinygenError as error:
        return type(error).__name__
    sizes = [tensor.type.elements for tensor in compiled.imported.tensors]
    is_small = compiled.imported.macs <= _MOST_MACS and sum(sizes) <= _MOST_ELEMENTS
    if not is_small or compiled.imported.states:
        return "too large for a batch"
    chosen = [getattr(op, "indices", None) for op in compiled.imported.ops]
    if any(isinstance(tensor, Tensor) and not tensor.is_constant for tensor in chosen):
        return "indices at run time"  # drawn ones are out of range, which C reports as an error of the operator
    return compiled.imported


def run_all(batch: Sequence[Mutant], toolbox: Toolbox, seed: int) -> list[tuple[Mutant, str]]:
    """What is wrong with models of a batch: where the program fails, they are run one by one."""
    with tempfile.TemporaryDirectory(prefix="tinygen-") as folder:
        try:
            differing = run_batch([mutant.graph for mutant in batch], toolbox, seed, Path(folder))
        except Exception:
            if len(batch) == 1:
                return [(batch[0], traceback.format_exc())]
            half = len(batch) // 2
            found = [wrong for part in (batch[:half], batch[half:]) for wrong in run_all(part, toolbox, seed)]
            return found or [(batch[0], f"only beside others: {traceback.format_exc()}")]
    return [(batch[each.model], f"output {each.port}: {each.elements} elements differ") for each in differing]


def fuzz(wanted: int, seed: int, keep: Path, first: int = 0) -> Round:
    """Mutants from the number `first` on until so many are accepted."""
    came, batch, number = Round(), list[Mutant](), first
    kinds = cycle(TOOLBOXES.items())
    with tempfile.TemporaryDirectory(prefix="tinygen-") as folder:
        while came.accepted < wanted:
            name, content = mutant(number, seed)
            try:
                graph = accepted(name, content, Path(folder))
            except Exception:
                came.errors += 1
                _keep(came, keep, f"{seed}-{number}-{name}", content, traceback.format_exc())
            else:
                if isinstance(graph, str):
                    came.refused[graph] += 1
                else:
                    came.accepted += 1
                    batch.append(Mutant(f"{seed}-{number}-{name}", content, graph))
            number += 1
            if len(batch) == _BATCH or (batch and came.accepted == wanted):
                kind, toolbox = next(kinds)
                for wrong, why in run_all(batch, toolbox, seed):
                    _keep(came, keep, f"{kind}-{wrong.name}", wrong.content, why)
                came.run += len(batch)
                batch = []
                print(f"{number - first} mutants, {came.run} run in C, {len(came.findings)} findings", flush=True)
    return came


def _keep(came: Round, folder: Path, name: str, content: bytes, why: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name.replace(" ", "_")
    file.write_bytes(content)
    came.findings.append(name)
    print(f"{file}: {why}", flush=True)


def recorded() -> list[Recorded]:
    """The rounds of fuzz.json."""
    return [Recorded(**entry) for entry in json.loads(_ROUNDS.read_text(encoding="utf-8"))]


def page(rounds: Sequence[Recorded]) -> str:
    """The text of fuzz.md."""
    lines = ["| commit | command | mutants | refused | accepted, run in C | findings |", "|---|---|--:|---|--:|--:|"]
    return f"{_INTRODUCTION}\n{chr(10).join([*lines, *(each.row for each in rounds)])}\n"


def _record(came: Round, seed: int, first: int) -> None:
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    refused = dict(came.refused.most_common())
    mutants = came.accepted + came.refused.total() + came.errors
    round_ = Recorded(asked.stdout.strip(), came.accepted, seed, first, len(came.findings), mutants, refused)
    rounds = [*recorded(), round_]
    _ROUNDS.write_text(json.dumps([asdict(each) for each in rounds], indent=1) + "\n", encoding="utf-8")
    _PAGE.write_text(page(rounds), encoding="utf-8")


def main() -> int:
    """Print how many were refused, by which errors, and what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accepted", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--record", action="store_true", help="put the round into fuzz.md")
    given = parser.parse_args()
    came = fuzz(given.accepted, given.seed, given.keep, given.first)
    print(f"{came.accepted} accepted, refused: {dict(came.refused.most_common())}, {len(came.findings)} findings")
    if given.record:
        _record(came, given.seed, given.first)
    return 1 if came.findings else 0


if __name__ == "__main__":
    sys.exit(main())
