"""What `--quant-dynamic` and `--quant-search` make of a network."""

from dataclasses import dataclass

from tinygen.ir.graph import Graph
from tinygen.quant.dynamic.gain import Pricing
from tinygen.quant.dynamic.layers import DynamicNetwork, quantize_layers
from tinygen.quant.dynamic.scheme import DynamicOptions
from tinygen.quant.dynamic.search import SchemeSearch, search
from tinygen.targets import Board


@dataclass(frozen=True)
class Applied:
    """The network, and how its scheme was found."""

    quantized: DynamicNetwork
    search: SchemeSearch | None

    @property
    def graph(self) -> Graph:
        """The network with layers of int8."""
        return self.quantized.graph

    @property
    def is_changed(self) -> bool:
        """Whether there are such layers that the file does not have."""
        return any(decision.is_int8 for decision in self.quantized.decisions)


def apply(graph: Graph, options: DynamicOptions, board: Board, price: Pricing) -> Applied:
    """The network by the given scheme, or the best one of all; `price` decides what gains. DynamicError."""
    if options.search is not None:
        found = search(graph, options, board, price, options.search)
        return Applied(found.best, found)
    return Applied(quantize_layers(graph, options, board, price, options.scheme), None)
