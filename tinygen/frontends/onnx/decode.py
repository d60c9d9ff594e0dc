"""From the bytes of an ONNX file to a RawModel: the one module that sees protobuf messages of whole models."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    ValueInfoProto,
)

from tinygen.budget import CONSTANT_BYTES, NODES, Account
from tinygen.errors import UnsupportedModelError
from tinygen.frontends.foreign import check_is_real
from tinygen.frontends.onnx.functions import inlined
from tinygen.frontends.onnx.raw import MAX_RANK, Attribute, RawInput, RawModel, RawNode, UnsupportedError
from tinygen.frontends.onnx.standard_functions import expanded
from tinygen.frontends.onnx.tensor_data import array_of, dense_array_of, external_file, is_external, is_mapped_table
from tinygen.frontends.onnx.tensor_types import dtype_of_code
from tinygen.ir.types import Array

OLDEST_OPSET, NEWEST_OPSET = 7, 28
_MAX_DIM = 1 << 31
_OPEN = -1  # as exporters of PaddlePaddle and others write a size that is open, without a name
_MAX_BYTES = (1 << 31) - 1  # of a protobuf message
_DEFAULT_DOMAINS = ("", "ai.onnx")


def read(path: Path) -> RawModel:
    """The model in a file; UnsupportedModelError where it is damaged or of another version."""
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise UnsupportedError(
                f"it has {size} bytes, of which protobuf takes {_MAX_BYTES} (tables may lie beside it)"
            )
        return _model(expanded(inlined(ModelProto.FromString(path.read_bytes()), path.name), path.name), path)
    except DecodeError:
        raise _damaged(path, "it is no protobuf message of ONNX") from None
    except (UnsupportedError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from None
    except OSError as error:
        hint = "Check its permissions." if isinstance(error, PermissionError) else "Check the disk and the path."
        raise UnsupportedModelError(
            f"{path.name}: cannot be read ({error.strerror}), a file was expected. {hint}"
        ) from None


def _damaged(path: Path, reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"{path.name}: {reason}, an ONNX model was expected. Export the model again.")


def _model(message: ModelProto, path: Path) -> RawModel:
    if not message.graph.node:
        raise UnsupportedError("it holds no operators")
    NODES.check(_count(message.graph), path.name)
    return _graph(message.graph, path, _opset(message, path))


def _count(graph: GraphProto) -> int:
    """The nodes of a graph and of those in it."""
    inner = (attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g"))
    return len(graph.node) + sum(map(_count, inner))


def _graph(graph: GraphProto, path: Path, opset: int, index: int | None = None) -> RawModel:
    """The graph of a file; with an index, one that the node of that number runs."""
    constants, unreadable = _constants(graph.initializer, path, _tables(graph))
    sparse, more = _sparse_constants(graph.sparse_initializer, path)
    constants, unreadable = {**constants, **sparse}, {**unreadable, **more}
    inputs = (port for port in graph.input if port.name not in {*constants, *unreadable})
    return RawModel(
        path=path,
        opset=opset,
        inputs=tuple(_port(port, path.name) if index is None else RawInput(port.name, "", ()) for port in inputs),
        outputs=tuple(port.name for port in graph.output),
        constants=constants,
        unreadable=unreadable,
        nodes=tuple(
            _node(node, number if index is None else index, path, opset) for number, node in enumerate(graph.node)
        ),
        sparse=frozenset(sparse),
    )


def _opset(message: ModelProto, path: Path) -> int:
    versions = [entry.version for entry in message.opset_import if entry.domain in _DEFAULT_DOMAINS]
    version = max(versions, default=1)
    if not OLDEST_OPSET <= version <= NEWEST_OPSET:
        raise UnsupportedModelError(
            f"{path.name}: is of opset {version}, {OLDEST_OPSET} to {NEWEST_OPSET} were expected. "
            "Convert it with onnx.version_converter, or export it with another opset_version."
        )
    return version


def external_files(path: Path) -> tuple[Path, ...]:
    """The files beside a model that can be read which hold constants of it, sorted."""
    model = ModelProto.FromString(path.read_bytes())
    nodes = chain(model.graph.node, *(function.node for function in model.functions))
    attributes = (attribute.t for node in nodes for attribute in node.attribute if attribute.HasField("t"))
    files: set[Path] = set()
    sparse = (part for tensor in model.graph.sparse_initializer for part in (tensor.values, tensor.indices))
    for tensor in filter(is_external, chain(model.graph.initializer, attributes, sparse)):
        with suppress(UnsupportedError):  # of constants that nothing reads
            files.add(external_file(tensor, path.parent))
    return tuple(sorted(files))


def _tables(graph: GraphProto) -> frozenset[str]:
    """Names that Gather alone reads, to select from."""
    tables = {node.input[0] for node in graph.node if node.op_type == "Gather" and node.input}
    others = {n for node in graph.node for n in (node.input[1:] if node.op_type == "Gather" else node.input)}
    return frozenset(tables - others)


def _constants(
    tensors: Sequence[TensorProto], path: Path, tables: Collection[str]
) -> tuple[dict[str, Array], dict[str, str]]:
    """Constants by name, and for those that cannot be read the reason why."""
    constants: dict[str, Array] = {}
    unreadable: dict[str, str] = {}
    in_memory = Account(CONSTANT_BYTES)
    for tensor in tensors:
        is_table = tensor.name in tables
        try:
            array = constants[tensor.name] = array_of(tensor, path.parent, is_table)
            if not is_mapped_table(tensor, is_table):
                in_memory.spend(array.nbytes, f"{path.name}, constant '{tensor.name}' and those before it")
        except UnsupportedError as error:
            unreadable[tensor.name] = f"constant '{tensor.name}': {error}"
    return constants, unreadable


def _sparse_constants(tensors: Sequence[SparseTensorProto], path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """The same of constants without their zeros, with these."""
    constants: dict[str, Array] = {}
    unreadable: dict[str, str] = {}
    in_memory = Account(CONSTANT_BYTES)
    for tensor in tensors:
        name = tensor.values.name
        try:
            constants[name] = dense_array_of(tensor, path.parent)
            in_memory.spend(constants[name].nbytes, f"{path.name}, constant '{name}' and those before it")
        except UnsupportedError as error:
            unreadable[name] = f"sparse constant '{name}': {error}"
    return constants, unreadable


def _port(port: ValueInfoProto, file: str) -> RawInput:
    if not port.type.HasField("tensor_type") or not port.type.tensor_type.HasField("shape"):
        raise UnsupportedError(f"'{port.name}' is no tensor with a known number of dimensions")
    code = port.type.tensor_type.elem_type
    if code in TensorProto.DataType.values():  # what other codes are is said where they are read
        check_is_real(file, port.name, TensorProto.DataType.Name(code))
    rank = len(port.type.tensor_type.shape.dim)
    if rank > MAX_RANK:
        raise UnsupportedError(f"'{port.name}' has {rank} axes, of which {MAX_RANK} are taken")
    dims = []
    for axis, dim in enumerate(port.type.tensor_type.shape.dim):
        if dim.HasField("dim_value") and dim.dim_value != _OPEN:
            if not 0 < dim.dim_value < _MAX_DIM:
                raise UnsupportedError(f"axis {axis} of '{port.name}' has size {dim.dim_value}")
            dims.append(dim.dim_value)
        else:
            dims.append(dim.dim_param)
    return RawInput(port.name, dtype_of_code(code).name, tuple(dims))


def _node(node: NodeProto, index: int, path: Path, opset: int) -> RawNode:
    domain = "" if node.domain in _DEFAULT_DOMAINS else node.domain
    attributes: dict[str, Attribute] = {}
    graphs: dict[str, RawModel] = {}
    problem = ""
    for attribute in node.attribute:
        try:
            if attribute.type == AttributeProto.GRAPH:
                graphs[attribute.name] = _graph(attribute.g, path, opset, index)
            else:
                attributes[attribute.name] = _attribute(attribute, path.parent)
        except (UnsupportedError, UnicodeDecodeError) as error:
            problem = f"attribute '{attribute.name}': {error}"
    captured = tuple(dict.fromkeys(name for graph in graphs.values() for name in graph.captured))
    inputs, outputs = (*node.input, *captured), tuple(node.output)
    return RawNode(
        index, domain, node.op_type, node.name, inputs, outputs, attributes, problem, graphs=graphs, captured=captured
    )


def _attribute(attribute: AttributeProto, folder: Path) -> Attribute:
    match attribute.type:
        case AttributeProto.INT:
            return attribute.i
        case AttributeProto.FLOAT:
            return attribute.f
        case AttributeProto.STRING:
            return attribute.s.decode()
        case AttributeProto.INTS:
            return tuple(attribute.ints)
        case AttributeProto.FLOATS:
            return tuple(attribute.floats)
        case AttributeProto.STRINGS:
            return tuple(text.decode() for text in attribute.strings)
        case AttributeProto.TENSOR:
            return array_of(attribute.t, folder)
    raise UnsupportedError("numbers, texts or a tensor were expected")
