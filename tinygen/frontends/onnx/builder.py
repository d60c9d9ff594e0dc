"""Collects the operators of a graph; gives tensors the order of axes and the quantization that readers ask for."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from tinygen.budget import FOLDED_BYTES, LOOP_WORK, Account
from tinygen.frontends.onnx.raw import RawNode, UnsupportedError
from tinygen.frontends.onnx.values import Form, Order, Pending, Placed, Quantized, Real, type_of
from tinygen.frontends.onnx.widths import Widening
from tinygen.ir.coding import Coding
from tinygen.ir.graph import Op, Source
from tinygen.ir.limits import check_read
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.dynamic_layer import Levels
from tinygen.ops.rescale import Rescale
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose

NHWC: Order = (0, 2, 3, 1)
_LAST: dict[int, Order] = {3: (0, 2, 1), 4: NHWC, 5: (0, 2, 3, 4, 1)}  # channels last, by number of axes


class EarlierOperatorError(ValueError):
    """An operator that turns out not to be compilable when a later one asks for its result."""

    def __init__(self, node: RawNode, reason: str) -> None:
        super().__init__(reason)
        self.node = node


@dataclass(frozen=True)
class Spent:
    """What a model has taken, its inner graphs included, however often it is read."""

    derived: Account = field(default_factory=lambda: Account(FOLDED_BYTES))  # constants that are made while reading
    loops: Account = field(default_factory=lambda: Account(LOOP_WORK))  # operators of loops whose turns are counted


@dataclass
class Builder:
    """Operators in execution order, grown by readers; names are unique."""

    file: str
    onnx_names: frozenset[str]
    has_channels_last: bool = False  # images of inputs and outputs, instead of the file's order
    is_real: bool = False  # the model computes with float32: nothing waits for a quantization
    ops: list[Op] = field(default_factory=list)
    layouts: dict[str, Order] = field(default_factory=dict)  # of tensors that the file has too, by name
    decided: dict[str, str] = field(default_factory=dict)  # by first output of an If: the branch that always runs
    spent: Spent = field(default_factory=Spent)
    levels: dict[Tensor, Levels] = field(default_factory=dict)  # by levels, and by the real numbers made of them again
    stored: dict[Tensor, Placed] = field(default_factory=dict)  # integers, by the real constants they stand for
    _names: set[str] = field(default_factory=set)
    _made: dict[Pending, Placed] = field(default_factory=dict)
    _arranged: dict[tuple[Tensor, Order], Tensor] = field(default_factory=dict)
    _makers: dict[Tensor, Op] = field(default_factory=dict)
    _real_constants: dict[str, Placed] = field(default_factory=dict)
    _wide: dict[Tensor, Tensor] = field(default_factory=dict)  # of int8, as int16

    def source(self, node: RawNode) -> Source:
        """Place of a node in the user's file."""
        return Source(self.file, node.index, node.spelling)

    def add(self, op: Op) -> None:
        """Append an operator that is well formed, in one width; ValueError where it is not."""
        for part in Widening(self.derive, self._wide).of_one(op):
            check_read(part)
            self.ops.append(part)
            self._makers |= dict.fromkeys(part.results, part)

    def maker(self, tensor: Tensor) -> Op | None:
        """The operator that computes a tensor, where one does."""
        return self._makers.get(tensor)

    def port_order(self, rank: int) -> Order:
        """The order of axes of an input or output with that many."""
        is_image = self.has_channels_last and rank in _LAST
        return _LAST[rank] if is_image else tuple(range(rank))

    def claim(self, name: str) -> str:
        """`name` for a tensor that the file has under it, or a new one where it is taken."""
        name = unused(name, self._names)
        self._names.add(name)
        return name

    def claim_all(self, tensors: Iterable[Tensor]) -> None:
        """The names of tensors that are there already."""
        self._names.update(tensor.name for tensor in tensors)

    def derive(self, name: str, role: str) -> str:
        """A name for a tensor that the file does not have."""
        derived = unused(f"{name}:{role}", self._names, self.onnx_names)
        self._names.add(derived)
        return derived

    def constant(self, name: str, data: Array, quant: Quant | None = None, coding: Coding | None = None) -> Tensor:
        """A constant of the IR under a new name."""
        contiguous = np.ascontiguousarray(data).reshape(data.shape)
        contiguous.flags.writeable = False
        if not np.may_share_memory(contiguous, data):
            self.spent.derived.spend(contiguous.nbytes, f"{self.file}, constant '{name}' and those before it")
        return Tensor(name, TensorType(DType.of(data.dtype), data.shape, quant), contiguous, coding=coding)

    def result(self, name: str, shape: tuple[int, ...], quant: Form) -> Tensor:
        """A tensor that an operator will write: int8 or int16 with a quantization, float32 without."""
        return Tensor(name, type_of(shape, quant))

    def real_constant(self, name: str, array: Array, coding: Coding | None = None) -> Placed:
        """A constant of the file as float32 tensor, the same one each time; `coding` is how the file stores it."""
        if name not in self._real_constants:
            with np.errstate(over="ignore"):
                data = array.astype(np.float32, copy=False)  # mapped ones stay in their file
            tensor = self.constant(self.claim(name), data, coding=coding)
            self._real_constants[name] = Placed(tensor, tuple(range(array.ndim)))
        return self._real_constants[name]

    def quantized(self, value: Real) -> Placed:
        """The value in the quantization that it has by itself; UnsupportedError where there is none."""
        if isinstance(value, Quantized):
            return value.placed
        if value.exact is None:
            raise UnsupportedError(f"'{value.name}' is float32, a result of DequantizeLinear was expected")
        return self.at(value, value.exact, value.name)

    def at(self, value: Real, quant: Form, name: str) -> Placed:
        """The value in the quantization `quant`; `name` is for a tensor that has to be made."""
        own = value.placed.form if isinstance(value, Quantized) else value.exact
        if quant is not None and own is not None and own != quant:
            return self._rescaled(self.quantized(value), quant, name, value)
        if isinstance(value, Quantized):
            return value.placed
        placed = self._made.get(value)
        if placed is None:
            placed = self._made[value] = value.make(quant, self.claim(name))
        elif placed.form != quant:
            raise UnsupportedError(f"'{value.name}' is quantized in two different ways, one was expected")
        return placed

    def arranged(self, placed: Placed, order: Order) -> Tensor:
        """The tensor with its axes in the given order of the ONNX tensor's; transposed where it is not."""
        if placed.order == order:
            return placed.tensor
        key = placed.tensor, order
        if key not in self._arranged:
            permutation = tuple(placed.order.index(axis) for axis in order)
            self._arranged[key] = self._transposed(placed.tensor, permutation)
        return self._arranged[key]

    def plain(self, placed: Placed) -> Tensor:
        """The tensor with its axes as in the file."""
        return self.arranged(placed, tuple(range(len(placed.order))))

    def reshaped(self, tensor: Tensor, shape: tuple[int, ...], name: str, source: Source) -> Tensor:
        """The elements under another shape."""
        if tensor.shape == shape:
            return tensor
        if tensor.data is not None:
            return self.constant(name, tensor.data.reshape(shape), tensor.type.quant)
        output = Tensor(name, TensorType(tensor.type.dtype, shape, tensor.type.quant))
        self.add(Reshape(name=name, source=source, input=tensor, output=output))
        return output

    def _transposed(self, tensor: Tensor, permutation: Order) -> Tensor:
        shape = tuple(tensor.shape[axis] for axis in permutation)
        quant = tensor.type.quant
        if quant is not None and quant.axis is not None:
            quant = replace(quant, axis=permutation.index(quant.axis))
        name = self.derive(tensor.name, "transposed")
        if tensor.data is not None:
            coding = tensor.coding and tensor.coding.transposed(permutation)
            return self.constant(name, tensor.data.transpose(permutation), quant, coding)
        output = Tensor(name, TensorType(tensor.type.dtype, shape, quant))
        source = self._source_of(tensor)
        self.add(Transpose(name=name, source=source, input=tensor, output=output, permutation=permutation))
        return output

    def _rescaled(self, placed: Placed, quant: Form, name: str, value: Real) -> Placed:
        output = self.result(self.claim(name), placed.tensor.shape, quant)
        node = value.node if isinstance(value, Pending) else None
        source = self.source(node) if node is not None else self._source_of(placed.tensor)
        self.add(Rescale(name=output.name, source=source, input=placed.tensor, output=output))
        return Placed(output, placed.order)

    def _source_of(self, tensor: Tensor) -> Source:
        """Where a tensor that needs another form comes from: its operator, or the first one for inputs."""
        maker = self.maker(tensor)
        return maker.source if maker is not None else Source(self.file, 0, f"Input '{tensor.name}'")
