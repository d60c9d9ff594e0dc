"""Layers whose weights stand in flash in four or two bits: their stream is expanded to scratch for a native kernel.

Weights w of b bits stand there as w + 2**(b-1), which is never negative, so that all of a word are found by one
subtraction: in lanes of 8 bits, of 16 bits where `joining` has made one number of two weights, or of single weights of
16 bits.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.kernels.base import Table
from tinygen.kernels.native.native import NativeKernel, StreamForm
from tinygen.kernels.packing import Packing, packing
from tinygen.kernels.work import Work, work
from tinygen.ops.weighted import Weighted

EXPAND = "tg_expand_stream"
_NOTHING = np.zeros(0, np.int32)
_WIDTHS = (DType.INT4, DType.INT2)  # of one bit there is no weight of 0, which fills groups
_WORD = 4
_VECTOR = 4  # words of codes that cores with MVE expand at once
_BYTES, _HALVES = 0x80808080, 0x80008000  # the highest bits of numbers
# Terms of work that each group has again, where groups are computed one by one.
_PER_CALL = ("call", "pixel", "tap", "operand")


@dataclass(frozen=True)
class Expansion:
    """What tg_expand_stream writes: groups of a stream, from codes of so many bits."""

    form: StreamForm
    groups: int
    bits: int

    @property
    def signs(self) -> int:
        """The highest bits of numbers."""
        return _HALVES if self.form.is_joined or self.form.lane == 16 else _BYTES

    @property
    def at_once(self) -> int:
        """Words of weights that a word of codes holds."""
        return self.form.lane // self.bits

    @property
    def code_words(self) -> int:
        """Of a group."""
        return -(-self.form.weights // self.at_once)

    def work(self) -> Work:
        """group: of the stream; number, word: of it, words that are copied and words of weights; rest: of these, those
        that are no four words of codes; code: words of codes for those of 16 bits."""
        form, groups = self.form, self.groups
        rest = form.weights % (_VECTOR * self.at_once) if form.lane == 8 else 0
        return work(
            self._way,
            call=1,
            group=groups,
            number=groups * (form.before + form.behind),
            word=groups * (form.weights - rest),
            rest=groups * rest,
            code=groups * self.code_words * (form.lane == 16),
        )

    @property
    def _way(self) -> str:
        """Whose prices that has."""
        if self.form.lane == 16:
            return f"{EXPAND} to 16 bits"
        return EXPAND if self.bits == 4 else f"{EXPAND} of {self.bits} bits"

    def numbers(self, stream: Array) -> Array:
        """The words of a stream [groups * form.words] that are no weights, [groups * (form.before + form.behind)]."""
        words = stream.reshape(self.groups, -1)
        first, behind = self.form.before, self.form.before + self.form.weights
        return np.concatenate((words[:, :first], words[:, behind:]), axis=1).reshape(-1)

    def codes(self, stream: Array) -> Array:
        """Weights of a stream [groups * form.words] as words of codes [groups * code_words], as tg_expand.h has them.

        AssertionError where a weight has more bits.
        """
        form, signs = self.form, np.uint32(self.signs)
        words = stream.reshape(self.groups, -1)[:, form.before :][:, : form.weights].view(np.uint32)
        lanes = 0x01010101 if form.lane == 8 else 0x00010001
        bias, mask = (
            np.uint32(lanes * number << form.shift) for number in (1 << (self.bits - 1), (1 << self.bits) - 1)
        )
        sums = ((words ^ signs) + bias) & ~signs
        assert not (sums & ~mask).any(), "weights of so few bits"
        padded = np.pad(sums >> np.uint32(form.shift), ((0, 0), (0, -sums.shape[1] % self.at_once)))
        shifts = (self.bits * np.arange(self.at_once)).astype(np.uint32)
        found = np.bitwise_or.reduce(padded.reshape(self.groups, -1, self.at_once) << shifts, axis=2)
        codes: Array = found.view(np.int32).reshape(-1)
        return codes


@dataclass(frozen=True, eq=False, kw_only=True)
class ExpandedKernel(NativeKernel):
    """A native kernel behind tg_expand_stream: for the whole stream at once, or group by group where that will do."""

    template: ClassVar[str] = "expanded_layer"
    takes_parts: ClassVar[bool] = True
    takes_scratch: ClassVar[bool] = True
    other_headers: ClassVar[tuple[str, ...]] = ("tg_expand.h",)
    has_plain_runner: ClassVar[bool] = False

    inner: NativeKernel  # without operands and elements of its table, which are those of the whole
    expansion: Expansion

    @property
    def header(self) -> str:  # type: ignore[override] # of whatever kernel it is
        """That declares the native kernel."""
        return self.inner.header

    @property
    def runner(self) -> str:
        ways = "" if self.inner.channels_of_group is None else "groups_"
        return f"run_expanded_{ways}{self.function}"

    @property
    def callees(self) -> tuple[str, ...]:
        return EXPAND, *self.inner.callees

    @property
    def templates(self) -> tuple[str, ...]:
        return self.template, *self.inner.templates

    @property
    def numbers(self) -> str:
        """The name of the table of these: after the stream, as tiles of one operator may differ in its order."""
        return self.tables[0].name

    @property
    def codes(self) -> str:
        """The name of the other table."""
        return self.tables[1].name

    @property
    def layout(self) -> str:
        """Of the numbers."""
        return "Of a stream of weights and numbers, which is put together in scratch: see tg_expand.h."

    @property
    def stream_bytes(self) -> int:
        """Of scratch, before that of the native kernel."""
        return expanded_bytes(self.inner, self.expansion)

    @property
    def inner_scratch(self) -> int:
        """Where that begins, in scratch; -1 where it takes none."""
        return self.stream_bytes if self.inner.scratch_bytes else -1

    @property
    def is_priced_by_cycles(self) -> bool:
        return self.inner.is_priced_by_cycles

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """That of the native kernel, and the expansion before it, in each call."""
        return self._with_expansion(self.inner.work(op, rows, columns))

    def works(self, op: Op, rows: int | None = None, columns: int | None = None) -> tuple[Work, ...]:
        return tuple(self._with_expansion(way) for way in self.inner.works(op, rows, columns))

    def _with_expansion(self, way: Work) -> Work:
        expanding = self.expansion.work()
        if self.inner.channels_of_group is None:
            return replace(way, beside=(expanding,))
        groups = self.expansion.groups
        again = {term: amount * groups for term, amount in way.times.items() if term in _PER_CALL}
        expanding = replace(expanding, times={**expanding.times, "call": groups})
        return replace(way, times={**way.times, **again}, beside=(expanding,))


def can_expand(op: Op) -> bool:
    """Whether the weights of a layer are of those widths."""
    return isinstance(op, Weighted) and op.weights.is_constant and op.weights.type.dtype in _WIDTHS


def widened(op: Op) -> Op:
    """A layer that `can_expand`, with the same weights as int8."""
    assert isinstance(op, Weighted)
    return replace(op, weights=_as_int8(op.weights))


def expanded(op: Op, kernels: Iterable[NativeKernel]) -> tuple[ExpandedKernel, ...]:
    """Those of the kernels for the `widened` operator whose streams can be expanded."""
    assert isinstance(op, Weighted)
    bits = op.weights.type.dtype.bits
    return tuple(_kernel(kernel, kernel.stream_form, bits) for kernel in kernels if kernel.stream_form is not None)


def expanded_bytes(inner: NativeKernel, expansion: Expansion) -> int:
    """Of what stands in scratch at once."""
    groups = expansion.groups if inner.channels_of_group is None else 1
    return _WORD * groups * expansion.form.words


def _kernel(inner: NativeKernel, form: StreamForm, bits: int) -> ExpandedKernel:
    (table,) = inner.tables
    (_,) = inner.reads  # runners take one
    expansion = Expansion(form, table.elements // form.words, bits)
    stream = table.data
    assert isinstance(stream, Packing) and expansion.groups * form.words == table.elements

    def part(name: str, group_words: int, words: Callable[[Array], Array]) -> Table:
        packed = packing((EXPAND, name, stream), group_words * expansion.groups, lambda: words(stream.pack()))
        return Table(f"{table.name}_{name}", packed)

    tables = (
        part("numbers", form.before + form.behind, expansion.numbers),
        part("codes", expansion.code_words, expansion.codes),
    )
    return ExpandedKernel(
        function=inner.function,
        reads=inner.reads,
        writes=inner.writes,
        tables=tables,
        scratch_bytes=expanded_bytes(inner, expansion) + inner.scratch_bytes,
        scratch_align=inner.scratch_align,
        updates=inner.updates,
        in_place=inner.in_place,
        inner=replace(inner, reads=(), writes=(), updates=(), in_place=(), tables=(Table(table.name, _NOTHING),)),
        expansion=expansion,
    )


_known: WeakKeyDictionary[Tensor, Tensor] = WeakKeyDictionary()  # parts of one operator have the same weights


def _as_int8(weights: Tensor) -> Tensor:
    if weights not in _known:
        _known[weights] = replace(weights, type=replace(weights.type, dtype=DType.INT8))
    return _known[weights]
