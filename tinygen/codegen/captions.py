"""Comments of the generated C: where an operator comes from, what it computes, where values lie."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from tinygen.codegen.c_text import comment, inline_comment
from tinygen.ir.graph import Op
from tinygen.ir.rows import Channels, Columns, Rows, all_rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.text import print_op
from tinygen.planner.schedule.schedule import Buffer, BufferKind, Call, Fetch, Fused, Schedule, Store

_SPELLING = 60  # letters


@dataclass(frozen=True, eq=False)
class Captions:
    """Comments on one schedule; `symbols` are the C names of its operators."""

    schedule: Schedule
    symbols: Mapping[Op, str]

    def operator(self, op: Op) -> str:
        """The operator in the user's file, and its line of MLIR."""
        names = {tensor: f"%{name}" for tensor, name in (_constants(op) | self._values).items()}
        place = f"{op.source.file}, operator {op.source.number} ({_first_name(op.source.spelling)})"
        return comment(place, print_op(op, names.__getitem__))

    def spelling(self, op: Op) -> str:
        """The operator in the user's file, short enough for a comment behind an enumerator."""
        text = inline_comment(_first_name(op.source.spelling))
        return text if len(text) <= _SPELLING else f"{text[: _SPELLING - 3]}..."

    def fused(self, fused: Fused, span: str) -> str:
        """What runs in parts, and how much of each value is kept."""
        slices = self.schedule.slices(fused)
        if not slices and all(isinstance(step, (Call, Fetch, Store)) for step in fused.steps):
            fetched = ", on a fetched input" if any(isinstance(step, Fetch) for step in fused.steps) else ""
            stored = ", whose result is stored" if any(isinstance(step, Store) for step in fused.steps) else ""
            return comment(f"{span}{fetched}{stored}.")
        results = {name for op in fused.ops for result in op.results if (name := self._values.get(result))}
        parts = [b for b in self.schedule.buffers if b.kind in (BufferKind.RING, BufferKind.SLICE)]
        kept = [f"  {b.bytes:6}  {self.content(b)}" for b in parts if self.content(b) in results]
        strips = self.schedule.strips(fused)
        across = f", in {strips} strips of columns" if strips > 1 else ""
        heading = f"{span}, in {slices} slices of channels." if slices else f"{span}, row by row{across}."
        return comment(f"{heading} Bytes of each value that are kept at a time:" if kept else heading, *kept)

    def content(self, buffer: Buffer) -> str:
        """What a buffer holds: values are called after the operator that makes them."""
        if values := self._whole_values.get(buffer):
            return ", ".join(values)
        stem, _, use = buffer.name.rpartition(":")  # such as <operator>:scratch
        if stem in self._by_name:
            return f"{self._by_name[stem]}, {use}"
        return self._by_name.get(buffer.name, _first_name(buffer.name))

    def first_content(self, buffer: Buffer) -> str:
        """The same, of several values only the first one."""
        return next(iter(self._whole_values.get(buffer, [])), self.content(buffer))

    def has_several_values(self, buffer: Buffer) -> bool:
        """Whether values are computed in place of others, or lie side by side."""
        return len(self._whole_values.get(buffer, [])) > 1

    def rows(self, calls: Sequence[Call]) -> str | None:
        """The rows or channels that calls of one layer compute, or else read; None where they take whole tensors."""
        for what, tensors in (
            ("Row", [tensor for call in calls for tensor in call.op.results]),
            ("Input row", [tensor for call in calls for tensor in call.op.operands]),
        ):
            pieces = [self.schedule.pieces[tensor] for tensor in tensors if tensor in self.schedule.pieces]
            channels = _spans({piece.channels for piece in pieces if piece.channels})
            if channels:
                return comment(f"{'Channels' if what == 'Row' else 'Input channels'} {', '.join(channels)}.")
            spans = _spans({piece.rows for piece in pieces if piece.rows != all_rows(piece.whole)})
            if spans:
                plural = "" if len(spans) == 1 and spans[0].isdigit() else "s"
                across = _spans({piece.columns for piece in pieces if piece.columns})
                columns = f", columns {', '.join(across)}" if across else ""
                return comment(f"{what}{plural} {', '.join(spans)}{columns}.")
        return None

    @cached_property
    def _values(self) -> dict[Tensor, str]:
        """Short names of the graph's values."""
        names = {tensor: f"input_{index}" for index, tensor in enumerate(self.schedule.graph.input_tensors)}
        names |= {state.tensor: f"state_{index}" for index, state in enumerate(self.schedule.graph.states)}
        windows = {state.window for state in self.schedule.graph.states if not state.is_overwritten}
        for op in self.schedule.graph.ops:
            symbol = self.symbols[op]
            if op.results[0] in windows:
                symbol = f"{names[op.operands[-1]]}_window"  # behind the state stand the new rows
            names |= {result: symbol + (f"_{n}" if n else "") for n, result in enumerate(op.results)}
        return names

    @cached_property
    def _whole_values(self) -> dict[Buffer, list[str]]:
        """The values that lie in each buffer, if entirely."""
        found: dict[Buffer, list[str]] = {}
        fronts = {state.tensor for state in self.schedule.graph.states if not state.is_overwritten}
        for tensor, name in self._values.items():
            if tensor in self.schedule.places and tensor not in fronts:
                found.setdefault(self.schedule.places[tensor].buffer, []).append(name)
        return found

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """Short names by those that the planner gives to buffers."""
        return {op.name: symbol for op, symbol in self.symbols.items()} | {
            tensor.name: name for tensor, name in self._values.items()
        }


def _constants(op: Op) -> dict[Tensor, str]:
    """Constant operands, called after their fields: weights, bias."""
    names: dict[Tensor, str] = {}
    for field in fields(op):
        value = getattr(op, field.name)
        if isinstance(value, Tensor):
            names[value] = field.name
        elif isinstance(value, tuple):
            names |= {item: f"{field.name}_{n}" for n, item in enumerate(value) if isinstance(item, Tensor)}
    return {tensor: name for tensor, name in names.items() if tensor.is_constant}


def _first_name(spelling: str) -> str:
    """Without all but the first of the names that a converter joins for a fused operator."""
    return re.sub(r";[^']*", ";...", spelling)


def _spans(rows: Iterable[Rows] | Iterable[Columns] | Iterable[Channels]) -> list[str]:
    """Rows, columns or channels that follow each other as one span each: 0, 2 to 5."""
    merged: list[tuple[int, int]] = []
    for first, end in sorted((span.first, span.end) for span in rows):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((first, end))
    return [str(first) if end - first == 1 else f"{first} to {end - 1}" for first, end in merged]
