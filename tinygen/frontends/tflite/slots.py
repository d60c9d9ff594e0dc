"""Slot numbers of the schema's tables, as far as `schema` reads them.

The numbering is that of tensorflow/compiler/mlir/lite/schema/schema.fbs, version 3: fields count from 0 in
the order of their declaration, a union counts twice (its type, then its value).
"""

from enum import IntEnum


class ModelField(IntEnum):
    """Fields of the table Model."""

    VERSION = 0
    OPERATOR_CODES = 1
    SUBGRAPHS = 2
    DESCRIPTION = 3
    BUFFERS = 4
    METADATA_BUFFER = 5
    METADATA = 6
    SIGNATURE_DEFS = 7


class CodeField(IntEnum):
    """Fields of the table OperatorCode."""

    DEPRECATED_BUILTIN_CODE = 0
    CUSTOM_CODE = 1
    VERSION = 2
    BUILTIN_CODE = 3


class SubgraphField(IntEnum):
    """Fields of the table SubGraph."""

    TENSORS = 0
    INPUTS = 1
    OUTPUTS = 2
    OPERATORS = 3
    NAME = 4


class TensorField(IntEnum):
    """Fields of the table Tensor."""

    SHAPE = 0
    TYPE = 1
    BUFFER = 2
    NAME = 3
    QUANTIZATION = 4
    IS_VARIABLE = 5
    SPARSITY = 6
    SHAPE_SIGNATURE = 7


class SparsityField(IntEnum):
    """Fields of the table SparsityParameters."""

    TRAVERSAL_ORDER = 0
    BLOCK_MAP = 1
    DIM_METADATA = 2


class LevelField(IntEnum):
    """Fields of the table DimensionMetadata; segments and indices are unions of vectors."""

    FORMAT = 0
    DENSE_SIZE = 1
    SEGMENTS_TYPE = 2
    SEGMENTS = 3
    INDICES_TYPE = 4
    INDICES = 5


class IndexVectorField(IntEnum):
    """The field of the tables Int32Vector, Uint16Vector and Uint8Vector."""

    VALUES = 0


class QuantizationField(IntEnum):
    """Fields of the table QuantizationParameters."""

    MIN = 0
    MAX = 1
    SCALE = 2
    ZERO_POINT = 3
    DETAILS_TYPE = 4
    DETAILS = 5
    QUANTIZED_DIMENSION = 6


class BufferField(IntEnum):
    """Fields of the table Buffer."""

    DATA = 0
    OFFSET = 1
    SIZE = 2


class OperatorField(IntEnum):
    """Fields of the table Operator."""

    OPCODE_INDEX = 0
    INPUTS = 1
    OUTPUTS = 2
    BUILTIN_OPTIONS_TYPE = 3
    BUILTIN_OPTIONS = 4
    CUSTOM_OPTIONS = 5
    BUILTIN_OPTIONS_2_TYPE = 11
    BUILTIN_OPTIONS_2 = 12


class CompositeField(IntEnum):
    """Fields of the table StableHLOCompositeOptions."""

    NAME = 0
    DECOMPOSITION_SUBGRAPH_INDEX = 1


class SignatureField(IntEnum):
    """Fields of the table SignatureDef."""

    INPUTS = 0
    OUTPUTS = 1
    SIGNATURE_KEY = 2
    DEPRECATED_TAG = 3
    SUBGRAPH_INDEX = 4


class TensorMapField(IntEnum):
    """Fields of the table TensorMap."""

    NAME = 0
    TENSOR_INDEX = 1
