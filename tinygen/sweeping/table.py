"""The rows of a sweep as files and as a summary."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tinygen.report.table import ShownTable, cycles, facts, listing
from tinygen.sweeping.engine import package

FILES = ("results.csv", "results.parquet", "index.html")
_BEGIN = "model,"  # of the heading
_END = "flash_bytes"
_MOST_REASONS = 10


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """The table with its heading; None is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def parquet_bytes(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The table as Parquet; a column of options whose values are of several types is text."""
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    table = arrow.table({name: _column([row[name] for row in rows]) for name in columns})
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def _column(values: list[Any]) -> list[Any]:
    types = {type(value) for value in values if value is not None}
    return values if len(types) <= 1 else [None if value is None else str(value) for value in values]


def is_own_table(file: Path) -> bool:
    """Whether a sweep wrote the table beside which `file` stands."""
    try:
        with file.with_name(FILES[0]).open(encoding="utf-8") as stream:
            heading = stream.readline(100_000).strip()
    except (OSError, UnicodeDecodeError):
        return False
    return heading.startswith(_BEGIN) and heading.endswith(_END)


def standing(failures: int, best: Mapping[str, Any] | None) -> str:
    """Failures so far and the best point so far, as progress says them."""
    parts = [f"{failures:,} failed"] if failures else []
    if best is not None:
        known = "" if best["accuracy"] is None else f"accuracy {best['accuracy']:.3f}, "
        is_measured = best["cycles_model"] is not None
        cost = (
            cycles(best["cycles_model"], best["cycles_band"]) if is_measured else f"{best['estimated_instructions']:,}"
        )
        unit = "cycles_model" if is_measured else "estimated_instructions"
        parts.append(f"best {Path(best['model']).name} on {best['target']}: {known}{cost} {unit}")
    return ", ".join(parts)


def summary(rows: Sequence[Mapping[str, Any]], title: str) -> list[ShownTable]:
    """How many points there are, fit and failed, the best of them, and the reasons of the others."""
    good = [row for row in rows if row["error_code"] == 0]
    lines = [("points", f"{len(rows):,}"), ("without error", f"{len(good):,}")]
    for name in ("arena_bytes", "const_bytes", "estimated_instructions"):
        if good:
            best = min(good, key=lambda row: row[name])
            lines.append((f"least {name}", f"{best[name]:,}: {best['model']} on {best['target']}"))
    tables: list[ShownTable] = [facts(title, lines)]
    most = reasons(rows)
    if most:
        tables.append(listing(("points", "code", "reason"), most, "Why points failed"))
    return tables


def reasons(rows: Iterable[Mapping[str, Any]]) -> list[tuple[int, int, str]]:
    """Why most points failed: how many, the error code, and the first line of its message."""
    failed = Counter((row["error_code"], row["error"].split("\n")[0]) for row in rows if row["error_code"])
    return [(number, code, text) for (code, text), number in failed.most_common(_MOST_REASONS)]
