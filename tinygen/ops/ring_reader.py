"""What operators have in common that read the rows of a ring and new ones behind them."""

from abc import abstractmethod
from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.checks import check_activations, check_filters, check_same_quantization
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class RingReader(Op):
    """Reads rows that lie as `Ring` says."""

    input: Tensor  # [1, new rows, columns, channels]
    ring: Tensor  # [1, rows, columns, channels]
    place: Tensor  # [1], int32

    @property
    def rows_in_order(self) -> Ring:
        """What is read."""
        return Ring(self.ring, self.place, self.input)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        self.rows_in_order.verify()


@dataclass(frozen=True, eq=False, kw_only=True)
class RingLayer(RingReader, Weighted):
    """A layer of int8 on some rows at a time: `taps` of them."""

    stride: int  # rows between results
    dilation: int  # rows between taps

    @property
    @abstractmethod
    def taps(self) -> int:
        """Rows that a result is made of."""

    @property
    def outputs(self) -> int:
        """Results; 0 where rows are too few."""
        return max(0, (self.rows_in_order.rows - (self.taps - 1) * self.dilation - 1) // self.stride + 1)

    def verify(self) -> None:
        super().verify()
        check_activations(("ring", self.ring), ("input", self.input), ("output", self.output))
        check_same_quantization(self.ring, self.input)
        check_filters(self.weights, self.bias, self.output, self.channels, self.channel_axis)
        self._verify_rows()
        self.clamp.verify(self.output.type)
        if self.output.type.dtype is not DType.INT8:
            raise ValueError(f"output '{self.output.name}' is {self.output.type.dtype.value}, i8 was expected")

    @abstractmethod
    def _verify_rows(self) -> None:
        """Raise ValueError unless weights and result fit the rows."""
