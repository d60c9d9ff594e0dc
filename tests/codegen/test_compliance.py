"""The page on MISRA C:2012 and the check that `make check` runs."""

import re
from pathlib import Path

import pytest

from benchmarks import compliance
from benchmarks.compliance import DEVIATIONS, PAGE, Checked, broken, find_cppcheck, unexplained
from tinygen import paths

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


@pytest.mark.skipif(find_cppcheck() is None, reason="cppcheck is missing: MISRA C:2012 was not checked")
def test_rules_about_the_whole_program_are_judged_by_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pair` is used by one file of two (2.3), and `g` of a third has the name of a function of another (5.8). What
    fails leaves the record of what was found to be fine."""
    (tmp_path / "pair.h").write_text("typedef struct {\n    int a;\n} pair;\n")
    texts = {
        "f": "int f(void);\nint f(void)\n{\n    return 1;\n}\n",
        "g": "int g(const pair *p);\nint g(const pair *p)\n{\n    return p->a;\n}\n",
        "h": "int h(void);\nstatic int g(void)\n{\n    return 1;\n}\nint h(void)\n{\n    return g();\n}\n",
    }
    files = []
    for name, text in texts.items():
        (tmp_path / f"{name}.c").write_text(f'#include "pair.h"\n\n{text}')
        files.append(Checked(tmp_path / f"{name}.c", (), is_generated=False))
    f, g, h = files
    cppcheck = find_cppcheck()
    assert cppcheck
    assert [unexplained(broken(cppcheck, [alone])) for alone in files] == [["2.3"], [], ["2.3"]]
    monkeypatch.setattr(compliance, "RECORD", tmp_path / "record.txt")
    monkeypatch.setattr(paths, "cache", lambda: tmp_path)
    (tmp_path / "compliance").mkdir()
    for present, rule in (([g], None), ([f, g], None), ([f, g, h], "5.8"), ([f], "2.3"), ([f, g], None)):
        monkeypatch.setattr(compliance, "checked_files", lambda _, present=present: present)
        if rule is None:
            compliance.check(cppcheck, "version")
        else:
            with pytest.raises(SystemExit, match=rf"rule {re.escape(rule)}: broken"):
                compliance.check(cppcheck, "version")
