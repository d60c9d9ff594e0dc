"""Damaged model files through the whole pipeline: whatever the bytes, C comes out or a `TinygenError`."""

from pathlib import Path

import pytest

from tests.support.fuzz import survive
from tests.support.shared import shared_file
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

SEED = 20261120
MUTATIONS = 2_000
MEMORY_LIMIT_BYTES = 500_000_000
LARGEST_FILE_BYTES = 80_000
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"


def compile_everything(path: Path) -> None:
    """From the file to its C text; the board refuses what does not fit."""
    compiled = compile_model(path, Options(target="mps2-an386", kernels=Kernels.PORTABLE))
    compiled.check_fits()


@pytest.mark.slow
def test_mutations_of_real_models() -> None:
    shared = shared_file("models").glob("*/*_int8.tflite")
    files = [DIGITS, *sorted(file for file in shared if file.stat().st_size < LARGEST_FILE_BYTES)]
    survival = survive("tests.models.test_pipeline_fuzz:compile_everything", files, MUTATIONS, SEED)
    print(f"seed {SEED}: {survival}")
    assert survival.failure is None
    assert survival.refused + survival.accepted == MUTATIONS
    assert min(survival.refused, survival.accepted) > MUTATIONS // 20
    assert survival.peak_resident_bytes < MEMORY_LIMIT_BYTES
