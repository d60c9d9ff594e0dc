"""The small network of `weight_network` with palettes and sparse weights, in every way there is."""

from collections.abc import Callable, Mapping
from pathlib import Path

import onnx

from tests.support.weight_network import network
from tinygen.compress import (
    CompressionGranularity,
    DType,
    KeptOf,
    Pruning,
    QScheme,
    palettize_weights,
    prune_weights,
    quantize_weights,
)

Make = Callable[[onnx.ModelProto], onnx.ModelProto]
_THRESHOLD = 280
_BLOCK = CompressionGranularity.PER_BLOCK


def _palette(bits: int, **chosen: object) -> Make:
    return lambda model: palettize_weights(model, bits, weight_num_threshold=_THRESHOLD, **chosen)  # type: ignore[arg-type]


def _quantized(dtype: DType, **chosen: object) -> Make:
    return lambda model: quantize_weights(model, dtype, weight_num_threshold=_THRESHOLD, **chosen)  # type: ignore[arg-type]


def _pruned(**chosen: object) -> Make:
    return lambda model: prune_weights(model, weight_num_threshold=_THRESHOLD, **chosen)  # type: ignore[arg-type]


MODES: Mapping[str, Make] = {
    "palette1-channels": _palette(1, group_size=1),
    "palette2-scales": _palette(2, channel_scales=True),
    "palette3": _palette(3),
    "palette4-groups": _palette(4, group_size=2, channel_scales=True),
    "palette6": _palette(6),
    "palette8": _palette(8),
    "pruned": _pruned(sparsity=0.5),
    "pruned-2:4": _pruned(n_of_m=(2, 4)),
    "pruned-palette3-groups": _palette(3, group_size=2, pruning=Pruning(0.6)),
    "pruned-palette6": _palette(6, pruning=Pruning(n_of_m=KeptOf(1, 4))),
    "pruned-int8": _quantized(DType.INT8, pruning=Pruning(0.5)),
    "pruned-int4": _quantized(DType.INT4, pruning=Pruning(0.75)),
    "pruned-uint4-block": _quantized(DType.UINT4, qscheme=QScheme.ASYMMETRIC, granularity=_BLOCK, pruning=Pruning(0.5)),
}


def listed(mode: str, folder: Path) -> Path:
    """The network's file with such weights."""
    onnx.save(MODES[mode](network()), folder / "network.onnx")
    return folder / "network.onnx"
