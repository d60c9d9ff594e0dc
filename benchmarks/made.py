"""Tables of the pages that are made of stored results: `<!-- made: NAME -->` stands before each."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tinygen.mlperf.tasks import TASKS

_RESULTS = Path(__file__).with_name("mlperf") / "mlperf.json"


def _mlperf() -> str:
    """A row for each network and goal on the Cortex-M4, beside TFLM."""
    rows = json.loads(_RESULTS.read_text(encoding="utf-8"))["rows"]
    best: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        if row["target"] == "mps2-an386":
            best.setdefault((row["task"], row["goal"]), row)  # the kernels that were named first
    lines = [
        "| network | build | kernels | RAM | of TFLM's | code | constants | instructions | of TFLM's |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for task in TASKS:
        for goal in ("ram", "time", "size"):
            row = best[task, goal]
            cells = [task, f"`-O {goal}`", "portable" if row["kernels"] == "portable" else "auto"]
            cells += [f"{row['ram_bytes']:,}", f"{row['tflm_ram']['ratio']:.2f}", f"{row['code_bytes']:,}"]
            cells += [f"{row['const_bytes']:,}", f"{row['instructions']:,}", f"{row['tflm_instructions']['ratio']:.2f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


TABLES: Mapping[str, Callable[[], str]] = {"mlperf": _mlperf}
