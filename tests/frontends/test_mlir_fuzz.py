"""Changed MLIR modules: whatever the text, tinygen refuses it with a `TinygenError` or makes a graph of it."""

from pathlib import Path

from tests.support.control_models import loop_model
from tests.support.fuzz import survive
from tests.support.operator_models import BUILDERS, random_model
from tests.support.recurrent_models import lstm_model
from tests.support.reference import import_model as import_bytes
from tests.support.stateful import variables_model
from tinygen import passes
from tinygen.frontends import import_model
from tinygen.ir.mlir import print_graph

SEED = 20261123
MEMORY_LIMIT_BYTES = 700_000_000
TARGET = "tests.frontends.test_mlir_fuzz:import_and_simplify"


def import_and_simplify(path: Path) -> None:
    """What reads a model before anything is planned."""
    passes.run(import_model(path), passes.FLOAT_PASSES)


def test_mutations_of_operators(tmp_path: Path) -> None:
    models = {name: random_model(name, seed=1).finish() for name in sorted(BUILDERS)}
    models |= {"loop": loop_model(), "variables": variables_model(seed=1), "lstm": lstm_model(seed=1)[0]}
    files = []
    for name, model in models.items():
        files.append(tmp_path / f"{name}.mlir")
        files[-1].write_text(print_graph(import_bytes(model), with_values=True))
    survival = survive(TARGET, files, 800, SEED)
    print(f"seed {SEED}: {survival}")
    assert survival.failure is None
    assert min(survival.refused, survival.accepted) > 40
    assert survival.peak_resident_bytes < MEMORY_LIMIT_BYTES
