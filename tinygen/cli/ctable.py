"""`tinygen ctable`: what stands in CTables, and whether it can be followed."""

from pathlib import Path
from typing import Annotated

import typer

from tinygen.calib.imports import Origin, import_table
from tinygen.calib.model import check_identity, load_float, prepared
from tinygen.cli.command import command as as_command
from tinygen.cli.group import NamedGroup
from tinygen.cli.single_options import Trust
from tinygen.cli.table_file import check_free_for_table, write_table
from tinygen.cli.terminal import Terminal
from tinygen.errors import MismatchError
from tinygen.option import choice
from tinygen.quant.check import violations
from tinygen.quant.compare import differences
from tinygen.quant.ctable_file import ctable_text, read_ctable, schema_text
from tinygen.quant.errors import CTableError
from tinygen.quant.widths import Widths
from tinygen.report.calibration import ctable_tables, difference_table
from tinygen.report.table import facts

Table = Annotated[Path, typer.Argument(metavar="CTABLE", help="A CTable (.ctable.json).", show_default=False)]
OtherTable = Annotated[Path, typer.Argument(metavar="OTHER", help="Another CTable.", show_default=False)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The float model of the table.", show_default=False)]

app = typer.Typer(
    cls=NamedGroup,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: tinygen ctable show kws.ctable.json",
)


@app.callback()
def ctable() -> None:
    """CTables: everything that quantization decides about a model, as a file."""


@app.command("show", epilog="Example: tinygen ctable show kws.ctable.json")
@as_command()
def show(terminal: Terminal, table: Table) -> None:
    """Print a table."""
    found = read_ctable(table)
    terminal.result(found.model_dump(mode="json"), *ctable_tables(found))


@app.command("check", epilog="Example: tinygen ctable check kws.ctable.json kws.onnx")
@as_command()
def check(terminal: Terminal, table: Table, model: Model, trust: Trust = False) -> None:
    """Check that a table can be followed for its model: all that is wrong is listed."""
    found, float_model = read_ctable(table), load_float(model, trust=trust)
    check_identity(float_model, found)
    wrong = violations(prepared(float_model.graph, "equalize" in found.preparation), found)
    terminal.result({"ok": not wrong, "violations": wrong}, *([] if wrong else [f"{table.name}: can be followed."]))
    if wrong:
        lines = "\n".join(f"  {v.code.value} '{v.name}' {v.reason}." for v in wrong)
        raise CTableError(wrong[0].code, f"{table.name}: cannot be followed, {len(wrong)} violations:\n{lines}")


@app.command("diff", epilog="Example: tinygen ctable diff max.ctable.json mse.ctable.json")
@as_command()
def diff(
    terminal: Terminal,
    table: Table,
    other: OtherTable,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Fail (5) where they differ.")] = False,
) -> None:
    """List the fields in which two tables differ."""
    found = differences(read_ctable(table), read_ctable(other))
    terminal.result({"differences": found}, difference_table(found))
    if found and exit_code:
        raise MismatchError(f"{table.name}: differs from {other.name} in {len(found)} fields, 0 were expected.")


@app.command("import", epilog="Example: tinygen ctable import kws_qat.onnx --model kws.onnx -o kws.ctable.json")
@as_command()
def import_(
    terminal: Terminal,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="What another tool has written.")],
    model: Annotated[Path, typer.Option("--model", metavar="MODEL", help="The float model that the table is for.")],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="CTable to write.")],
    widths: Widths,
    origin: Annotated[
        str | None,
        typer.Option("--from", metavar="KIND", help="qdq, tflite, ort, torch or onnc (default: by the file's name)."),
    ] = None,
    trust: Trust = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is no CTable.")] = False,
) -> None:
    """Make a table from a quantized ONNX or TFLite model, or from a file of ranges or scales."""
    check_free_for_table(out, force, (source, model))
    float_model = load_float(model, trust=trust)
    kind = None if origin is None else choice(Origin, "from", origin)
    table = import_table(source, float_model, kind, widths)
    write_table(out, ctable_text(table))
    locked = sum(entry.locked for entry in table.tensors.values())
    rows = [("table", str(out)), ("tensors", str(len(table.tensors))), ("taken over", str(locked))]
    wrong = violations(float_model.graph, table)
    if wrong:
        terminal.note(
            f"{out.name}: {len(wrong)} tensors break a constraint of the kernels; "
            f"`tinygen calibrate {model.name} --refine --ctable-in {out.name}` repairs that."
        )
    document = {"ctable": out, "tensors": len(table.tensors), "locked": locked, "violations": wrong}
    terminal.result(document, facts(f"CTable from {source.name}", rows))


@app.command("schema", epilog="Example: tinygen ctable schema > ctable.schema.json")
@as_command()
def schema(terminal: Terminal) -> None:
    """Print the JSON schema of CTables."""
    terminal.text(schema_text())
