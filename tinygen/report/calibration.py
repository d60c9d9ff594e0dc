"""What calibration found, and what stands in CTables, as tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen.quant.calibrate import Settings
from tinygen.quant.compare import Difference
from tinygen.quant.ctable import CTable, TensorEntry
from tinygen.quant.held_out import HeldOut, Nearness
from tinygen.quant.mixture import MixedLayer, Mixture
from tinygen.quant.search import Trial
from tinygen.quant.widths import ALL_INT8, Widths
from tinygen.report.accuracy import accuracy_table, confusion_pictures
from tinygen.report.engines import Explanation, engine_tables
from tinygen.report.layer_errors import LayerError, layer_error_bars, layer_error_table
from tinygen.report.picture import Picture
from tinygen.report.result import Result
from tinygen.report.table import ShownTable, count, facts, listing, short_name, size


@dataclass(frozen=True, repr=False)
class CalibrationReport(Result):
    """The result of `tinygen calibrate`."""

    model: str
    ctable: Path | None  # file; None where it is not written
    samples: int
    policy: str
    tensors: int
    seconds: float
    forward: str  # what computed the float network: numpy or onnxruntime
    groups: tuple[str, ...]  # tensors that --search chose policies for; empty without it
    layers: tuple[str, ...]  # whose weights it chose types for; empty without --flash
    trials: tuple[Trial, ...]  # all that it measured
    mixed: Mixture | None = None  # what --mixed chose
    engines: Explanation | None = None  # of the board, where it has such
    held_out: HeldOut | None = None  # how good that is; None of a single sample
    warnings: tuple[str, ...] = ()  # where it is bad
    errors: tuple[LayerError, ...] = ()  # of each layer, where --errors asks for them

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """How good the table is, what was chosen, and by which engines operators are computed."""
        engines = () if self.engines is None else engine_tables(self.engines)
        return (*calibration_tables(self), *engines)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The error of each layer, and which classes are taken for which."""
        confusion = confusion_pictures(None if self.held_out is None else self.held_out.accuracy)
        return (*([layer_error_bars(self.errors)] if self.errors else []), *confusion)


@dataclass(frozen=True, repr=False)
class RefinementReport(Result):
    """The result of `tinygen calibrate --refine`."""

    ctable: Path | None  # file; None where it is not written
    changes: tuple[Difference, ...]

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """What was repaired."""
        return (difference_table(self.changes),)


def calibration_tables(report: CalibrationReport) -> tuple[ShownTable, ...]:
    """Facts on a calibration, and the widths it chose."""
    rows = [
        ("samples", count(report.samples)),
        ("policy", report.policy),
        ("tensors", count(report.tensors)),
        ("time", f"{report.seconds:.1f} s, float network by {report.forward}"),
    ]
    if report.ctable is not None:
        rows.append(("table", str(report.ctable)))
    if report.held_out is not None:
        held = report.held_out
        rows.append((f"{count(held.samples)} held out", _kept(held.found, held.samples, held.float_right)))
    if report.trials:
        best = max(trial.score for trial in report.trials)
        rows.append(("search", f"{count(len(report.trials))} combinations, best score {best:.4g}"))
    others = [layer_error_table(report.errors)] if report.errors else []
    if report.held_out is not None and report.held_out.accuracy is not None:
        others.insert(0, accuracy_table(report.held_out.accuracy))
    if report.mixed is None:
        return (facts(f"calibration of {report.model}", rows), *others)
    rows.append(("constants", f"{size(report.mixed.constant_bytes)}, {count(report.mixed.saved_bytes)} saved"))
    rows.append((f"drop of {report.mixed.metric.value}", f"{report.mixed.drop:.2f}"))
    columns = ("layer", "int8, dB", "int4, dB", "weights", "bytes saved", "drop")
    layers = listing(columns, [_layer(layer) for layer in report.mixed.layers], "layers, the least loss per byte first")
    return facts(f"calibration of {report.model}", rows), layers, *others


def warnings(model: str, settings: Settings, held: HeldOut) -> tuple[str, ...]:
    """What people should know of settings that lose much, with what loses less; nothing where they do not."""
    if not held.loses and held.better is None:
        return ()
    options = ", ".join([f"policy {settings}", *_widths(settings.widths)])
    found = (
        f"{model}, {options}: on {count(held.samples)} samples that ranges were not made of, the scores have "
        f"{_kept(held.found, held.samples, held.float_right)}."
    )
    if held.is_at_chance and held.chance_right is not None:
        found += f" That is no more than chance: always the commonest class has {count(held.chance_right)}."
    elif held.is_at_chance:
        found += " A constant would be as near to the float network."
    if held.better is None:
        return (f"{found} No other policy halves that noise. Train the network for it, or choose other engines.",)
    better = held.better
    return (f"{found} {better.options} has {_kept(better.found, held.samples, None)}. Choose that.",)


def _widths(widths: Widths) -> list[str]:
    """As on the command line, where they are not all int8."""
    found = [] if widths.default is ALL_INT8.default else [f"--weights {widths.default}"]
    if widths.activations is not ALL_INT8.activations:
        found.append(f"--activations {widths.activations}")
    return [*found, *(f"--op {other.pattern}={other}" for other in widths.overrides)]


def _kept(found: Nearness, samples: int, float_right: int | None) -> str:
    """In a few words."""
    words = [f"SQNR {found.sqnr_db:.1f} dB", f"cosine {found.cosine:.4f}"]
    if found.right is not None:
        of_float = "" if float_right is None else f" (float {count(float_right)})"
        words.append(f"{count(found.right)} right of {count(samples)}{of_float}")
    return ", ".join(words)


def _layer(layer: MixedLayer) -> tuple[str | int, ...]:
    ratios = [f"{layer.sensitivity[name]:.2f}" for name in ("int8", "int4")]
    drop = "-" if layer.drop is None else f"{layer.drop:.2f}"
    return short_name(layer.name), *ratios, layer.weights.value, layer.saved_bytes, drop


def policy_of(table: CTable) -> str:
    """How a table says that its ranges were chosen."""
    return "" if table.calibration is None else table.calibration.policy


def ctable_tables(table: CTable) -> tuple[ShownTable, ...]:
    """The table for people."""
    target = "any" if table.target is None else table.target.board
    record = table.calibration
    head = [
        ("model", f"{table.model.name} ({table.model.frontend}, sha256 {table.model.sha256[:12]}...)"),
        ("target", target),
        ("calibration", "none" if record is None else f"{count(record.samples)} samples, policy {record.policy}"),
    ]
    if table.engines:
        used = Counter(entry.engine for entry in table.ops.values())
        head.append(("operators on", ", ".join(f"{name} {count(number)}" for name, number in used.items())))
        head.append(("casts", count(len(table.casts))))
    tensors = [_row(name, entry) for name, entry in table.tensors.items()]
    columns = ("tensor", "kind", "type", "scheme", "scale", "zero point", "range", "policy")
    return facts("CTable", head), listing(columns, tensors, f"{len(tensors)} tensors")


def _row(name: str, entry: TensorEntry) -> tuple[str, ...]:
    many = len(entry.scale) > 1
    scale = f"{min(entry.scale):.4g} .. {max(entry.scale):.4g}" if many else f"{entry.scale[0]:.6g}"
    zero_point = str(entry.zero_point[0]) if len(set(entry.zero_point)) == 1 else "several"
    range = "" if entry.range is None else f"{entry.range[0]:.4g} .. {entry.range[1]:.4g}"
    policy = (entry.policy or "") + (" (locked)" if entry.locked else "")
    return short_name(name), entry.kind.value, entry.dtype.value, entry.scheme.value, scale, zero_point, range, policy


def difference_table(differences: Sequence[Difference]) -> ShownTable:
    """What differs between two tables."""
    rows = [(d.part, short_name(d.name), d.field, d.first, d.second) for d in differences]
    return listing(("part", "name", "field", "first", "second"), rows, f"{len(rows)} differences")
