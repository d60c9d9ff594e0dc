"""Sessions as tables for people."""

from tinygen.mlperf.listening import Listened
from tinygen.mlperf.runner import Accuracy, Performance
from tinygen.mlperf.session import Session
from tinygen.report.table import ShownTable, facts


def session_table(session: Session) -> ShownTable:
    """What was measured, and what came out."""
    rows = [("device", session.device.name), ("data", session.data)]
    if session.accuracy is not None:
        rows += _accuracy_rows(session.accuracy)
    if session.performance is not None:
        rows += _performance_rows(session.performance)
    if session.listening is not None:
        rows += _listening_rows(session.listening)
    return facts(f"MLPerf Tiny {session.device.model}, {session.mode} on {session.target} by {session.transport}", rows)


def _accuracy_rows(found: Accuracy) -> list[tuple[str, str]]:
    rows = [("samples", f"{found.samples:,}")]
    if found.top1 is not None:
        rows.append(("top-1", f"{found.top1:.2%} ({found.correct} correct)"))
    rows.append(("AUC", "- (a class is missing)" if found.auc is None else f"{found.auc:.4f}"))
    if found.quality_required is not None:
        verdict = {True: "reached", False: "missed", None: "not known"}[found.is_met]
        rows.append(("quality required", f"{found.quality_required:g}: {verdict}"))
    return rows


def _listening_rows(found: Listened) -> list[tuple[str, str]]:
    rows = [
        (track.file, f"{len(track.activations):,} blocks of {1e3 * track.period_s:.1f} ms, duty {track.duty_cycle:.2%}")
        for track in found.tracks
    ]
    rows.append(("words", f"{found.words:,}, {found.missed} not found"))
    rows.append(("false positives", f"{found.false_positives}"))
    verdict = "reached" if found.is_met else "missed"
    rows.append(("quality required", f"at most {found.most_mistakes} of either: {verdict}"))
    rows.append(("throughput", f"{found.throughput:.1f} blocks/s"))
    return rows


def _performance_rows(found: Performance) -> list[tuple[str, str]]:
    rows = [
        (f"window {number}", f"{window.iterations:,} inferences in {window.elapsed_us / 1e6:.3f} s")
        for number, window in enumerate(found.windows, 1)
    ]
    rows.append(("median throughput", f"{found.median_throughput:.3f} inferences/s"))
    rows.append(("by the rules", "valid" if found.is_valid else "; ".join(found.violations)))
    return rows
