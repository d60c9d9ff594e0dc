"""The blocks of C that templates/ops gives for each kernel: layer types, layer descriptions, runners."""

from jinja2 import Template

from tinygen.codegen.environment import environment
from tinygen.kernels.base import Kernel


def types(kernel: Kernel) -> str:
    """The struct that describes a layer."""
    return _stripped(_template(kernel).module.types(kernel))  # type: ignore[attr-defined]


def runner(kernel: Kernel) -> str:
    """The function that calls the kernel for a layer."""
    return _stripped(_template(kernel).module.runner(kernel))  # type: ignore[attr-defined]


def layer(kernel: Kernel, symbol: str, tables: dict[str, str]) -> str:
    """The constant that describes one layer; `tables` are C symbols by the names of the kernel's tables."""
    return _stripped(_template(kernel).module.layer(kernel, symbol, tables))  # type: ignore[attr-defined]


def layer_type(kernel: Kernel) -> str:
    """The C type of that constant, without const: what stands before its symbol."""
    text = layer(kernel, "layer", {table.name: table.name for table in kernel.tables})
    return text.partition(" layer =")[0].removeprefix("static const ")


def _template(kernel: Kernel) -> Template:
    return environment().get_template(f"ops/{kernel.template}.c.j2")


def _stripped(text: object) -> str:
    return str(text).strip("\n")
