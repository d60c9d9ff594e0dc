"""TFLM with CMSIS-NN on the same models, boards and counters: figures taken once, with their provenance in the file."""

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict

ByModel = dict[str, int]
ByOpt = dict[str, int]  # C optimisation level: s, 2 or 3


class Tflm(BaseModel):
    """`tflm.json`; every table goes by board, then by model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    compiler: str
    notes: dict[str, str]
    arena_bytes: dict[str, ByModel]
    ram_bytes: dict[str, ByModel]
    code_bytes: dict[str, ByModel]
    instructions: dict[str, dict[str, ByOpt]]


def load() -> Tflm:
    """The figures."""
    return Tflm.model_validate(json.loads(Path(__file__).with_name("tflm.json").read_text(encoding="utf-8")))
