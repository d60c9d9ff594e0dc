"""What shrinking a graph has saved, for reports."""

from tinygen.report.table import count, size


def saved_rows(macs: int, const_bytes: int) -> list[tuple[str, str]]:
    """Lines of a table; none where nothing was saved."""
    if not macs and not const_bytes:
        return []
    return [("removed", f"{count(macs)} MACs and {size(const_bytes)} of weights without effect on the outputs")]
