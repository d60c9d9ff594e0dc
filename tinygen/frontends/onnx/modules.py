"""Which module of a PyTorch network each operator of its ONNX export belongs to."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from onnx import ModelProto, NodeProto

_SCOPES = "pkg.torch.onnx.name_scopes"  # of the exporter by torch.export: all modules around a node, then the node
_WEIGHTS = re.compile(r"^(.+)\.weight$")


def modules_of_results(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Names of modules, as in a state dict, by the name of the result of the last operator in them."""
    last: dict[str, str] = {}
    for node in ModelProto.FromString(path.read_bytes()).graph.node:
        if node.output:
            last |= dict.fromkeys(_modules(node), node.output[0])
    found: dict[str, tuple[str, ...]] = {}
    for module, result in last.items():
        found[result] = (*found.get(result, ()), module)
    return found


def _modules(node: NodeProto) -> Iterator[str]:
    for name in node.input:
        match = _WEIGHTS.match(name)
        if match:
            yield match[1]
    for entry in node.metadata_props:
        if entry.key == _SCOPES:
            yield from _innermost(entry.value)
    yield from _of_scoped_name(node.name)


def _innermost(scopes: str) -> Iterator[str]:
    """Of `['', 'block', 'block.0', 'conv2d']`: block.0."""
    try:
        names = ast.literal_eval(scopes)
    except (ValueError, SyntaxError):
        return
    if isinstance(names, list) and len(names) > 1 and isinstance(names[-2], str) and names[-2]:
        yield names[-2]


def _of_scoped_name(name: str) -> Iterator[str]:
    """Of `/block/block.0/Conv`, as the older exporter by tracing writes it: block.0."""
    parts = name.split("/")
    if parts[0] or len(parts) < 3:
        return
    path: list[str] = []
    for part in parts[1:-1]:
        if path and part.startswith(f"{path[-1]}."):
            path[-1] = part
        else:
            path.append(part)
    yield ".".join(path)
