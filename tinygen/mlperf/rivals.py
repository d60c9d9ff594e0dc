"""Figures of others for the same models, taken once, with their provenance in the files."""

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict

ByModel = dict[str, int]
ByOpt = dict[str, int]  # C optimisation level: s, 2 or 3

_FOLDER = Path(__file__).parent


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TflmFigures(_Figures):
    """TFLM with CMSIS-NN on the same boards, compiler and counter. Every table goes by board, then by model."""

    source: str
    compiler: str
    notes: dict[str, str]
    arena_bytes: dict[str, ByModel]
    stack_bytes: dict[str, ByModel]
    ram_bytes: dict[str, ByModel]
    code_bytes: dict[str, ByModel]
    instructions: dict[str, dict[str, ByOpt]]
    cycles_model: dict[str, ByModel]


class Published(_Figures):
    """Results of the benchmark on hardware."""

    source: str
    notes: str
    million_cycles: dict[str, dict[str, dict[str, float]]]  # by core, then submission, then task


def tflm() -> TflmFigures:
    """`tflm.json`."""
    return TflmFigures.model_validate(_read("tflm.json"))


def published() -> Published:
    """`published.json`."""
    return Published.model_validate(_read("published.json"))


def _read(name: str) -> object:
    return json.loads((_FOLDER / name).read_text(encoding="utf-8"))
