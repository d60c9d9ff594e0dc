"""The page on MISRA C:2012 and the check that `make check` runs."""

from pathlib import Path

import pytest

from benchmarks.compliance import DEVIATIONS, PAGE, Checked, broken, find_cppcheck, unexplained

NEW = "int f(int x);\nint f(int x)\n{\n    if (x != 0) {\n        goto end;\n    }\nend:\n    return x;\n}\n"  # 15.1


def test_the_page_explains_each_deviation() -> None:
    lines = PAGE.read_text().splitlines()
    for rule, said in DEVIATIONS.items():
        (line,) = (line for line in lines if line.startswith(f"| {rule} |"))
        assert line.startswith(f"| {rule} | {said['category']} | {said['asks']} |")
        assert line.endswith(f"| {said['reason']} |")


@pytest.mark.skipif(find_cppcheck() is None, reason="cppcheck is missing: MISRA C:2012 was not checked")
def test_what_is_new_is_found(tmp_path: Path) -> None:
    file = tmp_path / "new.c"
    file.write_text(NEW)
    cppcheck = find_cppcheck()
    assert cppcheck
    rules = broken(cppcheck, [Checked(file, (), is_generated=True)])
    assert rules["15.1"] == {"generated"}
    assert unexplained(rules) == ["15.1"]
