"""Inputs and outputs of a model in the words of the templates."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinygen.codegen.c_text import c_type, float_literal, inline_comment
from tinygen.ir.graph import Port
from tinygen.ir.planes import Planes
from tinygen.ir.rows import every_row, has_rows, pixel_bytes
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.planner.schedule.schedule import Fetch, Schedule, Store

_CONVERSIONS = {
    (True, DType.FLOAT32, DType.INT8): "tg_quantize_f32_s8",
    (True, DType.FLOAT32, DType.INT16): "tg_quantize_f32_s16",
    (True, DType.UINT8, DType.INT8): "tg_quantize_u8_s8",
    (False, DType.FLOAT32, DType.INT8): "tg_dequantize_s8_f32",
    (False, DType.FLOAT32, DType.INT16): "tg_dequantize_s16_f32",
    (False, DType.UINT8, DType.INT8): "tg_dequantize_s8_u8",
}
"""By whether it is an input, the application's element type and the one in the arena."""


@dataclass(frozen=True, eq=False)
class PortText:
    """An input or output of the model."""

    index: int
    role: str  # "input" or "output"
    name: str
    tensor: Tensor
    port: Port
    address: str | None  # from a pointer to its arena; None where the application gives or takes rows
    planes: Planes | None = None  # where it is an image of which the network has pixels
    is_only_fetched: bool = True  # whether no other input is given row by row

    @property
    def which_fetched(self) -> str:
        """What the functions that give its rows have behind their names."""
        return which_fetched(self.index, self.is_only_fetched)

    @property
    def is_fetched(self) -> bool:
        """Whether the application gives it row by row."""
        return self.role == "input" and not self.is_resident

    @property
    def is_resident(self) -> bool:
        """Whether all of it lies in the arena."""
        return self.address is not None

    @property
    def every_row(self) -> int:
        """Rows that the application gives or takes, if it does."""
        return self.planes.count * self.planes.height if self.planes else every_row(self.tensor).end

    @property
    def row_bytes(self) -> int:
        """Bytes of one of them."""
        return self.bytes // self.every_row

    @property
    def pixel_bytes(self) -> int:
        """Bytes of one column of such a row."""
        if self.planes:
            return self.tensor.type.dtype.bytes
        return pixel_bytes(self.tensor) if has_rows(self.tensor) else self.bytes

    @property
    def input_spelling(self) -> str:
        """An input that comes row by row, for a comment."""
        return "the input" if self.is_only_fetched else f"input {self.index}"

    @property
    def row_description(self) -> str:
        """What they are, for a comment."""
        shape = self.tensor.shape
        if self.planes:
            planes = "" if self.planes.keeps_order else f"{self.planes.count} planes of "
            return f"{planes}{self.planes.height} rows of {self.planes.width} {self.ctype}"
        if len(shape) != 4:
            return f"all of it is one row of {self.elements} {self.ctype}"
        return f"{shape[1]} rows of {shape[2]} x {shape[3]} {self.ctype}"

    @property
    def row_of_plane(self) -> str | None:
        """How rows of several planes are counted, for a comment."""
        if self.planes is None or self.planes.keeps_order:
            return None
        return f"Row {self.planes.height} * p + y is row y of plane p"

    def rows_form(self, prefix: str) -> str | None:
        """How its int8 rows and the values of the model's file follow from each other, for a comment; None where these
        are the same. `prefix`: of the model's macros.
        """
        if not self.is_converted:
            return None
        gives = "takes" if self.role == "input" else "gives"
        made = self._fetched_form(prefix) if self.role == "input" else self._stored_form(prefix)
        return f"The model {gives} {self.external_ctype} here, the rows are {self.ctype}: {made}."

    def _fetched_form(self, prefix: str) -> str:
        if not self.external_is_float:
            return "value - 128"
        macros = f"{prefix}_{self.macro}"
        return f"value / {macros}_SCALE to the nearest, halves away from zero, + {macros}_ZERO_POINT, saturated"

    def _stored_form(self, prefix: str) -> str:
        macros = f"{prefix}_{self.macro}"
        return f"(value - {macros}_ZERO_POINT) * {macros}_SCALE" if self.external_is_float else "value + 128"

    @property
    def description(self) -> str:
        """Name and type, for a comment."""
        dims = "x".join(str(dim) for dim in self.tensor.shape)
        return inline_comment(f"'{self.name}', {self.ctype}[{dims}]")

    @property
    def pointer(self) -> str:
        """Its first element, from a context."""
        base = f"context->{self.address}"
        return base if self.ctype == "int8_t" else f"({self.ctype} *)(void *)({base})"

    @property
    def macro(self) -> str:
        """Stem of its macros, without the model's name."""
        return f"{self.role.upper()}{self.index}"

    @property
    def bytes(self) -> int:
        """Bytes in the arena."""
        return self.tensor.type.bytes

    @property
    def elements(self) -> int:
        """Number of elements."""
        return self.tensor.type.elements

    @property
    def shape(self) -> str:
        """Shape as a C initializer."""
        return "{" + ", ".join(str(dim) for dim in self.tensor.shape or (1,)) + "}"

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.tensor.shape or (1,))

    @property
    def scale(self) -> str | None:
        """Scale as a C literal; None where the tensor is not quantized."""
        quant = self.tensor.type.quant
        return float_literal(quant.scale) if quant else None

    @property
    def zero_point(self) -> int:
        """Zero point; 0 where the tensor is not quantized."""
        quant = self.tensor.type.quant
        return quant.zero_point if quant else 0

    @property
    def ctype(self) -> str:
        """C type of an element in the arena."""
        return c_type(self.tensor.type.dtype)

    @property
    def external_ctype(self) -> str:
        """C type of an element as the application has it."""
        return c_type(self.port.external.dtype)

    @property
    def is_converted(self) -> bool:
        """Whether the application's elements differ from those in the arena."""
        return self.port.is_converted

    @property
    def external_is_float(self) -> bool:
        """Whether the application's elements are float."""
        return self.port.external.dtype is DType.FLOAT32

    @property
    def conversion(self) -> str:
        """The call that converts between the application's `values` and the arena."""
        is_input = self.role == "input"
        function = _CONVERSIONS[is_input, self.port.external.dtype, self.tensor.type.dtype]
        pointers = ["values", self.pointer] if is_input else [self.pointer, "values"]
        scaling = [self.scale or "", str(self.zero_point)] if self.external_is_float else []
        return f"{function}({', '.join([*pointers, str(self.elements), *scaling])})"


@dataclass(frozen=True, eq=False)
class PortsText:
    """All inputs and outputs of a model."""

    name: str  # of the model
    schedule: Schedule
    inputs: Sequence[PortText]
    outputs: Sequence[PortText]

    @property
    def all(self) -> list[PortText]:
        """Inputs, then outputs."""
        return [*self.inputs, *self.outputs]

    @property
    def input_ctype(self) -> str:
        """Element type of all inputs, void where they differ."""
        return common_ctype(self.inputs)

    @property
    def output_ctype(self) -> str:
        """Element type of all outputs, void where they differ."""
        return common_ctype(self.outputs)

    @property
    def run_parameters(self) -> str:
        """Parameters of the one-shot function: the application's buffers, and what its own functions need."""
        user = ["void *user"] if self.calls_application else []
        inputs = [f"const {port.external_ctype} *input{port.index}" for port in self.inputs if port.is_resident]
        outputs = [f"{port.external_ctype} *output{port.index}" for port in self.outputs if port.is_resident]
        return ", ".join([*user, *inputs, *outputs]) or "void"

    @property
    def run_arguments(self) -> str:
        """Arguments of that function: variables named as its parameters."""
        return self.arguments("")

    def arguments(self, prefix: str) -> str:
        """Arguments of that function: variables named as its parameters, behind a prefix; no user."""
        user = ["NULL"] if self.calls_application else []
        return ", ".join([*user, *(f"{prefix}{port.role}{port.index}" for port in self.all if port.is_resident)])

    @property
    def has_conversions(self) -> bool:
        """Whether an input or output changes form at the boundary."""
        return any(port.is_converted and port.is_resident for port in (*self.inputs, *self.outputs))

    @property
    def fetches_rows(self) -> bool:
        """Whether the application gives an input row by row."""
        return any(isinstance(step, Fetch) for step in self.schedule.flat_steps)

    @property
    def fetched(self) -> list[PortText]:
        """The inputs that the application gives row by row."""
        return [port for port in self.inputs if port.is_fetched]

    @property
    def first_fetched(self) -> PortText | None:
        """The first of these."""
        return next(iter(self.fetched), None)

    @property
    def calls_application(self) -> bool:
        """Whether the application gives or takes rows."""
        return self.fetches_rows or self.stored is not None

    @property
    def stored(self) -> PortText | None:
        """The output that the application takes row by row."""
        return next((port for port in self.outputs if not port.is_resident), None)

    @property
    def fetched_planes(self) -> list[PortText]:
        """The inputs of which rows of planes are made pixels when they come."""
        return [port for port in self.fetched if port.index in self._passing_line(Fetch)]

    @property
    def stores_planes(self) -> bool:
        """Whether pixels of the output are made rows of planes when they go."""
        return bool(self._passing_line(Store))

    @property
    def fetches_any_row(self) -> bool:
        """Whether rows of inputs are not asked for in the order in which they lie one behind the other."""
        return len(self.fetched) > 1 or any(port.row_of_plane is not None for port in self.fetched)

    @property
    def stores_any_row(self) -> bool:
        """Whether rows of the output are not given away in the order in which they lie one behind the other."""
        return self.stored is not None and self.stored.row_of_plane is not None

    @property
    def application_functions(self) -> str:
        """Those that the application has to write, for a comment."""
        return " and ".join(self.fetch_functions + ([f"{self.name}_store_rows"] if self.stored else []))

    @property
    def fetch_functions(self) -> list[str]:
        """The application's functions that give rows of inputs."""
        function = "fetch_patch" if self.schedule.rereads_input else "fetch_rows"
        return [f"{self.name}_{function}{port.which_fetched}" for port in self.fetched]

    def _passing_line(self, kind: type[Fetch] | type[Store]) -> set[int]:
        """The ports of which rows of planes pass through a line."""
        steps = (step for step in self.schedule.flat_steps if isinstance(step, kind))
        return {step.port for step in steps if step.at_port and step.at_port.line}


def which_fetched(index: int, is_only: bool) -> str:
    """What tells functions that give rows of an input from those of others: nothing where there are no others."""
    return "" if is_only else f"_input{index}"


def common_ctype(ports: Sequence[PortText]) -> str:
    """Element type of all ports, void where they differ."""
    ctypes = {port.ctype for port in ports}
    return ctypes.pop() if len(ctypes) == 1 else "void"
