"""What a comparison found: the document and tables of `tinygen validate`."""

from dataclasses import dataclass

from tinygen.errors import MismatchError
from tinygen.report.accuracy import accuracy_table, confusion_pictures
from tinygen.report.charts import ChartBar, bars
from tinygen.report.picture import Picture
from tinygen.report.result import Result
from tinygen.report.table import ShownTable, count, facts, listing, short_name
from tinygen.verify.validate import Layer, Permitted, Validation


@dataclass(frozen=True, repr=False, kw_only=True)
class ValidationReport(Result, Validation):
    """The result of `tinygen validate`."""

    model: str  # file name

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The verdict, roundings that are permitted, the accuracy, and each layer where that was asked for."""
        made = [validation_table(self)]
        if self.permitted:
            made.append(permitted_table(self.permitted))
        if self.accuracy is not None:
            made.append(accuracy_table(self.accuracy))
        if self.layers:
            made.append(layer_table(self.layers))
        return tuple(made)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """How far layers are from the references, and which classes are taken for which."""
        return (*([layer_picture(self.layers)] if self.layers else []), *confusion_pictures(self.accuracy))

    def check_exact(self) -> None:
        """Raise MismatchError where something differs."""
        if self.exact:
            return
        where = f"{self.model} on {self.target}"
        what = f"{self.mismatches} elements differ from {self.oracle.value} in {self.samples} samples, 0 were expected."
        first = self.first_mismatch
        at = (
            ""
            if first is None
            else f" First: {first.operator} '{first.name}' ({first.side.value}). Please report this."
        )
        raise MismatchError(f"{where}: {what}{at}")


def validation_table(found: ValidationReport) -> ShownTable:
    """The verdict."""
    rows = [
        ("exact", "yes" if found.exact else "no"),
        ("samples", count(found.samples)),
        ("mismatches", count(found.mismatches)),
        ("largest difference", _difference(found.max_abs_diff)),
        *([("permitted roundings", _permitted(found.permitted))] if found.permitted else []),
        ("oracle", found.oracle.value),
        ("kernels", found.kernels),
    ]
    return facts(f"{found.model} on {found.target}", rows)


def permitted_table(permitted: tuple[Permitted, ...]) -> ShownTable:
    """Operators where the oracle rounds in another way that is allowed."""
    columns = ("", "operator", "name", "elements", "samples", "the oracle's result is")
    rows = (
        (
            "" if each.index is None else each.index,
            each.operator,
            short_name(each.name),
            each.elements,
            each.samples,
            each.rounding.value,
        )
        for each in permitted
    )
    return listing(columns, rows, "Permitted roundings")


def _permitted(permitted: tuple[Permitted, ...]) -> str:
    elements, places = sum(each.elements for each in permitted), len(permitted)
    return f"{count(elements)} elements of {places} {'tensor' if places == 1 else 'tensors'}"


def _difference(value: float) -> str:
    """In LSB where it is of integers."""
    return f"{value} LSB" if isinstance(value, int) else _number(value)


def layer_picture(layers: tuple[Layer, ...]) -> Picture:
    """Differences of each operator."""
    drawn = [ChartBar(_layer_name(layer), layer.max_abs_diff, _number(layer.max_abs_diff)) for layer in layers]
    drawn_oracle = [
        ChartBar(f"{_layer_name(layer)}, oracle", layer.oracle_max_abs_diff, _number(layer.oracle_max_abs_diff), False)
        for layer in layers
        if layer.oracle_max_abs_diff
    ]
    return Picture(
        title="Largest difference by layer",
        explains="Of the target from the references, in steps of the stored integers (of float layers as they are); "
        "below these, in grey, of the references from the oracle, where there is one. No bar: no difference that is a "
        "number; the table has the mismatches.",
        svg=bars([*drawn, *drawn_oracle], says="Largest difference by layer"),
        table=layer_table(layers),
    )


def _layer_name(layer: Layer) -> str:
    return layer.operator if layer.index is None else f"{layer.index} {layer.operator}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2g}"


def layer_table(layers: tuple[Layer, ...]) -> ShownTable:
    """Differences of each operator: of the target from the references, of the references from the oracle."""
    columns = ("", "operator", "name", "kernel", "mismatches", "difference", "oracle: mismatches", "oracle: difference")
    rows = (
        (
            "" if layer.index is None else layer.index,
            layer.operator,
            short_name(layer.name),
            layer.kernel or "",
            layer.mismatches,
            _number(layer.max_abs_diff),
            layer.oracle_mismatches,
            _number(layer.oracle_max_abs_diff),
        )
        for layer in layers
    )
    return listing(columns, rows, "Target against references; references against the oracle")
