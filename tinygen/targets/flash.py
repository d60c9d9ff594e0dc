"""How a core gets its code and constants out of flash: what a read waits, and which reads caches spare."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_MOST_READS_OF_A_LINE = 64  # as the counting plugin keeps them


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FlashCache(_Frozen):
    """Lines of what was read, of which the one that was used longest ago makes room."""

    lines: int = Field(gt=0, le=1 << 16)
    bytes: int = Field(gt=0, le=1 << 10)  # of a line, which is filled read by read, as parts of it are asked for
    ways: int | None = Field(default=None, gt=0)  # lines that an address may lie in; None: all

    @property
    def associativity(self) -> int:
        """Lines of a set."""
        return self.ways or self.lines


class Flash(_Frozen):
    """The memory of code and constants at the clock that cycles are modelled for; nothing is read ahead."""

    clock_hz: int = Field(gt=0, lt=1 << 32)
    wait: int = Field(ge=0, le=64)  # wait states of a read at this clock, cycles
    width: int = Field(gt=0, le=1 << 8)  # bytes of a read
    icache: FlashCache | None = None  # None: what was read last remains
    dcache: FlashCache | None = None
    source: str  # the documents that all of it was taken from

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.width & (self.width - 1):
            raise ValueError(f"width is {self.width}, expected a power of 2")
        for name, cache in (("icache", self.instruction_cache), ("dcache", self.data_cache)):
            problem = self._cache_problem(cache)
            if problem:
                raise ValueError(f"{name}: {problem}")
        return self

    def _cache_problem(self, cache: FlashCache) -> str | None:
        if cache.bytes & (cache.bytes - 1) or cache.bytes < self.width:
            return f"bytes is {cache.bytes}, expected a power of 2 of at least the width {self.width}"
        if cache.bytes // self.width > _MOST_READS_OF_A_LINE:
            return f"bytes is {cache.bytes}, expected at most {_MOST_READS_OF_A_LINE} reads of {self.width}"
        if cache.lines % cache.associativity:
            return f"ways is {cache.ways}, expected a divisor of the {cache.lines} lines"
        return None

    @property
    def instruction_cache(self) -> FlashCache:
        """What instructions are fetched through: without a cache the last read."""
        return self.icache or FlashCache(lines=1, bytes=self.width)

    @property
    def data_cache(self) -> FlashCache:
        """What loads go through."""
        return self.dcache or FlashCache(lines=1, bytes=self.width)
