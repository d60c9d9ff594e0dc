"""Float models as calibration sees them, and the int8 models that follow a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen import passes
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model, model_files
from tinygen.frontends.doors import model_file
from tinygen.frontends.spelling import AS_IN_FILE, Spelling
from tinygen.ir.graph import Graph
from tinygen.ir.memoryless import check_memoryless
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.passes.fold_constants import fold_constants
from tinygen.passes.fold_padding import fold_padding
from tinygen.passes.fold_scales import fold_scales
from tinygen.passes.fuse_clamps import fuse_clamps
from tinygen.passes.real_layers import real_layers
from tinygen.passes.remove_unused import remove_unused
from tinygen.passes.widen_halves import widen_halves
from tinygen.quant.ctable import CTable, ModelIdentity
from tinygen.quant.ctable_file import file_sha256
from tinygen.quant.equalize import equalize
from tinygen.quant.errors import Code, CTableError
from tinygen.quant.quantize import quantize_graph

PREPARATION: Sequence[passes.Pass] = (fold_constants, fold_scales, fold_padding, fuse_clamps, remove_unused)
"""What a float network is rid of before its tensors are measured: less is rounded afterwards."""


@dataclass(frozen=True)
class FloatModel:
    """A float network, prepared for calibration."""

    path: Path
    graph: Graph
    identity: ModelIdentity


def load_float(path: str | Path, spelling: Spelling = AS_IN_FILE, trust: bool = False) -> FloatModel:
    """The float model of a file; UnsupportedModelError where it is quantized already.

    `trust`: code in the file may run.
    """
    file = model_file(Path(path), trust)
    return float_model(file, import_model(file, spelling))


def float_model(path: Path, imported: Graph) -> FloatModel:
    """The model of a file that has been read."""
    check_memoryless(imported, path.name, "for calibration")
    imported = widen_halves(real_layers(imported))
    if any(isinstance(op, Quantize | Dequantize) for op in imported.ops) or not _is_real(imported):
        raise UnsupportedModelError(
            f"{path.name}: is quantized already, a float32 model was expected for calibration. "
            "Compile it without --ctable and --calibrate, or take its table with `tinygen ctable import`."
        )
    file = model_file(path)
    sha256 = file_sha256(*model_files(path))
    identity = ModelIdentity(name=file.stem, sha256=sha256, frontend=file.suffix.lower().lstrip("."))
    return FloatModel(path, passes.run(imported, PREPARATION), identity)


def check_identity(model: FloatModel, table: CTable) -> None:
    """Raise CTableError where the table is another model's."""
    if table.model.sha256 != model.identity.sha256:
        raise CTableError(
            Code.OTHER_MODEL,
            f"{model.path.name}: the CTable is of '{table.model.name}' (sha256 {table.model.sha256[:12]}...), one of "
            f"this file (sha256 {model.identity.sha256[:12]}...) was expected. Calibrate this model.",
        )


def quantized(model: FloatModel, table: CTable) -> Graph:
    """The int8 network that follows the table; CTableError where that cannot be."""
    check_identity(model, table)
    return quantize_graph(prepared(model.graph, "equalize" in table.preparation), table)


def prepared(graph: Graph, equalizes: bool) -> Graph:
    """The float network that is measured and quantized."""
    return equalize(graph) if equalizes else graph


def _is_real(graph: Graph) -> bool:
    return any(tensor.type.dtype.is_real for op in graph.ops for tensor in op.results)
