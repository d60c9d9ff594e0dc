"""Layers as their features or channels come."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.tinygen_c.packed import bias_tables
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.partial_products import AddChannelProducts, AddProducts, ScaleProducts

_ADD_FEATURES, _ADD_CHANNELS = "tg_add_products_s8", "tg_add_channel_products_s8"
_SCALE = "tg_scale_products_s8"


def adding_features(outputs: float, macs: float, calls: int = 1) -> Work:
    """Of adding products of some features to the sums of a layer."""
    return work(_ADD_FEATURES, call=calls, output=calls * outputs, mac=macs)


def adding_channels(outputs: float, features: int) -> Work:
    """Of adding products of vectors of so many elements to sums, which are filled with zeros to whole vectors."""
    return work(
        _ADD_CHANNELS,
        call=1,
        output=outputs,
        mac=outputs * features,
        rest=outputs * (-features % 16),
        single=outputs * (features % 4),
    )


def scaling(outputs: float, units: int) -> Work:
    """Of turning sums of products into results."""
    return work(_SCALE, call=1, pixel=outputs / units, output=outputs)


@dataclass(frozen=True, eq=False, kw_only=True)
class AddProductsS8(Kernel):
    """tg_add_products_s8; the first part clears the sums."""

    template: ClassVar[str] = "add_products_s8"
    header: ClassVar[str] = "tg_partial_products.h"

    units: int
    features: int
    count: int
    input_offset: int
    is_first: bool
    first_feature: int
    descending: bool

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        extent = Extent.of(op, rows, columns)
        return adding_features(extent.outputs, op.macs * extent.share)


@dataclass(frozen=True, eq=False, kw_only=True)
class AddChannelProductsS8(Kernel):
    """tg_add_channel_products_s8; the first part clears the sums."""

    template: ClassVar[str] = "add_channel_products_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_partial_products.h"

    units: int
    features: int
    vectors: int
    is_first: bool

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        return adding_channels(Extent.of(op, rows, columns).outputs, self.features)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleProductsS8(Kernel):
    """tg_scale_products_s8."""

    template: ClassVar[str] = "scale_products_s8"
    header: ClassVar[str] = "tg_partial_products.h"

    units: int
    vectors: int
    zero_point: int
    activation: Clamp

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        return scaling(Extent.of(op, rows, columns).outputs, self.units)


def lower_add_products(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Add a part to the sums, which lie where they lay before."""
    assert isinstance(op, AddProducts) and op.weights.data is not None
    units, features = op.weights.shape
    return AddProductsS8(
        function=_ADD_FEATURES,
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("weights", op.weights.data),),
        updates=() if op.before is None else (op.before,),
        units=units,
        features=features,
        count=op.input.type.elements,
        input_offset=-op.input.type.zero_point,
        is_first=op.before is None,
        first_feature=op.first_feature if op.before is None else 0,
        descending=op.descending,
    )


def lower_add_channel_products(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Add a slice of the channels to the sums, which lie where they lay before."""
    assert isinstance(op, AddChannelProducts) and op.weights.data is not None
    units, features = op.weights.shape
    return AddChannelProductsS8(
        function=_ADD_CHANNELS,
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("weights", op.weights.data),),
        updates=() if op.before is None else (op.before,),
        units=units,
        features=features,
        vectors=op.vectors,
        is_first=op.before is None,
    )


def lower_scale_products(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Finish a layer."""
    assert isinstance(op, ScaleProducts)
    return ScaleProductsS8(
        function=_SCALE,
        reads=(op.input,),
        writes=(op.output,),
        tables=(
            *bias_tables(op.bias),
            Table("multiplier", np.array(op.multipliers, np.int32)),
            Table("shift", np.array(op.shifts, np.int32)),
        ),
        units=len(op.multipliers),
        vectors=op.output.type.elements // len(op.multipliers),
        zero_point=op.output.type.zero_point,
        activation=op.clamp,
    )


LOWERINGS: Lowerings = {
    AddChannelProducts: lower_add_channel_products,
    AddProducts: lower_add_products,
    ScaleProducts: lower_scale_products,
}
