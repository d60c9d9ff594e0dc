"""What `tinygen doctor` found."""

from dataclasses import dataclass

from rich.console import RenderableType

from tinygen.build.inventory import Finding
from tinygen.report.table import listing


@dataclass(frozen=True)
class Health:
    """Tools, and what can be done with them."""

    host: bool  # generating, building and running on this machine
    cortex_m: bool  # building and running under QEMU
    cmsis_nn: bool
    tools: tuple[Finding, ...]


_CORTEX_M_TOOLS = ("arm-none-eabi-gcc", "newlib", "qemu-system-arm")


def judge(tools: tuple[Finding, ...]) -> Health:
    """What the tools are good for."""
    there = {tool.name for tool in tools if tool.version is not None}
    return Health(
        host=all(tool.name in there for tool in tools if tool.is_essential),
        cortex_m=all(name in there for name in _CORTEX_M_TOOLS),
        cmsis_nn="CMSIS-NN" in there,
        tools=tools,
    )


def health_table(health: Health) -> RenderableType:
    """The tools, one a line, with the remedy for missing ones."""
    rows = (
        (
            tool.name,
            "missing" if tool.version is None else tool.version,
            tool.path or "",
            tool.needed_for,
            tool.remedy if tool.version is None else "",
        )
        for tool in health.tools
    )
    return listing(("tool", "version", "where", "for", "to install"), rows, "Tools")
