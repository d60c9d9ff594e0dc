"""Accuracy as a table: of a network, beside its float network, with what of the difference chance explains."""

from tinygen.quant.accuracy import AccuracyMeasure, Estimate, Measured, ScoredAccuracy
from tinygen.report.charts import matrix
from tinygen.report.picture import Picture
from tinygen.report.table import ShownTable, count, listing

_NAMES = {AccuracyMeasure.TOP1: "top-1", AccuracyMeasure.TOP5: "top-5", AccuracyMeasure.AUC: "AUC"}


def accuracy_table(found: ScoredAccuracy) -> ShownTable:
    """A line a measure."""
    title = (
        f"Accuracy on {count(found.samples)} labelled samples of {count(found.classes)} classes, with 95 % intervals; "
        f"always the commonest class: {found.commonest:.1%}"
    )
    if all(measured.float_network is None for measured in found.measures):
        rows = [(_NAMES[each.measure], _estimate(each.network)) for each in found.measures]
        return listing(("", "this network"), rows, title)
    columns = ("", "float", "quantized", "difference", "p", "")
    return listing(columns, [_row(each) for each in found.measures], title)


def confusion_pictures(found: ScoredAccuracy | None) -> tuple[Picture, ...]:
    """Which classes are taken for which; none where that was not counted."""
    if found is None or not found.confusion:
        return ()
    pairs = [
        (label, answer, number)
        for label, answers in enumerate(found.confusion)
        for answer, number in enumerate(answers)
        if number and label != answer
    ]
    pairs.sort(key=lambda pair: -pair[2])
    made = Picture(
        title="Confusion matrix",
        explains="Samples by their label, from top to bottom, and by the class with the largest score; the darker a "
        "cell, the larger its share of the label's samples. Right ones are on the diagonal.",
        svg=matrix(found.confusion, "answer", "label", "Samples by label and answer; the table has those that differ."),
        table=listing(("label", "answer", "samples"), pairs, "Answers that differ from the label, the commonest first"),
    )
    return (made,)


def _row(each: Measured) -> tuple[str, ...]:
    real = "" if each.float_network is None else _estimate(each.float_network)
    difference = "" if each.difference is None else f"{100 * each.difference:+.2f} points"
    p = "" if each.p_value is None else f"{each.p_value:.2g}"
    said = {None: "", True: "chance explains it", False: "more than chance"}[each.by_chance]
    return _NAMES[each.measure], real, _estimate(each.network), difference, p, said


def _estimate(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.1%}"
    return f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"
