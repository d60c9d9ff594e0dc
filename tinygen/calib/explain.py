"""Why a table has the engines that it has: costs of every operator on every engine of the board."""

from tinygen.calib.calibrator import Calibration
from tinygen.calib.model import prepared
from tinygen.calib.supports import why_not
from tinygen.ir.graph import Graph, Op
from tinygen.ops.precision import conversion
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import CTable, OpEntry
from tinygen.quant.engines.costs import EngineCosts, cast_cycles, real_ops
from tinygen.quant.points import precision_points
from tinygen.report.engines import Alternative, CastRow, EngineRow, Explanation
from tinygen.targets.engine import Engine

_NO_ENTRY = OpEntry()


def explain(calibration: Calibration) -> Explanation:
    """The engines of a table that has some."""
    table, quantized = calibration.table, calibration.graph
    graph = prepared(calibration.model.graph, "equalize" in table.preparation)
    by_name = {op.name: op for op in quantized.ops}
    points = {name: len(precision_points(op)) for name, op in by_name.items()}
    reading = _Reading(graph, table)
    tensors = {tensor.name: tensor for tensor in quantized.tensors}
    casts = tuple(
        CastRow(
            tensor=cast.tensor,
            source=cast.source,
            destination=cast.destination,
            source_type=table.tensors[cast.tensor].dtype.value,
            destination_type=table.tensors[cast.result].dtype.value,
            cycles=cast_cycles(tensors[cast.tensor], table.engines),
            points=points[cast.result],
        )
        for cast in table.casts
    )
    rows = tuple(reading.row(index, points[op.name]) for index, op in enumerate(reading.ops))
    ports = [*(conversion(p.tensor, is_input=True) for p in quantized.inputs)]
    ports += [conversion(p.tensor, is_input=False) for p in quantized.outputs]
    record = table.assignment
    return Explanation(
        model=calibration.model.path.name,
        operators=rows,
        casts=casts,
        cycles=sum(row.cycles for row in rows) + sum(row.cycles for row in casts),
        points=sum(points.values()) + sum(map(len, ports)),
        metric=None if record is None else record.metric,
        drop=None if record is None else record.drop,
        max_drop=None if record is None else record.max_drop,
    )


class _Reading:
    """A table's assignment with what else could be."""

    def __init__(self, graph: Graph, table: CTable) -> None:
        self._table, self._board = table, table.engines
        self.ops = real_ops(graph)
        labels = [engine.label for engine in self._board]
        self._choice = [labels.index(self._entry(op).engine) for op in self.ops]
        settings = Settings()
        self._reasons = [[why_not(op, engine, settings) for engine in self._board] for op in self.ops]
        allowed = tuple(
            tuple(index for index, reason in enumerate(reasons) if reason is None or index == chosen)
            for reasons, chosen in zip(self._reasons, self._choice, strict=True)
        )
        self._costs = EngineCosts(graph, self._board, allowed, {})
        self._total = self._costs.total(self._choice)

    def row(self, index: int, points: int) -> EngineRow:
        """An operator with its engine and the others."""
        op, chosen = self.ops[index], self._choice[index]
        engine = self._board[chosen]
        others = [other for other in range(len(self._board)) if other != chosen]
        return EngineRow(
            operator=op.source.spelling.split(" ")[0],
            name=op.name,
            engine=engine.label,
            kind=engine.kind.value,
            datapath=str(engine.path),
            cycles=self._costs.of_op(index, chosen),
            sqnr_db=self._ratio(op, engine),
            points=points,
            alternatives=tuple(self._alternative(index, other) for other in others),
        )

    def _alternative(self, index: int, other: int) -> Alternative:
        op, engine, reason = self.ops[index], self._board[other], self._reasons[index][other]
        ratio = self._ratio(op, engine)
        if reason is not None:
            return Alternative(engine.label, None, ratio, reason)
        changed = [*self._choice[:index], other, *self._choice[index + 1 :]]
        more = self._costs.total(changed) - self._total
        cycles = self._costs.of_op(index, other)
        if more >= 0:
            return Alternative(engine.label, cycles, ratio, f"+{round(more):,} cycles")
        bound = "" if ratio is None else f" (SQNR {ratio:.1f} dB)"
        why = f"loses too much{bound}" if self._is_bounded else "another one was asked for"
        return Alternative(engine.label, cycles, ratio, why)

    @property
    def _is_bounded(self) -> bool:
        """Whether accuracy has decided: only then is sensitivity measured."""
        return any(entry.sensitivity for entry in self._table.ops.values())

    def _ratio(self, op: Op, engine: Engine) -> float | None:
        return self._entry(op).sensitivity.get(engine.label)

    def _entry(self, op: Op) -> OpEntry:
        return self._table.ops.get(op.name, _NO_ENTRY)
