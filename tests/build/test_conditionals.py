"""Lines that an instruction set never compiles, beside what the C preprocessor leaves."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.tools import requires_host_cc
from tinygen.build.conditionals import compiled_lines
from tinygen.targets.isa import Isa

DEFINED = {isa: list[str]() for isa in Isa}
DEFINED |= {Isa.DSP: ["ARM_MATH_DSP"], Isa.MVE: ["ARM_MATH_DSP", "ARM_MATH_MVEI"]}
CONDITIONS = (
    "#if defined(ARM_MATH_MVEI)",
    "#if defined ARM_MATH_DSP && !defined(ARM_MATH_MVEI)",
    "#if !defined(ARM_MATH_MVEI) || (defined(ARM_MATH_DSP) && !defined(ARM_MATH_DSP))",
    "#ifdef ARM_MATH_DSP",
    "#ifndef ARM_MATH_MVEI",
    "#if defined(__ARMCC_VERSION) && (__ARMCC_VERSION >= 6010050)",
)
UNKNOWN = "#if defined(OTHER) && OTHER >= 3", "#ifdef OTHER", "#if defined(ARM_MATH_DSP) && !defined(OTHER)"


def _nested(outer: str, inner: str) -> str:
    lines = ("a;", outer, "b;", inner, "c;", "#elif defined(ARM_MATH_DSP)", "d;", "#else", "e;", "#endif", "f;")
    return "\n".join((*lines, "#elif defined(ARM_MATH_MVEI)", "g;", "#else", "h;", "#endif", "i;"))


def _statements(text: str) -> list[str]:
    return re.findall(r"[a-i];", text)


def _preprocessed(text: str, isa: Isa, folder: Path, others: tuple[str, ...] = ()) -> list[str]:
    file = folder / "text.c"
    file.write_text(text)
    defined = [f"-D{macro}" for macro in (*DEFINED[isa], *others)]
    return _statements(subprocess.run(["cc", "-E", "-P", *defined, file], capture_output=True, text=True).stdout)


@requires_host_cc
@pytest.mark.parametrize("isa", Isa)
def test_as_the_preprocessor_has_it(isa: Isa, tmp_path: Path) -> None:
    for outer, inner in itertools.product(CONDITIONS, repeat=2):
        text = _nested(outer, inner)
        assert _statements(compiled_lines(text, isa)) == _preprocessed(text, isa, tmp_path)


@requires_host_cc
@pytest.mark.parametrize("isa", Isa)
def test_what_is_not_known_stays(isa: Isa, tmp_path: Path) -> None:
    for outer, inner in itertools.product(UNKNOWN, CONDITIONS):
        for text in (_nested(outer, inner), _nested(inner, outer)):
            kept = set(_statements(compiled_lines(text, isa)))
            assert kept >= set(_preprocessed(text, isa, tmp_path))
            assert kept >= set(_preprocessed(text, isa, tmp_path, ("OTHER=5",)))


def test_a_condition_over_two_lines_is_one() -> None:
    text = "#if defined(ARM_MATH_MVEI) && \\\n    defined(ARM_MATH_DSP)\na;\n#endif\nb;"
    assert [_statements(compiled_lines(text, isa)) for isa in (Isa.MVE, Isa.DSP)] == [["a;", "b;"], ["b;"]]
