"""MLIR modules under the tools that know MLIR: xdsl, and mlir-opt of LLVM where it is installed."""

import re
import subprocess
from io import StringIO
from pathlib import Path
from shutil import which

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, UnregisteredOp
from xdsl.parser import Parser
from xdsl.printer import Printer

VERSIONS = (16, 19)  # of LLVM: the oldest and the newest that Debian has


def parsed(text: str) -> ModuleOp:
    """The module that xdsl reads; it refuses values that are defined twice, or not at all."""
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def printed(module: ModuleOp) -> str:
    """What xdsl prints; values numbered by it, since the names that it makes of hints may clash."""
    for op in module.walk():
        blocks = [block for region in op.regions for block in region.blocks]
        for value in (*op.results, *(argument for block in blocks for argument in block.args)):
            value.name_hint = None
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def names(module: ModuleOp) -> list[str]:
    """What operators are there, in order."""
    return [op.op_name.data if isinstance(op, UnregisteredOp) else op.name for op in module.walk()]


def with_values_of(text: str, original: str) -> str:
    """A module that a tool printed, behind it the dense resources of what it was given."""
    body = text.partition("{-#")[0]
    body = re.sub(r"dense_resource<(value_\d+)\w*>", r"dense_resource<\1>", body)  # xdsl numbers keys it knows anew
    return body + "".join(original.partition("{-#")[1:])


def through_mlir_opt(text: str, version: int) -> str:
    """The module as mlir-opt of that LLVM prints it; the test is skipped where that is not installed."""
    found = which(f"mlir-opt-{version}") or f"/usr/lib/llvm-{version}/bin/mlir-opt"
    if not Path(found).is_file():
        pytest.skip(f"mlir-opt of LLVM {version} is not installed: apt-get install mlir-{version}-tools")
    command = [found, "--allow-unregistered-dialect", "--mlir-print-op-generic"]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr[:2000]
    return ended.stdout


def resources_of(text: str) -> list[bytes]:
    """The values of a module's dense resources, in order."""
    return [bytes.fromhex(digits)[4:] for digits in re.findall(r'value_\d+: "0x([0-9A-F]*)"', text)]
