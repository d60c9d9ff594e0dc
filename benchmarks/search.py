"""Searches beside the best single policy, on samples that no search has seen; writes search.md and search.json.

`python -m benchmarks.search` needs `../shared`, onnxruntime, optuna and scikit-image. Weights have 4 bits, in all
layers or in as many as a limit of flash asks for. A gain is the noise of the scores that a search saves, in dB, on the
same samples; it is shown where it is more than two standard errors above 0 in each of two draws of samples.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.keywords import MODEL, MODELS, official_inputs
from tinygen.calib.calibrator import Calibration, Calibrator
from tinygen.calib.mixed import Mixing, constant_bytes, mix
from tinygen.calib.model import FloatModel, load_float
from tinygen.calib.tuning import POLICIES, Tuned, Tuning, tune
from tinygen.frontends import import_model
from tinygen.ir.types import Float32Array
from tinygen.ops.quantize import dequantize
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.dataset import Dataset, open_dataset
from tinygen.quant.forward import NumpyForward, forward_of
from tinygen.quant.metric import scores_tensor
from tinygen.quant.search import Search, Trial
from tinygen.quant.widths import Widths
from tinygen.system.work import work_folder

_OUT = Path(__file__).with_suffix("")
_BUDGET = 64
_KNOWN, _UNSEEN = 200, 200
_DRAWS = 2
_UNMEASURED = "not measured"
_MIXED = "--mixed auto"
_DEVIATIONS = 2.0  # standard errors that are no chance any more
_INTRODUCTION = f"""# Searches

By `python -m benchmarks.search`: `--search` with its default budget of {_BUDGET} combinations, by the SQNR of the last
tenth of {_KNOWN} samples, beside the best policy for all tensors on the same tenth. Gains are of {_UNSEEN} samples that
neither has seen: the noise of the scores that is saved, in dB, with the standard error of its mean over samples. All of
it is done {_DRAWS} times, with other samples. In bold: more than {_DEVIATIONS:g} standard errors above 0 each time.

- *all int4*: `--weights int4`. Policies of tensors alone are searched.
- *flash*: `--flash` half-way between int4 and int8 in all layers. The single policy has int8 weights in as many of the
  smallest layers as fit; searches choose types and policies together. `--mixed auto` with the same limit, which chooses
  types alone, stands beside them.

The networks are the float ones of MLPerf Tiny's keyword spotting (KWS), image classification (IC) and person detection
(VWW). KWS sees official inputs; IC and VWW see crops of four photographs that scikit-image ships, calibration of the
left halves, unseen ones of the right halves. Those have no labels, which a gain of noise does not ask for.

"""


@dataclass(frozen=True)
class Gain:
    """What a search saves of the best single policy's noise."""

    network: str
    draw: int  # of samples, from 0
    widths: str  # all int4, or flash
    single: str  # the best policy for all tensors
    search: str
    db: float  # mean over samples
    standard_error: float
    trials: int  # combinations that were measured

    def is_shown(self) -> bool:
        """Whether that is no chance."""
        return self.db > _DEVIATIONS * self.standard_error

    def is_worse(self) -> bool:
        """Whether the search clearly adds noise."""
        return self.db < -_DEVIATIONS * self.standard_error


@dataclass(frozen=True)
class Bench:
    """A network, samples in a file for calibration, and others."""

    name: str
    draw: int
    model: FloatModel
    data: Dataset
    unseen: Float32Array

    def noises(self, calibration: Calibration) -> npt.NDArray[np.float64]:
        """Noise of the scores of each unseen sample, in dB of their power over all."""
        name, graph = scores_tensor(self.model.graph).name, calibration.graph
        type = next(tensor.type for tensor in graph.tensors if tensor.name == name)
        forward, float_forward = NumpyForward(graph, [name]), forward_of(self.model.graph, [name])
        found = np.concatenate(
            [np.asarray(dequantize(forward.run([part])[name], type), np.float64) for part in self._parts]
        )
        real = np.concatenate([np.asarray(float_forward.run([part])[name], np.float64) for part in self._parts])
        noise = ((found - real) ** 2).reshape(len(real), -1).sum(axis=1)
        power = float((real**2).sum() / len(real))
        decibels: npt.NDArray[np.float64] = 10 * np.log10(np.maximum(noise / power, 1e-12))
        return decibels

    @property
    def _parts(self) -> list[Float32Array]:
        return np.array_split(self.unseen, 8)


def gains(bench: Bench, kinds: Sequence[Search]) -> list[Gain]:
    """Of all searches, with both kinds of widths."""
    found = []
    for widths, settings, flash in _cases(bench):
        calibrator = Calibrator(bench.model, settings=settings)
        single, base = None, None
        for kind in kinds:
            tuned = tune(calibrator, bench.data, Tuning(kind, budget=_BUDGET, flash_bytes=flash))
            if single is None or base is None:
                single = max(_singles(tuned), key=lambda trial: trial.score)
                base = bench.noises(_of_trial(calibrator, bench.data, tuned, single, flash))
            saved = base - bench.noises(tuned.calibration)
            found.append(_gain(bench, widths, single.policies[0], kind.value, saved, len(tuned.trials)))
            print(found[-1], file=sys.stderr, flush=True)
        if flash is not None and single is not None and base is not None:
            mixed = mix(Calibrator(bench.model), bench.data, Mixing(max_drop=100.0, flash_bytes=flash)).calibration
            saved = base - bench.noises(mixed)
            found.append(_gain(bench, widths, single.policies[0], _MIXED, saved, 0))
            print(found[-1], file=sys.stderr, flush=True)
    return found


def _cases(bench: Bench) -> list[tuple[str, Settings, int | None]]:
    narrow, wide = (
        constant_bytes(Calibrator(bench.model, settings=Settings(widths=Widths(width))).run_file(bench.data).graph)
        for width in (Storage.INT4, Storage.INT8)
    )
    return [("all int4", Settings(widths=Widths(Storage.INT4)), None), ("flash", Settings(), (narrow + wide) // 2)]


def _singles(tuned: Tuned) -> tuple[Trial, ...]:
    return tuned.trials[: len(POLICIES)]


def _of_trial(calibrator: Calibrator, data: Dataset, tuned: Tuned, trial: Trial, flash: int | None) -> Calibration:
    """The table of one policy for all tensors: a search that may try nothing else."""
    alone = tune(calibrator, data, Tuning(Search.GREEDY, budget=len(POLICIES), flash_bytes=flash))
    assert alone.best == trial and alone.groups == tuned.groups
    return alone.calibration


def _gain(bench: Bench, widths: str, single: str, search: str, saved: npt.NDArray[np.float64], trials: int) -> Gain:
    error = float(saved.std(ddof=1) / np.sqrt(len(saved)))
    return Gain(bench.name, bench.draw, widths, single, search, round(float(saved.mean()), 3), round(error, 3), trials)


def benches(names: Sequence[str], folder: Path) -> Iterator[Bench]:
    """These networks with each draw of their samples."""
    for name in names:
        for draw in range(_DRAWS):
            known, unseen = _SAMPLES[name](np.random.default_rng(draw))
            model, file = load_float(_FILES[name]), folder / f"{name}{draw}.npz"
            np.savez(file, in0=known)
            yield Bench(name, draw, model, open_dataset(file, model.graph.inputs), unseen)


def _keywords(rng: np.random.Generator) -> tuple[Float32Array, Float32Array]:
    inputs = rng.permutation(official_inputs()[0])
    return inputs[:_KNOWN], inputs[_KNOWN : _KNOWN + _UNSEEN]


def _photographs(rng: np.random.Generator, twin: str) -> tuple[Float32Array, Float32Array]:
    """Pixels as real numbers, by the input of the int8 network of the same kind."""
    port = import_model(MODELS / twin).inputs[0]
    most = float(dequantize(np.array([port.external.max]), port.external)[0])
    side = port.external.shape[1]
    crops = import_module("benchmarks.photographs").crops  # asks for scikit-image, which nothing else here does
    known, unseen = (crops(*how) for how in ((_KNOWN, side, rng, True), (_UNSEEN, side, rng, False)))
    return known * np.float32(most), unseen * np.float32(most)


_FILES = {
    "KWS": MODEL,
    "IC": MODELS / "pretrainedResnet.tflite",
    "VWW": MODELS / "vww_96_float.tflite",
}
_SAMPLES: Mapping[str, Callable[[np.random.Generator], tuple[Float32Array, Float32Array]]] = {
    "KWS": _keywords,
    "IC": partial(_photographs, twin="pretrainedResnet_quant.tflite"),
    "VWW": partial(_photographs, twin="vww_96_int8.tflite"),
}


def page(found: Sequence[Gain]) -> str:
    """The page, with what it shows in a sentence."""
    cases: dict[tuple[str, str, str], list[Gain]] = {}
    for each in found:
        cases.setdefault((each.network, each.widths, each.search), []).append(each)
    rows = [f"| network | weights | best single policy | search |{' gain, dB |' * _DRAWS} combinations |"]
    rows.append(f"|---|---|---|---|{'--:|' * _DRAWS}--:|")
    for (network, widths, kind), draws in cases.items():
        mark = "**" if _always(draws, Gain.is_shown) else ""
        gains = [f"{mark}{each.db:.2f}{mark} ± {each.standard_error:.2f}" for each in draws]
        gains += [_UNMEASURED] * (_DRAWS - len(draws))
        single = ", ".join(dict.fromkeys(each.single for each in draws))
        trials = max(each.trials for each in draws)
        rows.append(f"| {' | '.join((network, widths, single, kind, *gains, str(trials)))} |")
    whole = {case: draws for case, draws in cases.items() if len(draws) == _DRAWS}
    searches = [draws for (_, _, kind), draws in whole.items() if kind in list(Search)]
    shown = sum(_always(draws, Gain.is_shown) for draws in searches)
    worse = sum(_always(draws, Gain.is_worse) for draws in searches)
    text = (
        f"Searches beat the best single policy in {shown} of {len(searches)} cases by two standard errors each time, "
    )
    text += f"and are worse by as much in {worse}. "
    alone = [draws for (_, _, kind), draws in whole.items() if kind == _MIXED]
    text += (
        f"`{_MIXED}`, whose policy is the default, beats it in {sum(_always(draws, Gain.is_shown) for draws in alone)} "
    )
    text += f"of {len(alone)} cases."
    return _INTRODUCTION + text + "\n\n" + "\n".join(rows) + "\n"


def _always(draws: Sequence[Gain], property: Callable[[Gain], bool]) -> bool:
    """Whether it holds of all draws, and all were measured."""
    return len(draws) == _DRAWS and all(map(property, draws))


def main() -> None:
    """Measure and write both files; names of networks as arguments measure these anew, and keep the others."""
    names, file = sys.argv[1:], _OUT.with_suffix(".json")
    rows = [Gain(**row) for row in json.loads(file.read_text(encoding="utf-8"))] if names and file.is_file() else []
    with work_folder() as folder:
        for bench in benches(names or list(_FILES), folder):
            others = [each for each in rows if (each.network, each.draw) != (bench.name, bench.draw)]
            rows = sorted([*others, *gains(bench, list(Search))], key=lambda each: list(_FILES).index(each.network))
            file.write_text(json.dumps([asdict(each) for each in rows], indent=2) + "\n", encoding="utf-8")
            _OUT.with_suffix(".md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
