"""Padding with a constant."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.cmsis_nn.shapes import Dims
from tinygen.ops.pad import Pad

_RANK = 4  # of the function


@dataclass(frozen=True, eq=False, kw_only=True)
class PadS8(Kernel):
    """arm_pad_s8, on bytes."""

    template: ClassVar[str] = "pad_s8"

    pad_value: int
    input_size: Dims
    pre_pad: Dims
    post_pad: Dims


@dataclass(frozen=True)
class _Axis:
    size: int
    before: int
    after: int

    def times(self, factor: int) -> "_Axis":
        """The axis with `factor` elements for each."""
        return _Axis(self.size * factor, self.before * factor, self.after * factor)

    @property
    def is_padded(self) -> bool:
        """Whether something is added."""
        return bool(self.before or self.after)


def lower_pad(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The padding kernel for `op`; elements wider than a byte are padded with zero bytes."""
    assert isinstance(op, Pad)
    axes = _byte_axes(op)
    if len(axes) > _RANK:
        raise UnsupportedModelError(
            f"{op.source}: pads {len(axes)} axes that are apart, at most {_RANK} were expected. Pad in two steps."
        )
    axes = [_Axis(1, 0, 0)] * (_RANK - len(axes)) + axes
    return PadS8(
        function="arm_pad_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        pad_value=int(op.value),
        input_size=Dims(*(axis.size for axis in axes)),
        pre_pad=Dims(*(axis.before for axis in axes)),
        post_pad=Dims(*(axis.after for axis in axes)),
    )


def _byte_axes(op: Pad) -> list[_Axis]:
    """The axes in bytes, each one that is not padded joined to the one before it."""
    axes: list[_Axis] = []
    for axis in map(_Axis, op.input.shape, op.before, op.after):
        if axes and not axis.is_padded:
            axes[-1] = axes[-1].times(axis.size)
        else:
            axes.append(axis)
    return [*axes[:-1], axes[-1].times(op.input.type.dtype.bytes)]


LOWERINGS: Lowerings = {Pad: lower_pad}
