"""Kernels in a memory of their own: what `tinygen compile` says of them, and what they gain."""

from collections.abc import Iterator
from dataclasses import dataclass

from tinygen.planner.schedule.schedule import HotCode
from tinygen.report.bench import Bench
from tinygen.report.table import count, size


@dataclass(frozen=True)
class HotCodeSummary:
    """What lies there, as it is planned."""

    memory: str
    files: tuple[str, ...]  # C files without their ending; empty where no kernel is there
    estimated_bytes: int  # of their code, at most
    room_bytes: int  # that arenas and a program around the model leave
    share: float  # of the modelled instructions of all kernels

    @property
    def rows(self) -> Iterator[tuple[str, str]]:
        """For a table of facts."""
        yield "hot code", self._text(f"at most {size(self.estimated_bytes)}")

    def _text(self, bytes: str) -> str:
        left = f"{count(self.room_bytes)} bytes that are left of {self.memory}"
        if not self.files:
            return f"none: no kernel that gains by it has room in the {left}"
        return f"{bytes} of the {left}, with {self.share:.1%} of the kernels' instructions"


@dataclass(frozen=True)
class HotCodeGain(HotCodeSummary):
    """The same as it was measured, beside a program that has all code where code is."""

    code_bytes: int | None = None  # None where nothing was linked
    cycles: int | None = None  # modelled; None as those before where nothing models them
    cycles_before: int | None = None
    flash_fetches_before: int | None = None

    @property
    def rows(self) -> Iterator[tuple[str, str]]:
        """What lies there, and what that saves."""
        measured = "not measured: part" if self.code_bytes is None else size(self.code_bytes)
        yield "hot code", self._text(measured)
        if self.files:
            yield "saved by it", self._saved()

    def _saved(self) -> str:
        if self.cycles is None or self.cycles_before is None:
            return "not modelled: the board's file does not describe its flash (docs/cycles.md)"
        saved = 1 - self.cycles / self.cycles_before
        before = f"{count(self.cycles_before)} modelled cycles with {count(self.flash_fetches_before)} flash reads"
        return f"{saved:.1%} of {before}" if saved >= 0 else f"nothing: {-saved:.1%} more than {before}"


def hot_code_summary(found: HotCode | None) -> HotCodeSummary | None:
    """None where no memory was named."""
    return None if found is None else _planned(found)


def _planned(found: HotCode) -> HotCodeSummary:
    return HotCodeSummary(found.memory.name, found.files, found.bytes, found.room_bytes, found.share)


def hot_code_gain(found: HotCode, measured: Bench, before: Bench | None) -> HotCodeGain:
    """What was measured with hot code and, where the board describes its flash, `before` without any."""
    return HotCodeGain(
        **vars(_planned(found)),
        code_bytes=measured.hot_code_bytes,
        cycles=None if before is None else measured.cycles_model,
        cycles_before=None if before is None else before.cycles_model,
        flash_fetches_before=None if before is None else before.flash_fetches,
    )
