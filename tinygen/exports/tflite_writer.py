"""Writing TFLite files: tensors, operators and their options as a FlatBuffer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import flatbuffers
import numpy as np
import tflite

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant

Option = bool | int | float
Offset = int

_SCHEMA_VERSION = 3
_ALIGN = 16  # of constants, which runtimes read in place
_LARGEST_DEPRECATED_CODE = 127
_TYPES = {DType.INT8: "INT8", DType.INT32: "INT32", DType.INT64: "INT64"} | dict.fromkeys(
    (DType.INT4, DType.INT2, DType.INT1),
    "INT8",  # as whole bytes: LiteRT lacks most kernels for narrow weights
)


@dataclass(frozen=True)
class _Operator:
    code: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Offset | None
    options_type: int


@dataclass
class TfliteWriter:
    """A TFLite model with one subgraph that grows operator by operator."""

    builder: flatbuffers.Builder = field(default_factory=lambda: flatbuffers.Builder(1 << 16))
    _tensors: list[Offset] = field(default_factory=list)
    _indices: dict[Tensor, int] = field(default_factory=dict)
    _buffers: list[Offset] = field(default_factory=list)
    _codes: list[tuple[str, int]] = field(default_factory=list)
    _operators: list[_Operator] = field(default_factory=list)

    def index(self, tensor: Tensor) -> int:
        """The tensor's number; it is added when it is first asked for."""
        if tensor not in self._indices:
            quant, dtype = tensor.type.quant, tensor.type.dtype
            self._indices[tensor] = self.add_tensor(tensor.name, tensor.shape, dtype, quant, tensor.data)
        return self._indices[tensor]

    def add_tensor(
        self, name: str, shape: Sequence[int], dtype: DType, quant: Quant | None, data: Array | None = None
    ) -> int:
        """A tensor; `data` makes it a constant."""
        builder = self.builder
        buffer = self._buffer(data) if data is not None else 0
        text, dims = builder.CreateString(name), self._numbers(shape, "<i4")
        quantization = None if quant is None else self._quantization(quant)
        tflite.TensorStart(builder)
        tflite.TensorAddShape(builder, dims)
        tflite.TensorAddType(builder, getattr(tflite.TensorType, _TYPES[dtype]))
        tflite.TensorAddBuffer(builder, buffer)
        tflite.TensorAddName(builder, text)
        if quantization is not None:
            tflite.TensorAddQuantization(builder, quantization)
        self._tensors.append(tflite.TensorEnd(builder))
        return len(self._tensors) - 1

    def constant(self, name: str, values: Array) -> int:
        """Numbers that an operator reads, such as a shape."""
        return self.add_tensor(name, values.shape, DType.INT32, None, values.astype(np.int32))

    def operator(
        self,
        name: str,
        version: int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options_type: str | None = None,
        options: Mapping[str, Option] | None = None,
    ) -> None:
        """An operator by its name in the schema; options by the names of their fields."""
        if (name, version) not in self._codes:
            self._codes.append((name, version))
        code = self._codes.index((name, version))
        offset = None if options_type is None else self._options(options_type, options or {})
        kind = 0 if options_type is None else getattr(tflite.BuiltinOptions, options_type)
        self._operators.append(_Operator(code, tuple(inputs), tuple(outputs), offset, kind))

    def finish(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file's content."""
        builder = self.builder
        subgraph = self._subgraph(inputs, outputs)
        subgraphs = self._tables([subgraph])
        buffers = self._tables([self._empty_buffer(), *self._buffers])
        codes = self._tables([self._code(*code) for code in self._codes])
        description = builder.CreateString("made by tinygen")
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, _SCHEMA_VERSION)
        tflite.ModelAddOperatorCodes(builder, codes)
        tflite.ModelAddSubgraphs(builder, subgraphs)
        tflite.ModelAddDescription(builder, description)
        tflite.ModelAddBuffers(builder, buffers)
        builder.Finish(tflite.ModelEnd(builder), b"TFL3")
        return bytes(builder.Output())

    def _subgraph(self, inputs: Sequence[int], outputs: Sequence[int]) -> Offset:
        builder = self.builder
        tensors = self._tables(self._tensors)
        operators = self._tables([self._operator(operator) for operator in self._operators])
        ports = self._numbers(inputs, "<i4"), self._numbers(outputs, "<i4")
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, tensors)
        tflite.SubGraphAddInputs(builder, ports[0])
        tflite.SubGraphAddOutputs(builder, ports[1])
        tflite.SubGraphAddOperators(builder, operators)
        offset: Offset = tflite.SubGraphEnd(builder)
        return offset

    def _operator(self, operator: _Operator) -> Offset:
        builder = self.builder
        inputs, outputs = self._numbers(operator.inputs, "<i4"), self._numbers(operator.outputs, "<i4")
        tflite.OperatorStart(builder)
        tflite.OperatorAddOpcodeIndex(builder, operator.code)
        tflite.OperatorAddInputs(builder, inputs)
        tflite.OperatorAddOutputs(builder, outputs)
        if operator.options is not None:
            tflite.OperatorAddBuiltinOptionsType(builder, operator.options_type)
            tflite.OperatorAddBuiltinOptions(builder, operator.options)
        offset: Offset = tflite.OperatorEnd(builder)
        return offset

    def _code(self, name: str, version: int) -> Offset:
        code = getattr(tflite.BuiltinOperator, name)
        tflite.OperatorCodeStart(self.builder)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(self.builder, min(code, _LARGEST_DEPRECATED_CODE))
        tflite.OperatorCodeAddBuiltinCode(self.builder, code)
        tflite.OperatorCodeAddVersion(self.builder, version)
        offset: Offset = tflite.OperatorCodeEnd(self.builder)
        return offset

    def _options(self, kind: str, options: Mapping[str, Option]) -> Offset:
        getattr(tflite, f"{kind}Start")(self.builder)
        for name, value in options.items():
            getattr(tflite, f"{kind}Add{name}")(self.builder, value)
        offset: Offset = getattr(tflite, f"{kind}End")(self.builder)
        return offset

    def _quantization(self, quant: Quant) -> Offset:
        builder = self.builder
        scales, zero_points = self._numbers(quant.scales, "<f4"), self._numbers(quant.zero_points, "<i8")
        tflite.QuantizationParametersStart(builder)
        tflite.QuantizationParametersAddScale(builder, scales)
        tflite.QuantizationParametersAddZeroPoint(builder, zero_points)
        tflite.QuantizationParametersAddQuantizedDimension(builder, quant.axis or 0)
        offset: Offset = tflite.QuantizationParametersEnd(builder)
        return offset

    def _buffer(self, data: Array) -> int:
        """The number of a buffer that holds the elements; buffer 0 is empty by convention."""
        content = np.ascontiguousarray(data.astype(data.dtype.newbyteorder("<"))).tobytes()
        builder = self.builder
        builder.StartVector(1, len(content), _ALIGN)
        builder.head -= len(content)
        builder.Bytes[builder.head : builder.head + len(content)] = content
        vector = builder.EndVector()
        tflite.BufferStart(builder)
        tflite.BufferAddData(builder, vector)
        self._buffers.append(tflite.BufferEnd(builder))
        return len(self._buffers)

    def _empty_buffer(self) -> Offset:
        tflite.BufferStart(self.builder)
        offset: Offset = tflite.BufferEnd(self.builder)
        return offset

    def _tables(self, offsets: Sequence[Offset]) -> Offset:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        end: Offset = self.builder.EndVector()
        return end

    def _numbers(self, values: Sequence[float], dtype: str) -> Offset:
        offset: Offset = self.builder.CreateNumpyVector(np.array(values, dtype))
        return offset
