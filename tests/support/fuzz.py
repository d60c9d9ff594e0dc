"""Mutates model files and feeds them to a function in a child process: only `TinygenError`s may come out.

`survive` is what tests call. The child (this module as a program) stops at the first mutation that raises
anything else or takes too many steps, and says how to make that mutation again.
"""

import argparse
import importlib
import json
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import onnx

from tests.support.mlir_mutations import mutate_module
from tests.support.onnx_mutations import mutate_message
from tests.support.steps import TooManyStepsError, counted
from tinygen.errors import TinygenError, VerifyError
from tinygen.frontends.tflite.schema import read

ROOT = Path(__file__).resolve().parents[2]
ADDRESS_SPACE_BYTES = 4 << 30  # a last stop for the machine's sake; the resident set is what is tested
_EXTREMES = (0, 1, 2, 0x7F, 0xFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFC, 0xFFFFFFFF)
_LONGEST_CONSTANT_BYTES = 64
_TEXTS = (".mlir", ".relay")
_MESSAGES = 0.8  # of the mutations of ONNX files


@dataclass(frozen=True)
class Survival:
    """What a run of mutations came to."""

    refused: int
    accepted: int
    most_steps: int
    peak_resident_bytes: int
    failure: str | None


def survive(target: str, files: Sequence[Path], mutations: int, seed: int, steps_each: int = 10_000_000) -> Survival:
    """Feed `mutations` of `files` to `target` ("module:function" of one Path) in a child process."""
    command = [sys.executable, "-m", "tests.support.fuzz", target, *map(str, files)]
    command += ["--mutations", str(mutations), "--seed", str(seed), "--steps-each", str(steps_each)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return Survival(0, 0, 0, 0, f"the child ended with {done.returncode}: {done.stderr[-2000:]}")
    return Survival(**json.loads(done.stdout.splitlines()[-1]))


def mutate(data: bytes, places: Sequence[int], random_: random.Random) -> bytes:
    """One random mutation of `data`; most of them at `places`, the positions that are not weights."""
    mutation = random_.choice((_flip_bits, _stomp_bytes, _replace_words, _replace_words, _truncate, _splice))
    return mutation(data, places, random_)


def _place(data: bytes, places: Sequence[int], random_: random.Random) -> int:
    return random_.choice(places) if random_.random() < 0.9 else random_.randrange(len(data))


def _flip_bits(data: bytes, places: Sequence[int], random_: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random_.randint(1, 8)):
        changed[_place(data, places, random_)] ^= 1 << random_.randrange(8)
    return bytes(changed)


def _stomp_bytes(data: bytes, places: Sequence[int], random_: random.Random) -> bytes:
    start = _place(data, places, random_)
    junk = random_.choice((random_.randbytes, lambda count: b"\xff" * count, bytes))(random_.randint(1, 32))
    return (data[:start] + junk + data[start + len(junk) :])[: len(data)]


def _replace_words(data: bytes, places: Sequence[int], random_: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random_.randint(1, 3)):
        start = min(_place(data, places, random_) & ~3, len(data) - 4)
        word = random_.choice((*_EXTREMES, len(data), len(data) - start, random_.randrange(len(data))))
        struct.pack_into("<I", changed, start, word)
    return bytes(changed)


def _truncate(data: bytes, places: Sequence[int], random_: random.Random) -> bytes:
    return data[: _place(data, places, random_)]


def _splice(data: bytes, places: Sequence[int], random_: random.Random) -> bytes:
    source, target = _place(data, places, random_), _place(data, places, random_)
    chunk = data[source : source + random_.randint(1, 256)]
    dropped = random_.choice((0, len(chunk), random_.randint(0, 64)))
    return data[:target] + chunk + data[target + dropped :]


def structure(data: bytes, constants: Sequence[bytes]) -> list[int]:
    """The positions in `data` outside of `constants`: tables, lists and names."""
    free = bytearray(b"\1" * len(data))
    for constant in constants:
        start = data.find(constant)
        if len(constant) > _LONGEST_CONSTANT_BYTES and start >= 0:
            free[start : start + len(constant)] = bytes(len(constant))
    return [position for position, flag in enumerate(free) if flag]


def _outcome(function: Callable[[Path], object], path: Path) -> bool | str:
    """Whether `function` accepted the file, or what went wrong."""
    try:
        function(path)
    except VerifyError:
        return traceback.format_exc()
    except TinygenError:
        return False
    except (Exception, TooManyStepsError):
        return traceback.format_exc()
    return True


def _mutated(path: Path, data: bytes, places: Sequence[int], random_: random.Random) -> bytes:
    """Bytes of any file; of ONNX files messages more often, for protobuf refuses most changes of bytes; of MLIR
    and Relay words."""
    if path.suffix == ".onnx" and random_.random() < _MESSAGES:
        return mutate_message(data, random_)
    if path.suffix in _TEXTS:
        return mutate_module(data, random_)
    return mutate(data, places, random_)


def _constants(path: Path) -> list[bytes]:
    if path.suffix == ".onnx":
        return [tensor.raw_data for tensor in onnx.load(str(path)).graph.initializer]
    if path.suffix in _TEXTS:
        return []
    tensors = [tensor for subgraph in read(path).subgraphs for tensor in subgraph.tensors]
    return [tensor.data.tobytes() for tensor in tensors if tensor.data is not None]


def _run(function: Callable[[Path], object], files: Sequence[Path], mutations: int, seed: int, limit: int) -> Survival:
    models = [file.read_bytes() for file in files]
    places = [structure(model, _constants(file)) for model, file in zip(models, files, strict=True)]
    counts, most_steps, failure = {True: 0, False: 0}, 0, None
    with tempfile.TemporaryDirectory() as folder:
        for number in range(mutations):
            which = number % len(files)
            path = Path(folder) / f"mutated{files[which].suffix}"
            path.write_bytes(_mutated(path, models[which], places[which], random.Random(f"{seed}/{number}")))
            with counted(limit) as steps:
                outcome = _outcome(function, path)
            most_steps = max(most_steps, steps.count)
            if isinstance(outcome, str):
                failure = f"seed {seed}, mutation {number}, of {files[which].name}: {outcome}"
                break
            counts[outcome] += 1
    return Survival(counts[False], counts[True], most_steps, _peak_resident_bytes(), failure)


def _peak_resident_bytes() -> int:
    """Of this program alone: what `getrusage` says begins with the memory of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[1]) * 1024  # type: ignore[index]


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--mutations", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps-each", type=int, required=True)
    options = parser.parse_args()
    module, name = options.target.split(":")
    function = getattr(importlib.import_module(module), name)
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    result = _run(function, options.files, options.mutations, options.seed, options.steps_each)
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    _main()
