"""Which options keep the bits of the reference model, as the page for submitters says of the closed division."""

import re
from pathlib import Path

import pytest

from tests.support.models import golden_tflm, largest_difference, model_file, run_with
from tests.support.tools import requires_host_cc
from tinygen.options import options_from_text
from tinygen.pipeline import compile_model

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "mlperf.md"
_KWS, _VWW = "kws_ref_model", "vww_96_int8"
_TRIED = {
    "-O": [("optimize", goal, _KWS) for goal in ("time", "balanced", "ram", "size")],
    "--ram": [("ram", "5K", _KWS)],
    "--flash": [("flash", "34K", _KWS)],
    "--kernels": [("kernels", "portable", _KWS)],
    "--input": [("input", mode, _KWS) for mode in ("streamed", "rereadable")],
    "--results": [("results", "stored", _KWS)],
    "--shrink auto": [("shrink", "auto", _VWW)],
    "--shrink off": [("shrink", "off", _VWW)],
}


def _table() -> dict[str, str]:
    """By option: what is said of the bits."""
    text = _PAGE.read_text(encoding="utf-8")
    section = text.partition("### Options and the closed division")[2].partition("\n`--shrink`")[0]
    rows = re.findall(r"^\| (.*`-.*) \| .* \| (.*) \|$", section, re.MULTILINE)
    return {option: bits for options, bits in rows for option in re.findall(r"`(-[^`]*)`", options)}


def test_every_option_of_the_table_is_tried() -> None:
    """`--stream time` has tests of its own: tests/verify/test_streams.py."""
    assert _table() == dict.fromkeys((*_TRIED, "--stream time"), "the same")


@requires_host_cc
@pytest.mark.parametrize(("name", "value", "model"), [case for cases in _TRIED.values() for case in cases])
def test_options_of_the_closed_division_keep_the_bits(name: str, value: str, model: str, tmp_path: Path) -> None:
    """The host's build gives what TFLite Micro gives, byte by byte."""
    compiled = compile_model(model_file(model), options_from_text("host", **{name: value}))
    inputs, expected = golden_tflm(model, compiled)
    assert largest_difference(run_with(compiled, tmp_path, inputs).outputs, expected) == 0


def test_what_leaves_out_channels_does_so_by_default() -> None:
    """`--shrink off` is another build of VWW, so that trying both says something."""
    whole, shrunk = (
        compile_model(model_file(_VWW), options_from_text("host", shrink=x)).schedule for x in ("off", None)
    )
    assert 3_500_000 < whole.graph.macs - shrunk.graph.macs < 4_000_000
