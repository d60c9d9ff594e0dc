"""Mutation rounds: which small mistakes in what decides about correctness no test would notice.

    python -m benchmarks.mutation [--rooms checker,lifetimes] [--sample 40] [--seed 1] [--again]

Of each room a sample of all its mutants (tests/support/mutants.py) is tried in a copy of the project: a mutant is
killed where the room's tests fail, or take more than ten times the CPU time that they take without it. The clock kills
none, as a busy machine would kill too: timeouts of tests become CPU time, and a mutant whose tests do nothing for long
is said to be late, not counted, and tried again by the next round. Tests that compare texts with golden ones or with
digests are not among them: they fail for any change. What is measured goes to mutation.json, mutant by mutant, so that
a round that was ended goes on where it was, and a larger sample adds to a smaller one of its seed.
The tables of mutation.md follow from it. mutation_equal.toml names the mutants that compute the same, with the reason,
mutation_known.toml mistakes that were not noticed once, which are tried one by one as a room of their own.
"""

import argparse
import hashlib
import io
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2  # noqa: F401 - imported once, before processes fork
import numpy as np  # noqa: F401
import onnx  # noqa: F401
import pydantic  # noqa: F401
import pytest
import tflite  # noqa: F401

from tests.support.mutants import Mutant, mutants
from tinygen import paths

_ROOT = Path(__file__).resolve().parents[1]
_COPIED = (
    "tinygen",
    "templates",
    "runtime_c",
    "boards",
    "tests",
    "examples",
    "benchmarks",
    "pyproject.toml",
    "LICENSE",
)
_RESULTS = _ROOT / "benchmarks" / "mutation.json"
_PAGE = _ROOT / "benchmarks" / "mutation.md"
_EQUAL = _ROOT / "benchmarks" / "mutation_equal.toml"
_KNOWN = _ROOT / "benchmarks" / "mutation_known.toml"
_KNOWN_ROOM = "known survivors"
_SLOWER = 10  # times what tests take without a mutant
_LEAST_CPU_S = 30
_PROGRAM_CPU_S = 30  # of one program that tests run with a timeout: without a mutant none takes a third of it
_SHOWN_CHARACTERS = 3000
_GOAL = 0.95
_INCLUDED = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)[">]', re.MULTILINE)
_INTRODUCTION = f"""# Mutation rounds

Small mistakes are put into the code, one at a time, and the tests of the room are run: a mistake that none of them
notices is a survivor. By `make mutation` (`python -m benchmarks.mutation`), on a sample of all mutants of each room,
drawn from the seed; the goal is {_GOAL:.0%} of those that change what is computed. Texts that are compared with golden
ones and digests of sources would notice any change and do not count. Python, C and templates go the same way, which is
why this is no mutation library for Python: mutmut and cosmic-ray know no C.

*Equal* mutants compute the same, for the reason in `mutation_equal.toml`; the rate is killed / (tried - equal).
"""


@dataclass(frozen=True)
class Room:
    """Files, and the tests that should notice mistakes in them."""

    files: tuple[str, ...]  # patterns; behind ! of those that are left out
    tests: tuple[str, ...]  # arguments of pytest, the quickest first
    needs_cmsis: bool = False  # some of them are skipped without


_PLACEMENT = "tests/planner/test_placement.py"
_OPERATORS_RUN = (
    "tests/kernels/test_tg_movement.py::test_outputs_that_are_inputs_constants_or_each_other_are_right",
    "tests/kernels/test_operators_run.py::test_operators_run[host-portable-sanitized]",
    "tests/kernels/test_operators_run.py::test_uint8_runs[host-portable-sanitized]",
    "tests/kernels/test_tg_movement.py::test_generated_code_moves_what_litert_moves",
    "tests/kernels/test_tg_elementwise.py::test_networks_against_litert",
)
_ROWS_AS_THEY_COME = "tests/models/test_row_operators.py::test_a_fully_connected_layer_takes_rows_as_they_come"
_SUMS = ("add_products", "add_channel_products", "scale_products", "sum_rows")
_PACKED = ("fully_connected_squeezed_s8", "fully_connected_huffman_s8")
_PACKED_TEMPLATES = (*_PACKED, "compact_layer")
_STATES = ("svdf", "lstm", "recurrent", "native_ring", "native_mve_ring")
_PADDED = "tests/kernels/test_native_fences.py::test_padding_of_more_than_filters_reach"
_RINGS = "tests/passes/test_ring_readers.py::test_item_17_rings_of_all_readers"
_LIBRARY = "tests/kernels/test_library_recurrent.py::test_item_17_library"


def _native(files: Sequence[str], families: Sequence[str], *more: str) -> "Room":
    """A family of native C: random layers on the host and on an M4, whose assembly is another path, and on RISC-V, for
    which some lines stand in the C."""
    tests = "tests/kernels/test_native_kernels.py::test_"
    run = [f"random_layers[{target}-{family}]" for target in ("host-sanitized", "m4") for family in families]
    run += [f"random_layers_on_riscv[{family}]" for family in families]
    folder = "runtime_c/native/dsp"
    return Room(
        (*(f"{folder}/tg_native_{file}" for file in files), f"!{folder}/*_rv32.h", f"!{folder}/*thumb1.h"),
        (*(f"{tests}{name}" for name in (*run, *more)), *(f"{_PADDED}[{target}]" for target in ("host-host", "rv32"))),
    )


def _vectors(isa: str, files: Sequence[str], names: Sequence[str]) -> "Room":
    """Kernels of an instruction set's vectors, by names of tests."""
    folder, tests = f"runtime_c/native/{isa}/tg_native_{isa}_", f"tests/kernels/test_native_{isa}.py::test_"
    padded = f"{_PADDED}[{'host-mve' if isa == 'mve' else 'host-zve32x'}]"
    return Room(tuple(f"{folder}{file}" for file in files), (*(f"{tests}{name}" for name in names), padded))


def _mve(files: Sequence[str], families: Sequence[str], *more: str) -> "Room":
    run = [f"random_layers[{target}-{family}]" for target in ("host-sanitized", "m55") for family in families]
    return _vectors("mve", files, [*more, *run])


ROOMS = {
    "checker": Room(
        ("tinygen/planner/schedule/check.py",),
        (
            "tests/planner/test_check.py",
            "tests/planner/test_stores.py",
            "tests/planner/test_strips.py::test_defects_of_copied_columns_are_found",
            "tests/planner/test_strips.py::test_defects_of_moved_rows_are_found",
            "tests/planner/test_planes.py",
            "tests/planner/test_slices.py::test_broken_slices_are_found",
        ),
    ),
    "lifetimes": Room(
        ("tinygen/planner/memory/lifetimes.py", "tinygen/planner/memory/block.py"),
        (
            "tests/planner/test_lifetimes.py",
            f"{_PLACEMENT}::test_distances_are_forbidden_exactly_where_live_parts_meet",
            f"{_PLACEMENT}::test_parts_never_meet_and_the_arena_is_never_below_the_bound",
            f"{_PLACEMENT}::test_few_blocks_take_the_smallest_arena",
        ),
    ),
    "placement": Room(
        ("tinygen/planner/memory/first_fit.py", "tinygen/planner/memory/occupancy.py"),
        (
            "tests/planner/test_lifetimes.py",
            "tests/planner/test_occupancy.py",
            "tests/planner/test_branching.py::test_blocks_that_nothing_changed_for_stay",
            "tests/planner/test_planes.py::test_a_line_is_live_as_a_whole_while_rows_of_planes_pass_and_only_then",
            f"{_PLACEMENT}::test_parts_never_meet_and_the_arena_is_never_below_the_bound",
            f"{_PLACEMENT}::test_never_overlapping_and_never_below_the_bound",
        ),
    ),
    "requantization": Room(("tinygen/ops/requantize.py",), ("tests/ops/test_requantize.py",)),
    "rounding": Room(("tinygen/quant/rounding.py",), ("tests/quant/test_rounding.py",)),
    "proofs of native kernels": Room(
        (
            "tinygen/kernels/native/requantization*.py",
            "tinygen/kernels/native/joining.py",
            "tinygen/kernels/native/linear.py",
        ),
        (
            "tests/kernels/test_native_joining.py",
            "tests/kernels/test_native_kernels.py::test_random_layers[host-sanitized-edge_fully_connected]",
            "tests/kernels/test_native_kernels.py::test_random_layers[host-sanitized-edge_convolution]",
            "tests/kernels/test_native_requantization.py",
        ),
    ),
    "lowerings": Room(
        ("tinygen/kernels/cmsis_nn/*.py",),
        (
            "tests/kernels/test_depthwise_as_convolution.py::test_where_it_is_cheaper",
            "tests/kernels/test_select.py",
            "tests/kernels/test_narrow_weights.py::test_which_depthwise_layers_are_the_library_s",
            "tests/kernels/test_scratch.py",
            "tests/kernels/test_cmsis_nn_reference.py",
            "tests/kernels/test_narrow_weights.py::test_layers_run[int4-host-cmsis]",
            "tests/kernels/test_narrow_weights.py::test_layers_run[mixed-host-cmsis]",
            *_OPERATORS_RUN,
        ),
        needs_cmsis=True,
    ),
    "templates of sums": Room(
        tuple(f"templates/ops/{name}_*.j2" for name in _SUMS),
        (
            "tests/models/test_row_operators.py::test_an_average_of_two_rows_shows_every_sum",
            "tests/models/test_row_operators.py::test_scaled_sums_end_with_the_output",
            "tests/models/test_slices.py::test_any_number_of_slices[two_layers-5]",
            "tests/models/test_slices.py::test_any_number_of_slices[bottleneck-2]",
            "tests/models/test_slices.py::test_any_number_of_slices[head-2]",
            *(f"{_ROWS_AS_THEY_COME}[single-{order}-host-Library.PORTABLE]" for order in ("up", "down")),
            "tests/planner/test_passes.py::test_c_finds_ranges_and_means_as_rows_come[host-sanitized]",
        ),
    ),
    "templates of states": Room(
        tuple(f"templates/ops/{name}*.j2" for name in _STATES),
        (
            *(f"{_RINGS}_as_tflm_has_variables[1-{board}-Kernels.AUTO]" for board in ("mps2-an386", "mps3-an547")),
            *(f"{_LIBRARY}_svdf[host-{seed}]" for seed in (0, 1, 4, 6, 7, 12)),
            "tests/ops/test_recurrent_onnx.py::test_item_17_random_layers[0-LSTM]",
            f"{_RINGS}_begin_anew",
            f"{_LIBRARY}_lstm",
        ),
        needs_cmsis=True,
    ),
    "other templates": Room(
        ("templates/ops/*.j2", *(f"!templates/ops/{name}*.j2" for name in (*_SUMS, *_STATES, *_PACKED_TEMPLATES))),
        (
            *_OPERATORS_RUN,
            "tests/models/test_slices.py::test_any_number_of_slices[narrow-2]",
            "tests/kernels/test_operators_run.py::test_operators_run[host-cmsis]",
            "tests/kernels/test_int16.py::test_layers_run[host-portable]",
            "tests/kernels/test_int16.py::test_layers_run[host-cmsis]",
            "tests/kernels/test_dynamic_layers.py::test_s1_01_c_equals_the_references[host-sanitized]",
        ),
        needs_cmsis=True,
    ),
    "packed constants": Room(
        (
            "tinygen/kernels/squeezing.py",
            "tinygen/kernels/huffman.py",
            "tinygen/kernels/tinygen_c/compact.py",
            "tinygen/kernels/tinygen_c/squeezed.py",
            "tinygen/kernels/tinygen_c/huffman.py",
            "runtime_c/operators/tg_squeezed*.h",
            "runtime_c/operators/tg_huffman.h",
            *(f"runtime_c/operators/tg_{name}.c" for name in _PACKED),
            *(f"templates/ops/{name}.c.j2" for name in _PACKED_TEMPLATES),
        ),
        ("tests/kernels/test_squeezed_weights.py", "tests/kernels/test_huffman_weights.py"),
    ),
    "native C: products": _native(
        ("gemm.[ch]", "gemm_body.h", "gemm_dsp.h", "gemm_thumb2.h", "blocks.[ch]", "convolve.c", "arithmetic.h"),
        ("convolution", "edge_convolution", "small_filters"),
        "random_layers_without_dsp[convolution]",
        "random_layers_without_dsp[fully_connected]",
    ),
    "native C: runs": _native(
        ("convolve_runs.c", "multiply_runs_body.h"),
        (),
        *(
            f"random_layers_by_runs[{target}-{family}]"
            for target in ("host-sanitized", "m4")
            for family in ("convolution", "edge_convolution", "fully_connected", "edge_fully_connected")
        ),
    ),
    "native C: packing": _native(
        ("pack_pixels.c", "pack_shallow.c", "pack_windows.c", "columns.h"),
        ("convolution", "few_pixels", "first_layers", "small_filters", "edge_convolution"),
    ),
    "native C: twins": _native(
        (
            "gemm_twin.c",
            "gemm_twin_body.h",
            "gemm_twin8.[ch]",
            "gemm_twin8_body.h",
            "gemv_twin8.[ch]",
            "twin8.c",
            "pack_*twin*.c",
            "side_by_side.h",
        ),
        (),
        *(f"two_pixels_at_once_in_c[{family}]" for family in ("wide_rows", "convolution", "edge_convolution")),
        *(f"channels_one_by_one_in_c[{family}]" for family in ("wide_rows", "convolution", "edge_convolution")),
        *(f"pairs_of_units_one_by_one_in_c[{family}]" for family in ("fully_connected", "edge_fully_connected")),
        *(f"two_units_at_once_in_c[{family}]" for family in ("fully_connected", "edge_fully_connected")),
    ),
    "native C: Winograd": _native(
        ("winograd*",),
        ("small_filters", "row_filters", "edge_convolution"),
        "random_layers_in_tiles",
    ),
    "native C: depthwise": _native(
        ("plane*", "depthwise.c", "gather.c"), ("depthwise", "edge_depthwise"), "random_layers_without_dsp[depthwise]"
    ),
    "native C: vectors": _native(
        ("gemv.[ch]", "gemv_body.h", "fully_connected.c", "rows_body.h"),
        ("fully_connected", "edge_fully_connected"),
        "random_layers_without_dsp[fully_connected]",
        "two_units_at_once_in_c[fully_connected]",
    ),
    "native C: sums and pools": _native(("add.c", "pool.[ch]", "clamp_s8.c"), ("addition", "pooling")),
    "native C: products of MVE": _mve(
        ("convolve.c", "fully_connected_s8.c", "gemm*", "pixels.c", "strips.c", "windows.*"),
        ("fully_connected", "edge_fully_connected", "edge_convolution", "convolution"),
    ),
    "native C: channels of MVE": _mve(
        (
            "*pool*",
            "add_s8.c",
            "arithmetic.h",
            "clamp.h",
            "copy.h",
            "depthwise.c",
            "dots*",
            "lanes*",
            "multiply_s8.c",
            "pack_words.c",
            "planes*",
            "tiles*",
        ),
        ("multiplication", "pooling", "dilated_filters", "depthwise", "edge_depthwise", "addition", "line_filters"),
        "filters_of_most_taps",
    ),
    "native C: vectors of RISC-V": _vectors(
        "rvv",
        ("*",),
        [
            "windows_beside_the_input",
            *(
                f"random_layers{where}{family}{bits}]"
                for where, bits in (("_in_c[", ""), ("[", "-64"))
                for family in ("edge_fully_connected", "edge_convolution", "convolution", "depthwise", "edge_depthwise")
            ),
        ],
    ),
}

_ALL = (_KNOWN_ROOM, *ROOMS)


@dataclass(frozen=True)
class Found:
    """What became of one mutant."""

    file: str
    line: int
    before: str
    after: str
    is_killed: bool


@dataclass(frozen=True)
class Outcome:
    """Of a room: how many mutants there are, and what became of a sample."""

    all: int
    seed: int
    tried: tuple[Found, ...]


def measure(room: Room, sample: int, seed: int, before: Outcome | None) -> Iterator[Outcome]:
    """Try a sample of the room's mutants, those of the same seed that were tried before left out; after each."""
    population = _population(room)
    is_begun = before is not None and before.seed == seed
    outcome = Outcome(len(population), seed, before.tried if before is not None and is_begun else ())
    known = {_key(found) for found in outcome.tried}
    drawn = random.Random(seed).sample(population, min(sample, len(population)))
    for found in _try_all(room, [each for each in drawn if _key(_found(*each, False)) not in known]):
        outcome = replace(outcome, tried=(*outcome.tried, found))
        yield outcome


def retry(room: Room, outcome: Outcome) -> Iterator[Outcome]:
    """Try the survivors again, by tests that have come since; after each."""
    left = {_key(found) for found in outcome.tried if not found.is_killed} - _equal()
    for now in _try_all(room, [each for each in _population(room) if _key(_found(*each, False)) in left]):
        outcome = replace(outcome, tried=tuple(now if _key(now) == _key(each) else each for each in outcome.tried))
        yield outcome


@dataclass(frozen=True)
class Known:
    """A mistake that was not noticed once."""

    what: str
    file: str
    before: str  # stands once in the file
    after: str
    test: str  # that notices it now

    @property
    def mutant(self) -> Mutant:
        """The change of the file; SystemExit where it does not say what is changed."""
        text, before = (_ROOT / self.file).read_bytes(), self.before.encode()
        if text.count(before) != 1:
            raise SystemExit(f"mutation_known.toml: '{self.before}' stands {text.count(before)} times in {self.file}")
        start = text.index(before)
        return Mutant(start, start + len(before), self.after.encode())


def known() -> list[Known]:
    """Those of mutation_known.toml."""
    return [Known(**entry) for entry in tomllib.loads(_KNOWN.read_text(encoding="utf-8"))["known"]]


def measure_known(before: Outcome | None) -> Iterator[Outcome]:
    """Try each by its own test, those left out that were killed `before`; after each."""
    killed = tuple(found for found in before.tried if found.is_killed) if before else ()
    outcome, done = Outcome(len(known()), 0, killed), {_key(found) for found in killed}
    for test, group in groupby(known(), lambda entry: entry.test):
        chosen = [(_ROOT / entry.file, entry.mutant) for entry in group]
        for found in _try_all(Room((), (test,)), [each for each in chosen if _key(_found(*each, False)) not in done]):
            outcome = replace(outcome, tried=(*outcome.tried, found))
            yield outcome


def room_files(room: Room) -> list[Path]:
    """Those that the room's patterns name."""
    found = {is_out: set[Path]() for is_out in (False, True)}
    for pattern in room.files:
        found[pattern.startswith("!")] |= set(_ROOT.glob(pattern.removeprefix("!")))
    return sorted(found[False] - found[True])


def _population(room: Room) -> list[tuple[Path, Mutant]]:
    return [(file, mutant) for file in room_files(room) for mutant in mutants(file.name, file.read_bytes())]


def _found(file: Path, mutant: Mutant, is_killed: bool) -> Found:
    text = file.read_bytes()
    return Found(str(file.relative_to(_ROOT)), mutant.line(text), *mutant.lines(text), is_killed)


def _try_all(room: Room, chosen: Sequence[tuple[Path, Mutant]]) -> Iterator[Found]:
    """What becomes of mutants in a copy of the project; SystemExit where its tests fail without any."""
    if not chosen:
        return
    if room.needs_cmsis and paths.cmsis_nn() is None:
        raise SystemExit("CMSIS-NN is missing, without which tests of this room are skipped")
    with tempfile.TemporaryDirectory(prefix="tinygen-") as folder:
        place = _copied(Path(folder))
        status, cpu_s = _run(place, room.tests, 0)
        if status:
            raise SystemExit(f"the tests fail without a mutant: {' '.join(room.tests)}")
        limit_s = max(_LEAST_CPU_S, int(_SLOWER * cpu_s))
        outcomes = (_tried(place, file, mutant, room, limit_s) for file, mutant in chosen)
        yield from (found for found in outcomes if found is not None)


def _copied(folder: Path) -> Path:
    place = folder / "project"
    place.mkdir()
    for name in _COPIED:
        if (_ROOT / name).is_dir():
            shutil.copytree(_ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(_ROOT / name, place / name)
    if (_ROOT.parent / "shared").exists():  # models, by the place that tests know
        (folder / "shared").symlink_to((_ROOT.parent / "shared").resolve())
    if paths.cache().is_dir():  # libraries of unchanged sources: entries are replaced, never written to
        shutil.copytree(
            paths.cache(), folder / "cache", copy_function=_linked, ignore=shutil.ignore_patterns("*.lock", ".*")
        )
    return place


def _linked(source: str, copy: str) -> None:
    """A second name of the file, or a copy on another file system."""
    try:
        os.link(source, copy)
    except OSError:
        shutil.copy2(source, copy)


def _tried(place: Path, file: Path, mutant: Mutant, room: Room, limit_s: int) -> Found | None:
    """What becomes of one; None where the clock ran out, which decides nothing."""
    text, changed = file.read_bytes(), place / file.relative_to(_ROOT)
    changed.write_bytes(mutant.apply(text))
    for stale in changed.parent.glob(f"__pycache__/{changed.stem}.*.pyc"):
        stale.unlink()
    status, _ = _run(place, room.tests, limit_s)
    changed.write_bytes(text)
    found = _found(file, mutant, status != 0)
    is_late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
    verdict = "LATE    " if is_late else "killed  " if found.is_killed else "SURVIVED"
    print(f"{verdict} {found.file}:{found.line}: {found.before} -> {found.after}", flush=True)
    return None if is_late else found


def _run(place: Path, tests: Sequence[str], limit_s: int) -> tuple[int, float]:
    """The tests' status in a process of its own, and the CPU time of that and of what it starts; 0: no limit."""
    child = os.fork()
    if not child:
        os._exit(_in_child(place, tests, limit_s))
    _, status, used = os.wait4(child, 0)
    return status, used.ru_utime + used.ru_stime


def _in_child(place: Path, tests: Sequence[str], limit_s: int) -> int:
    if limit_s:
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
        signal.alarm(_SLOWER * limit_s)  # for what waits for ever
    subprocess.run = partial(compiled_once, partial(in_cpu_time, subprocess.run), place.parent / "objects")
    os.chdir(place)
    os.environ["TINYGEN_CACHE"] = str(place.parent / "cache")  # the user's is not for libraries of mutants
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "tinygen", "benchmarks")]:
        del sys.modules[name]
    sys.path[:] = [str(place), *(entry for entry in sys.path if entry not in ("", str(_ROOT)))]
    silence = io.StringIO()
    with redirect_stdout(silence), redirect_stderr(silence):
        status = int(pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", *tests]))
    if status and not limit_s:  # without a mutant: what is wrong
        print(silence.getvalue()[-_SHOWN_CHARACTERS:], file=sys.stderr, flush=True)
    return status


def in_cpu_time(
    run: Callable[..., subprocess.CompletedProcess[Any]],
    command: Sequence[str],
    *positional: Any,
    timeout: float | None = None,
    **given: Any,
) -> subprocess.CompletedProcess[Any]:
    """subprocess.run, whose timeout is CPU time of the program, of which no other program of the machine takes any."""
    limit = [] if timeout is None else ["prlimit", f"--cpu={min(math.ceil(timeout), _PROGRAM_CPU_S)}"]
    return run([*limit, *command], *positional, **given)


def compiled_once(
    run: Callable[..., subprocess.CompletedProcess[Any]],
    folder: Path,
    command: Sequence[str],
    *positional: Any,
    **given: Any,
) -> subprocess.CompletedProcess[Any]:
    """subprocess.run; of a C file that was compiled before, from equal texts with equal options, the object is copied.

    A mutant changes one file or header, and libraries have a hundred.
    """
    if "-c" not in command or "-o" not in command:
        return run(command, *positional, **given)
    source, out = (Path(command[command.index(option) + 1]) for option in ("-c", "-o"))
    kept = folder / f"{_compiled_text(source, out, command)}.o"
    if kept.exists():
        shutil.copy(kept, out)
        return subprocess.CompletedProcess(command, 0, "", "")
    done = run(command, *positional, **given)
    if not done.returncode:
        folder.mkdir(exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        shutil.copy(out, fresh)
        fresh.replace(kept)
    return done


def _compiled_text(source: Path, out: Path, command: Sequence[str]) -> str:
    """A digest of what a compiler reads: options that are no places, the file, and headers of the project's own."""
    folders = [source.parent, *(Path(option[2:]) for option in command if option.startswith("-I"))]
    plain = [option for option in command if not option.startswith("-I") and option not in (str(source), str(out))]
    digest, read, waiting = hashlib.sha256("\0".join(plain).encode()), set[str](), [source]
    while waiting:
        text = waiting.pop().read_bytes()
        digest.update(b"%d\0%s" % (len(text), text))
        for name in _INCLUDED.findall(text.decode(errors="replace")):
            found = next((folder / name for folder in folders if (folder / name).is_file()), None)
            if found is not None and name not in read:
                waiting.append(found)
            read.add(name)
    return digest.hexdigest()


def _equal() -> set[tuple[str, str, str]]:
    entries = tomllib.loads(_EQUAL.read_text(encoding="utf-8"))["equal"]
    return {(entry["file"], entry["before"], entry["after"]) for entry in entries}


def page(results: dict[str, Outcome]) -> str:
    """The text of mutation.md."""
    return "".join(f"{line}\n" for line in (*_INTRODUCTION.splitlines(), "", *_table(results), *_survivors(results)))


def _table(results: dict[str, Outcome]) -> Iterator[str]:
    yield "| room | files | mutants | seed | tried | equal | killed | rate |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    equal = _equal()
    for name, outcome in results.items():
        same = [found for found in outcome.tried if not found.is_killed and _key(found) in equal]
        killed = sum(found.is_killed for found in outcome.tried)
        rate = killed / max(1, len(outcome.tried) - len(same))
        room = ROOMS.get(name)
        files = ", ".join(f"`{file}`" for file in (room.files if room else (_KNOWN.name,)))
        sizes = f"{outcome.all:,} | {outcome.seed} | {len(outcome.tried)} | {len(same)} | {killed}"
        yield f"| {name} | {files} | {sizes} | {rate:.0%} |"
    if missing := [name for name in _ALL if name not in results]:
        yield from ("", f"Not measured yet: {', '.join(missing)}.")


def _survivors(results: dict[str, Outcome]) -> Iterator[str]:
    equal = _equal()
    left = [found for outcome in results.values() for found in outcome.tried if not found.is_killed]
    left = [found for found in left if _key(found) not in equal]
    if left:
        yield from ("", "## Survivors", "", "| where | code | mutant |", "|---|---|---|")
    for found in left:
        texts = (text.replace("|", "\\|") for text in (found.before, found.after))
        yield f"| `{found.file}:{found.line}` | {' | '.join(f'`{text}`' for text in texts)} |"


def _key(found: Found) -> tuple[str, str, str]:
    return found.file, found.before, found.after


def _stored() -> dict[str, Outcome]:
    if not _RESULTS.exists():
        return {}
    stored = json.loads(_RESULTS.read_text(encoding="utf-8"))
    return {
        name: Outcome(room["all"], room["seed"], of_today(tuple(Found(**found) for found in room["tried"])))
        for name, room in stored.items()
    }


def of_today(tried: Sequence[Found]) -> tuple[Found, ...]:
    """Those of lines that are still in their files: others say nothing of what the code is now."""
    lines = {file: _lines(_ROOT / file) for file in {found.file for found in tried}}
    return tuple(found for found in tried if found.before in lines[found.file])


def _lines(file: Path) -> set[str]:
    return {line.strip() for line in file.read_text(encoding="utf-8").splitlines()} if file.exists() else set()


def main() -> None:
    """Measure the rooms that are asked for, and write the results of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", default=",".join(_ALL))
    parser.add_argument("--sample", type=int, default=30, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="try only what survived the stored round")
    given = parser.parse_args()
    results = _stored()
    for name in given.rooms.split(",") if given.rooms else ():
        for outcome in _stages(name, results.get(name), given.sample, given.seed, given.again):
            results[name] = outcome
            _store(_ordered(results))
    _store(_ordered(results))
    _PAGE.write_text(page(_ordered(results)), encoding="utf-8")


def _stages(name: str, before: Outcome | None, sample: int, seed: int, again: bool) -> Iterator[Outcome]:
    """What is known of a room after each mutant that is tried."""
    if name == _KNOWN_ROOM:
        return measure_known(before if again else None)
    return retry(ROOMS[name], before) if again and before else measure(ROOMS[name], sample, seed, before)


def _ordered(results: Mapping[str, Outcome]) -> dict[str, Outcome]:
    return {room: results[room] for room in _ALL if room in results}


def _store(results: Mapping[str, Outcome]) -> None:
    stored = {room: asdict(outcome) for room, outcome in results.items()}
    _RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
