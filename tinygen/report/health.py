"""What `tinygen doctor` found."""

import re
from dataclasses import dataclass

from tinygen.build.inventory import Tool
from tinygen.report.table import ShownTable, listing
from tinygen.targets.toolset import CORTEX_M, RISCV, Toolset


@dataclass(frozen=True)
class Health:
    """Tools, and what can be done with them."""

    host: bool  # generating, building and running on this machine
    cortex_m: bool  # building and running under QEMU
    riscv: bool  # the same
    cmsis_nn: bool
    tools: tuple[Tool, ...]


def judge(tools: tuple[Tool, ...]) -> Health:
    """What the tools are good for."""
    there = {tool.name for tool in tools if tool.version is not None}
    return Health(
        host=all(tool.name in there for tool in tools if tool.is_essential),
        cortex_m=_runs(CORTEX_M, there),
        riscv=_runs(RISCV, there),
        cmsis_nn="CMSIS-NN" in there,
        tools=tools,
    )


def _runs(tools: Toolset, there: set[str]) -> bool:
    return {tools.compiler, tools.library, tools.emulator} <= there


def health_table(health: Health) -> ShownTable:
    """The tools, one a line of at most 120 columns, with the remedy for missing ones."""
    rows = (
        (
            tool.name,
            "missing" if tool.version is None else _number(tool.version),
            tool.needed_for,
            tool.remedy if tool.version is None else "",
        )
        for tool in health.tools
    )
    return listing(("tool", "version", "for", "to install"), rows, "Tools")


def places_table(health: Health) -> ShownTable:
    """Where the tools that are there lie, and what exactly they say of themselves."""
    rows = ((tool.name, tool.path or "", tool.version) for tool in health.tools if tool.version is not None)
    return listing(("tool", "where", "says"), rows, "Where they are")


def _number(version: str) -> str:
    """`12.2.1` of `gcc (15:12.2.rel1-1) 12.2.1 20221205`; a commit's first digits; else the whole text."""
    words = [word for word in version.split() if re.fullmatch(r"\d+(\.\w+)+", word)]
    if words:
        return words[0]
    commit = re.fullmatch(r"commit ([0-9a-f]{10})[0-9a-f]+", version)
    return f"commit {commit[1]}" if commit else version
