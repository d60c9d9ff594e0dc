"""The blocks of C that templates/ops gives for each kernel: layer types, layer descriptions, runners."""

from dataclasses import dataclass

from jinja2 import Template

from tinygen.codegen.environment import environment
from tinygen.kernels.base import Kernel
from tinygen.planner.schedule.parts import is_operand

Steps = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Runner:
    """How the function that calls a kernel is declared, and where it finds the tables of a layer."""

    name: str
    steps: Steps = ()  # from part to part, where the layer has several: tables lie one behind the other

    @property
    def parameter(self) -> str:
        """Which part it is, behind the layer."""
        return "int32_t part, " if self.steps else ""

    def at(self, table: str) -> str:
        """What is added to the pointer to the first part of a table."""
        step = dict(self.steps).get(table)
        return f" + {step} * part" if step else ""


def types(kernel: Kernel) -> str:
    """The struct that describes a layer."""
    return _stripped(_template(kernel).module.types(kernel))  # type: ignore[attr-defined]


def runner(kernel: Kernel, text: Runner) -> str:
    """The function that calls the kernel for a layer, or for parts of one."""
    arguments = (kernel, text) if kernel.takes_parts else (kernel,)
    return _stripped(_template(kernel).module.runner(*arguments))  # type: ignore[attr-defined]


def can_fail(kernel: Kernel, text: Runner) -> bool:
    """Whether that function returns a status; one that cannot fail returns nothing."""
    return not runner(kernel, text).startswith("static void ")


def steps(kernel: Kernel) -> Steps:
    """Of a kernel for a part of a layer: the elements from part to part, by the tables that are parts of others."""
    found = (table for table in kernel.tables if table.whole and not is_operand(kernel, table))
    return tuple((table.name, table.elements) for table in found)


def layer(kernel: Kernel, symbol: str, tables: dict[str, str]) -> str:
    """The constant that describes one layer; `tables` are C symbols by the names of the kernel's tables."""
    return _stripped(_template(kernel).module.layer(kernel, symbol, tables))  # type: ignore[attr-defined]


def layer_type(kernel: Kernel) -> str:
    """The C type of that constant, without const."""
    text = layer(kernel, "layer", dict.fromkeys((*(table.name for table in kernel.tables), *kernel.generated), "name"))
    return text.partition(" layer =")[0].removeprefix("static const ")


def _template(kernel: Kernel) -> Template:
    return environment().get_template(f"ops/{kernel.template}.c.j2")


def _stripped(text: object) -> str:
    return str(text).strip("\n")
