"""Which layers of a network have narrow weights, and what that was decided by."""

from collections.abc import Mapping
from dataclasses import dataclass

from tinygen.quant.ctable import Storage
from tinygen.quant.metric import Metric


@dataclass(frozen=True)
class MixedLayer:
    """A layer whose width was to choose."""

    name: str
    weights: Storage  # chosen
    sensitivity: Mapping[str, float]  # SQNR of the scores in dB with this layer alone at that type, others int8
    saved_bytes: int  # against int8; 0 where that was chosen
    drop: float | None  # of the metric when the layer was tried at int4, after those above; None where it was not


@dataclass(frozen=True)
class Mixture:
    """Widths of weights that were chosen by sensitivity."""

    layers: tuple[MixedLayer, ...]  # those first that lose least for each byte
    metric: Metric
    drop: float
    constant_bytes: int

    @property
    def saved_bytes(self) -> int:
        """Against int8."""
        return sum(layer.saved_bytes for layer in self.layers)
