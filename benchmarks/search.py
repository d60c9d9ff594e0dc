"""Searches beside the best single policy, on samples that no search has seen; writes search.md and search.json.

`python -m benchmarks.search` needs `../shared`, onnxruntime and optuna. Weights have 4 bits, in all layers or in as
many as a limit of flash asks for. A gain is the noise of the scores that a search saves, in dB, on the same samples; it
is shown where it is more than two standard errors above 0.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.accuracy.tasks import digits_samples
from benchmarks.keywords import MODEL, official_inputs
from tinygen.calib.calibrator import Calibration, Calibrator
from tinygen.calib.mixed import Mixing, constant_bytes, mix
from tinygen.calib.model import FloatModel, load_float
from tinygen.calib.tuning import POLICIES, Tuned, Tuning, tune
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

_ACCURACY = Path(__file__).with_name("accuracy")
_OUT = Path(__file__).with_suffix("")
_BUDGET = 64
_UNSEEN = 200
_DEVIATIONS = 2.0  # standard errors that are no chance any more
_INTRODUCTION = f"""# Searches

By `python -m benchmarks.search`: `--search` with its default budget of {_BUDGET} combinations, by the SQNR of the last
tenth of the samples, beside the best policy for all tensors on the same tenth. Gains are of {_UNSEEN} samples that
neither has seen: the noise of the scores that is saved, in dB, with the standard error of its mean over samples. In
bold: more than {_DEVIATIONS:g} standard errors above 0.

- *all int4*: `--weights int4`. Policies of tensors alone are searched.
- *flash*: `--flash` half-way between int4 and int8 in all layers. The single policy has int8 weights in as many of the
  smallest layers as fit; searches choose types and policies together. `--mixed auto` with the same limit, which chooses
  types alone, stands beside them.

Inputs are real: keywords of MLPerf Tiny's network (KWS), and digits of a ResNet and a MobileNet, of the kinds that its
image classification and its person detection have (`benchmarks/accuracy/train.py`).

"""


@dataclass(frozen=True)
class Gain:
    """What a search saves of the best single policy's noise."""

    network: str
    widths: str  # all int4, or flash
    single: str  # the best policy for all tensors
    search: str
    db: float  # mean over samples
    standard_error: float
    trials: int  # combinations that were measured

    @property
    def is_shown(self) -> bool:
        """Whether that is no chance."""
        return self.db > _DEVIATIONS * self.standard_error


@dataclass(frozen=True)
class Bench:
    """A network, samples in a file for calibration, and others."""

    name: str
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
            found.append(_gain(bench.name, widths, single.policies[0], kind.value, saved, len(tuned.trials)))
            print(found[-1], file=sys.stderr, flush=True)
        if flash is not None and single is not None and base is not None:
            mixed = mix(Calibrator(bench.model), bench.data, Mixing(max_drop=100.0, flash_bytes=flash)).calibration
            saved = base - bench.noises(mixed)
            found.append(_gain(bench.name, widths, single.policies[0], "--mixed auto", saved, 0))
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


def _gain(network: str, widths: str, single: str, search: str, saved: npt.NDArray[np.float64], trials: int) -> Gain:
    error = float(saved.std(ddof=1) / np.sqrt(len(saved)))
    return Gain(network, widths, single, search, round(float(saved.mean()), 3), round(error, 3), trials)


def benches(folder: Path) -> list[Bench]:
    """Networks with their samples."""
    found = []
    keywords, _ = official_inputs()
    found.append(_bench("KWS", MODEL, keywords[:500], keywords[500 : 500 + _UNSEEN], folder))
    for name in ("digits_resnet", "digits_mobilenet"):
        known, test = digits_samples()
        found.append(_bench(name, _ACCURACY / f"{name}.onnx", known[0], test[0][:_UNSEEN], folder))
    return found


def _bench(name: str, file: Path, known: Float32Array, unseen: Float32Array, folder: Path) -> Bench:
    model = load_float(file)
    np.savez(folder / f"{name}.npz", in0=known)
    return Bench(name, model, open_dataset(folder / f"{name}.npz", model.graph.inputs), unseen)


def page(found: Sequence[Gain]) -> str:
    """The page, with what it shows in a sentence."""
    searches = [each for each in found if each.search in list(Search)]
    shown = [each for each in searches if each.is_shown]
    rows = ["| network | weights | best single policy | search | gain, dB | standard error | combinations |"]
    rows.append("|---|---|---|---|--:|--:|--:|")
    for each in found:
        gain = f"**{each.db:.2f}**" if each.is_shown else f"{each.db:.2f}"
        cells = (each.network, each.widths, each.single, each.search, gain, f"{each.standard_error:.2f}", each.trials)
        rows.append(f"| {' | '.join(map(str, cells))} |")
    worse = [each for each in searches if each.db < -_DEVIATIONS * each.standard_error]
    text = f"Searches beat the best single policy in {len(shown)} of {len(searches)} cases by two standard errors, "
    text += f"and are worse by as much in {len(worse)}."
    return _INTRODUCTION + text + "\n\n" + "\n".join(rows) + "\n"


def main() -> None:
    """Measure and write both files; names of networks as arguments measure these anew, and keep the others."""
    names, file = sys.argv[1:], _OUT.with_suffix(".json")
    rows = [Gain(**row) for row in json.loads(file.read_text(encoding="utf-8"))] if names and file.is_file() else []
    with work_folder() as folder:
        for bench in benches(folder):
            if not names or bench.name in names:
                rows = [each for each in rows if each.network != bench.name] + gains(bench, list(Search))
                file.write_text(json.dumps([asdict(each) for each in rows], indent=2) + "\n", encoding="utf-8")
                _OUT.with_suffix(".md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
