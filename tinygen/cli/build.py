"""`tinygen build`: a product's tinygen.toml becomes its folder of C."""

from pathlib import Path
from typing import Annotated

import typer

from tinygen.cli.command import command as as_command
from tinygen.cli.compile import compile_networks
from tinygen.cli.single_options import Trust
from tinygen.cli.terminal import Terminal
from tinygen.tasks.product_file import PRODUCT_FILE, read_product

ProductFile = Annotated[
    Path, typer.Argument(metavar="[FILE]", help="The product's file, or its folder (`tinygen new` writes one).")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that tinygen did not write.")]


@as_command()
def command(
    terminal: Terminal, file: ProductFile = Path(PRODUCT_FILE), trust: Trust = False, force: Force = False
) -> None:
    """Write the C of a product, as its tinygen.toml says: the same options give the same bytes."""
    product = read_product(file, trust)
    compile_networks(terminal, product.models, product.output, product.options, product.joining, product.project, force)
