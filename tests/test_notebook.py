"""The notebook in examples/: its cells run in order, and what they end with shows as tables."""

import ast
import json
import subprocess
import sys
from pathlib import Path

from tests.support.tools import requires_host_cc

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "tour.ipynb"
_SHOW = "shown = {}\nprint(type(shown).__name__, hasattr(shown, '_repr_html_') and '<table>' in shown._repr_html_())"


def program() -> str:
    """All cells of code; the expression that a cell ends with is shown as a notebook shows it."""
    lines = []
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body[-1]
        if isinstance(last, ast.Expr) and not isinstance(last.value, ast.Call):
            tree.body[-1:] = ast.parse(_SHOW.format(ast.unparse(last.value))).body
        lines.append(ast.unparse(tree))
    return "\n".join(lines)


@requires_host_cc
def test_the_notebook_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", program()], cwd=NOTEBOOK.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = [line for line in done.stdout.splitlines() if line.endswith(("True", "False"))]
    assert shown == ["Inspection True", "dict False", "ValidationReport True", "Run True", "Model True"]
    assert "% of 364 images" in done.stdout
    assert "digits.h" in done.stdout


def test_the_notebook_is_stored_without_results() -> None:
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
