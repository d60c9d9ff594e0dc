"""Derives the figures of README.md, docs/ and benchmarks/ again, and fails where the text has others.

    python -m benchmarks.check [--quick] [--write] [PAGE ...]

Without `--quick` that is everything: marked numbers, made tables, and all pages that programs make, which takes hours.
Pages that were right are remembered in build/ for as long as no file but a page changes, so that a run that was ended
goes on where it was. With `--quick`, what is stored is compared, and what takes seconds is measured. `--write` puts
what was found into the pages, and what programs store beside theirs.
`benchmarks/marks.py` says how numbers are marked, `figures.toml` where they come from, and what needs no mark.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from benchmarks.made import TABLES
from benchmarks.marks import Figure, blocks, figures, marks
from benchmarks.sources import (
    CHECKOUT,
    FigureError,
    MadePage,
    evaluate,
    explained,
    is_quick,
    made_pages,
    names,
    unrepeated,
)
from tinygen import paths
from tinygen.system.work import work_folder

_REMEMBERED = CHECKOUT / "build" / "bench-check.json"
_MOST_SHOWN = 8  # lines of a page that are others


@dataclass(frozen=True)
class Difference:
    """A number that is another one now."""

    figure: Figure
    found: str


def pages() -> list[str]:
    """All that are looked at, by name from the checkout."""
    folders = (CHECKOUT.glob("README.md"), CHECKOUT.glob("docs/*.md"), CHECKOUT.glob("benchmarks/**/*.md"))
    return sorted(str(page.relative_to(CHECKOUT)) for page in chain(*folders))


def text_of(page: str) -> str:
    """What stands in it."""
    return (CHECKOUT / page).read_text(encoding="utf-8")


def unexplained(page: str, text: str) -> Iterator[str]:
    """Numbers without a mark that the list does not explain, and marks that lead nowhere."""
    known = [entry.pattern for entry in (*explained(), *unrepeated()) if entry.page.fullmatch(page)]
    spans = [found.span() for pattern in known for found in pattern.finditer(text)]
    seen = 0
    for figure in figures(text):
        where = f"{page}:{figure.line}: {figure.text} {figure.unit}".rstrip()
        if figure.source is not None:
            seen += 1
            yield from (f"{where}: {fault}" for fault in _faults(figure, figure.source))
        elif not any(first <= figure.start and figure.end <= last for first, last in spans):
            yield f"{where}: is neither marked nor explained in figures.toml"
    if seen != len(list(marks(text))):
        yield f"{page}: has {len(list(marks(text)))} marks, of which {seen} stand behind a number"
    yield from (f"{page}: table {block.name} is unknown" for block in blocks(text) if block.name not in TABLES)


def _faults(figure: Figure, source: str) -> Iterator[str]:
    """What is wrong with a mark itself."""
    if source.startswith("tests/"):
        digits = figure.text.replace(",", "")
        file = CHECKOUT / source
        spelled = rf"(?<![\d.]){re.escape(digits)}(?![\d.])"
        if not file.is_file() or not re.search(spelled, file.read_text(encoding="utf-8").replace("_", "")):
            yield f"{source} does not hold it"
        return
    try:
        known = list(names(source))
        is_quick(source)
    except FigureError as error:
        yield str(error)
        return
    if not known:
        yield f"'{source}' names no source"


def stale() -> Iterator[str]:
    """Entries of the list that explain nothing, and pages that are not there."""
    texts = {page: text_of(page) for page in pages()}
    for entry in (*explained(), *unrepeated()):
        if not any(entry.page.fullmatch(page) and entry.pattern.search(text) for page, text in texts.items()):
            yield f"figures.toml: '{entry.pattern.pattern}' explains nothing"
    yield from (f"figures.toml: {page} is not there" for page in made_pages() if page not in texts)


def differences(text: str, quick_only: bool, missing: dict[str, None] | None = None) -> Iterator[Difference]:
    """Marked numbers that are others when they are derived again.

    FigureError where that is impossible; with `missing`, what they say is noted there, and the others are derived.
    """
    for figure in figures(text):
        if figure.source is None or figure.source.startswith("tests/") or (quick_only and not is_quick(figure.source)):
            continue
        try:
            found = figure.written(evaluate(figure.source))
        except FigureError as error:
            if missing is None:
                raise
            missing[str(error)] = None
            continue
        if found != figure.text:
            yield Difference(figure, found)


def written(text: str, found: Sequence[Difference]) -> str:
    """The page with the numbers that were found, and its tables made anew."""
    for difference in sorted(found, key=lambda each: -each.figure.start):
        text = text[: difference.figure.start] + difference.found + text[difference.figure.end :]
    for block in reversed(list(blocks(text))):
        text = text[: block.start] + TABLES[block.name]() + text[block.end :]
    return text


def _check(page: str, quick_only: bool, writes: bool) -> Iterator[str]:
    text = text_of(page)
    faults = list(unexplained(page, text))
    if faults:
        yield from faults
        return
    missing: dict[str, None] = {}
    found = list(differences(text, quick_only, missing))
    yield from (f"{page}: {error}" for error in missing)
    fresh = written(text, found)
    if writes and fresh != text:
        (CHECKOUT / page).write_text(fresh, encoding="utf-8")
        return
    for each in found:
        yield f"{page}:{each.figure.line}: {each.figure.text} is {each.found} now ({each.figure.source})"
    for old, new in zip(blocks(text), blocks(written(text, ())), strict=True):
        if old.text != new.text:
            yield f"{page}: table {old.name} is another one now"


def _make(page: str, made: MadePage, writes: bool) -> Iterator[str]:
    """Run the program that makes a page, in a copy of the checkout, and compare."""
    with work_folder() as folder:
        copy = _copied(folder)
        library = paths.cmsis_nn()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PYTHONPATH": str(copy), "PATH": path}
        if library is not None:
            environment["TINYGEN_CMSIS_NN"] = str(library.resolve())
        command = ["python", "-m", "pytest", "-q", made.command] if made.is_tested else shlex.split(made.command)
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            yield f"{page}: {made.command} ended with {done.returncode}: {(done.stdout + done.stderr)[-800:]}"
            return
        fresh = (copy / page).read_text(encoding="utf-8")
        if writes:
            _put_back(copy, Path(page))
    if not writes and _fixed(fresh, made) != _fixed(text_of(page), made):
        yield f"{page}: {made.command} makes another page now{_changed(text_of(page), fresh, made)}"


def _copied(folder: Path) -> Path:
    """What is in git, as it is now, beside the reference data."""
    copy = folder / "checkout"
    for name in _in_git():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, copy / name)
    for beside, place in ((CHECKOUT.parent / "shared", folder / "shared"), (CHECKOUT / "models", copy / "models")):
        if beside.is_dir():
            place.symlink_to(beside, target_is_directory=True)
    return copy


def _put_back(copy: Path, page: Path) -> None:
    """The page that a program has made in a copy of the checkout, and what it stores beside it under the same name."""
    for made in (copy / page.parent).iterdir():
        if made.is_file() and (made.stem == page.stem or made.name == ".tinygen.json"):
            shutil.copy(made, CHECKOUT / page.parent / made.name)


def _changed(before: str, after: str, made: MadePage) -> str:
    """The first lines that are others, as both pages have them."""
    lines = zip_longest(before.splitlines(), after.splitlines(), fillvalue="")
    others = [pair for pair in lines if _fixed(pair[0], made) != _fixed(pair[1], made)]
    return "".join(f"\n  - {old}\n  + {new}" for old, new in others[:_MOST_SHOWN])


def _in_git() -> Iterator[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    return (name for name in listed.split("\0") if name and (CHECKOUT / name).is_file())


def _state() -> str:
    """A digest of all that figures are made of here: what is in git, but for pages, and CMSIS-NN's place."""
    digest = hashlib.sha256(str(paths.cmsis_nn()).encode())
    for name in _in_git():
        if not name.endswith(".md"):
            digest.update(name.encode())
            digest.update((CHECKOUT / name).read_bytes())
    return digest.hexdigest()


def _page_digest(page: str) -> str:
    return hashlib.sha256(text_of(page).encode()).hexdigest()


def _right_before(state: str) -> dict[str, str]:
    """Digests of the pages that were right when all else was as it is."""
    if not _REMEMBERED.exists():
        return {}
    stored = json.loads(_REMEMBERED.read_text(encoding="utf-8"))
    known: dict[str, str] = stored["pages"] if stored["state"] == state else {}
    return known


def _remember(state: str, right: dict[str, str]) -> None:
    _REMEMBERED.parent.mkdir(exist_ok=True)
    _REMEMBERED.write_text(json.dumps({"state": state, "pages": right}, indent=1) + "\n", encoding="utf-8")


def _fixed(text: str, made: MadePage) -> str:
    """Without what is another number each time."""
    return text if made.varies is None else re.sub(made.varies, "*", text)


def main() -> int:
    """Look at all pages, or at those that are named; 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as docs/kernels.md (default: all)")
    parser.add_argument("--quick", action="store_true", help="only what takes seconds")
    parser.add_argument("--write", action="store_true", help="put what was found into the pages")
    given = parser.parse_args()
    print(f"{len(unrepeated())} entries of figures.toml say what no program repeats yet")
    made, faults = made_pages(), 0 if given.pages else _said(stale())
    state = _state()
    right = _right_before(state)
    for page in given.pages or pages():
        if right.get(page) == _page_digest(page):
            print(f"{page}: was right before, and nothing has changed since", flush=True)
            continue
        if page in made:
            found = 0 if given.quick else _said(_make(page, made[page], given.write))
        else:
            found = _said(_check(page, given.quick, given.write))
        faults += found
        if not (found or given.quick or given.write):
            _remember(state, right := {**right, page: _page_digest(page)})
    print(f"{faults} figures are not those of the pages" if faults else "all figures are those of the pages")
    return 1 if faults else 0


def _said(faults: Iterator[str]) -> int:
    """How many there are, each printed as it is found."""
    number = 0
    try:
        for fault in faults:
            print(fault, flush=True)
            number += 1
    except FigureError as error:
        print(error, flush=True)
        number += 1
    return number


if __name__ == "__main__":
    sys.exit(main())
