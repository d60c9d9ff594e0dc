"""The streaming wake word from samples on: tracks, the emulated interface board, firmware that listens."""

import json
import signal
import sys
import wave
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.mlperf.test_firmware import API, requires_api
from tests.support.command_line import interruptible_process, tinygen
from tests.support.models import model_file
from tests.support.shared import shared_file
from tests.support.sounds import read_wave
from tests.support.tools import requires_arm_gcc, requires_qemu
from tinygen.audio.log_mel import LogMelFrontEnd
from tinygen.build.toolchain import WARNINGS, for_board
from tinygen.errors import ToolError, UsageError
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.mlperf.description import read_description
from tinygen.mlperf.device import Device
from tinygen.mlperf.firmware import Listening
from tinygen.mlperf.interface_board import InterfaceBoard
from tinygen.mlperf.sound_link import EventKind, SoundLink
from tinygen.mlperf.tasks import TASKS
from tinygen.mlperf.tracks import Score, read_track, read_truth, score
from tinygen.mlperf.transport import open_pty
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.targets import load
from tinygen.verify import reference

MODEL = "str_ww_ref_model"
FRONT_END = json.dumps(LogMelFrontEnd().described())
MAKING = ("--stream", "time", "--front-end", FRONT_END, "--kernels", "portable")
TRACK, TRUTH = "short_wav_easy10s.wav", "sww_easy10s_truth.json"
FOUND = [1.0, 4.0]  # as the float features of the reference submission find them; the third word is missed
BLOCK = 512


def test_item_17_scores() -> None:
    """Times count from the first detection; a word may be found 2 s late; what is left is debounced by 1 s."""
    words = [(1.0, 1.5), (5.0, 5.5), (9.0, 9.5)]
    detections = [40, 1040, 1100, 3541, 4500, 5500, 7540, 7541]
    assert score(detections, words) == Score((1.0, 5.0), (9.0,), (3.501, 7.501))
    assert score([0], []) == Score((), (), ())
    with pytest.raises(ToolError, match=r"^firmware: has detected nothing, at least the first block"):
        score([], words)


@requires_api
def test_item_17_scores_are_the_runners() -> None:
    """Against the function of the official runner, whose file alone is loaded."""
    assert API is not None
    file = Path(API) / "runner" / "streaming_ww_utils.py"
    runner, stand_in = ModuleType("runner"), ModuleType("runner_utils")
    vars(stand_in)["print_tee"] = print
    sys.modules["runner_utils"] = stand_in
    exec(compile(file.read_text(), file, "exec"), vars(runner))
    rng = np.random.default_rng(17)
    for _ in range(300):
        begins = np.sort(rng.uniform(0, 60, int(rng.integers(0, 8))))
        words = [(float(begin), float(begin + rng.uniform(0.2, 2))) for begin in begins]
        detections = sorted(int(time) for time in rng.choice(60_000, int(rng.integers(1, 40)), replace=False))
        found, missed, false_positives = runner.calc_detection_stats(detections, words)
        expected = Score(tuple(found), tuple(missed), tuple(float(time) for time in false_positives))
        assert score(detections, words) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no truth file of tracks"),
        ("[]", "names no track"),
        ('[{"wav_file": "../a.wav", "detection_windows": []}]', "is no truth file of tracks"),
        ('[{"wav_file": "a.wav", "detection_windows": [[2, 1]]}]', "is no truth file of tracks"),
        ('[{"wav_file": "a.wav", "detection_windows": [[0, 1e999]]}]', "is no truth file of tracks"),
        (f'[{{"wav_file": "a.wav", "detection_windows": [[0, {10**400}]]}}]', "is no truth file of tracks"),
        ('[{"wav_file": "a.wav", "detection_windows": [[0, "1", 2]]}]', "is no truth file of tracks"),
        ('[{"wav_file": "a.wav"}]', "is no truth file of tracks"),
    ],
)
def test_item_17_damaged_truth_files(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "truth.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_truth(file)


def test_item_17_tracks(tmp_path: Path) -> None:
    samples = np.arange(-6, 6, dtype="<i2")
    _write_wave(tmp_path / "good.wav", samples, channels=2)
    np.testing.assert_array_equal(read_track(tmp_path, "good.wav"), samples[0::2])
    _write_wave(tmp_path / "slow.wav", samples, rate=8000)
    with pytest.raises(UsageError, match=r"has 1 channels of 16 bits, 12 samples at 8000 Hz; 1 or 2 of 16 bits"):
        read_track(tmp_path, "slow.wav")
    (tmp_path / "text.wav").write_text("text")
    with pytest.raises(UsageError, match="is no WAV file"):
        read_track(tmp_path, "text.wav")
    good = (tmp_path / "good.wav").read_bytes()
    for damaged, message in (
        (good[:-1], "ends after 23 bytes of samples, 24 were expected"),
        (good[:-4], "ends after 20 bytes of samples, 24 were expected"),
        (good[:30], r"is no WAV file \(damaged\)"),
        (good[:16] + b"\xff" + good[17:], r"is no WAV file \(damaged\)"),  # the chunk "fmt " beyond the file
    ):
        (tmp_path / "damaged.wav").write_bytes(damaged)
        with pytest.raises(UsageError, match=message):
            read_track(tmp_path, "damaged.wav")
    (tmp_path / "long.wav").write_bytes(good[:40] + (4 * (1280 * 16000 + 1)).to_bytes(4, "little") + good[44:])
    with pytest.raises(UsageError, match=r"20480001 samples at 16000 Hz; .*, of 1280 seconds at most, were expected"):
        read_track(tmp_path, "long.wav")
    with pytest.raises(UsageError, match="is no name of a file"):
        read_track(tmp_path, "../good.wav")
    with pytest.raises(UsageError, match="No such file"):
        read_track(tmp_path, "missing.wav")


def _write_wave(file: Path, samples: np.ndarray, channels: int = 1, rate: int = 16000) -> None:
    with wave.open(str(file), "wb") as target:
        target.setnchannels(channels)
        target.setsampwidth(2)
        target.setframerate(rate)
        target.writeframes(samples.tobytes())


class Hearing(SoundLink):
    """A link whose other end takes 7 ms a block, and hears the word in blocks 0 and 5."""

    @classmethod
    def of_blocks(cls) -> "Hearing":
        return cls(BLOCK, np.zeros(4 + 3 * 1024, np.uint32), np.zeros((8, BLOCK), np.int16), lambda: False)

    def give(self, block: np.ndarray) -> bool:
        super().give(block)
        number = int(self.words[2]) + 1
        self.words[2] = number
        begin = 2**32 - 20_000 + 50_000 * number  # the device's clock begins anew
        self._record(number, EventKind.PROCESSING_BEGINS, begin)
        if number in {1, 6}:
            self._record(number, EventKind.DETECTED, begin + 6900)
        self._record(number, EventKind.PROCESSING_ENDS, begin + 7000)
        return True

    def _record(self, block: int, kind: EventKind, microseconds: int) -> None:
        count = int(self.words[3])
        self.words[4 + 3 * count : 7 + 3 * count] = [block, kind, microseconds % 2**32]
        self.words[3] = count + 1


def test_item_17_interface_board(tmp_path: Path) -> None:
    """Answers as the official runner reads them; times are those of the samples."""
    _write_wave(tmp_path / "a.wav", np.zeros(10 * BLOCK + 100, "<i2"))
    link = Hearing.of_blocks()
    link.words[0] = 1
    board = InterfaceBoard(link, tmp_path)
    assert board.answer("setbaud 115200") == ["set baud to: 115200", "m-ready"]
    assert board.answer("ls") == ["a.wav", "m-ready"]
    assert board.answer("record_detections") == ["Now recording detections", "m-ready"]
    assert board.answer("play a.wav") == ["Attempting to play a.wav", "succeeded.", "m-ready"]
    assert board.answer("print_detections") == ["Detection Timestamps (ms)", "38,", "198,", "m-ready"]
    starts = [3200 * number for number in range(1, 11)]
    assert board.answer("print_dutycycle") == [
        "Duty cycle start times (s)",
        "".join(f"{start}, " for start in starts[:8]),
        "".join(f"{start}, " for start in starts[8:]),
        "Duty cycle stop times (s)",
        "".join(f"{start + 700}, " for start in starts[:8]),
        "".join(f"{start + 700}, " for start in starts[8:]),
        "m-ready",
    ]
    board.answer("record_detections")
    assert board.answer("print_detections") == ["Detection Timestamps (ms)", "m-ready"]
    assert board.answer("play ../a.wav")[0].startswith("e-['../a.wav': is no name of a file in")
    assert board.answer("dut name") == ["e-[Unknown command: dut]", "m-ready"]


def test_item_17_firmware_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygen.mlperf.sound_link._PATIENCE_S", 0.01)
    link = SoundLink(BLOCK, np.zeros(4 + 3 * 1024, np.uint32), np.zeros((8, BLOCK), np.int16), lambda: False)
    assert not link.give(np.zeros(BLOCK, np.int16))  # it does not listen
    link.words[0] = 1
    with pytest.raises(ToolError, match=r"^firmware: takes no samples for 0\.01 s"):
        for _ in range(9):
            link.give(np.zeros(BLOCK, np.int16))


def test_item_17_firmware_that_tells_of_unknown_events() -> None:
    """The emulated board's memory is the firmware's: what stands there is not trusted."""
    words = np.zeros(4 + 3 * 1024, np.uint32)
    words[3], words[5] = 1, 9
    link = SoundLink(BLOCK, words, np.zeros((8, BLOCK), np.int16), lambda: False)
    with pytest.raises(ToolError, match=r"^firmware: tells of an event of kind 9, 0 to 2 were expected\.$"):
        link.events()


@pytest.mark.parametrize("damage", [{"block_samples": 512.0}, {"board": None}, {"task": 1}, {"block_samples": True}])
def test_item_17_descriptions_of_other_types_are_refused(damage: dict[str, object], tmp_path: Path) -> None:
    right = {"task": "sww", "board": "mps2-an386", "qemu_machine": None, "program": "sww", "block_samples": 512}
    file = tmp_path / "mlperf.json"
    file.write_text(json.dumps(right))
    assert read_description(tmp_path).block_samples == 512
    file.write_text(json.dumps(right | damage))
    with pytest.raises(UsageError, match="is missing or damaged, a firmware folder was expected"):
        read_description(tmp_path)


@pytest.mark.parametrize(
    ("scale", "zero_point", "stored"), [(1 / 256, -128, 115), (1 / 128, 0, 121), (1 / 100, -40, 54), (1 / 255, -1, 127)]
)
def test_item_17_the_threshold_is_a_probability(scale: float, zero_point: int, stored: int) -> None:
    """The reference hears the word above 115 of outputs in steps of 1/256 from -128 on; other models store others."""
    threshold = TASKS["sww"].threshold
    assert threshold is not None
    output = TensorType(DType.INT8, (1, 3), Quant((scale,), (zero_point,)))
    assert Listening(BLOCK, 30, threshold).stored_threshold(output) == stored


@requires_arm_gcc
def test_item_17_listening_firmware_has_no_warnings(tmp_path: Path) -> None:
    """And lies beside what it shares with an emulated interface board, the last 64 KiB of PSRAM."""
    made = tinygen("mlperf", "sww", model_file(MODEL), *MAKING, "-t", "mps2-an386", "-o", tmp_path / "fw")
    assert made.code == 0, made.stderr
    folder = tmp_path / "fw"
    sources = [folder / "submission.c", *(folder / "mlperf").rglob("*.c"), *(folder / "target").glob("*.c")]
    folders = ("mlperf", "mlperf/sound", "target", "model", "model/names", "model/operators")
    for_board(load("mps2-an386")).compile(
        sources, [folder, *(folder / name for name in folders)], WARNINGS, tmp_path / "objects"
    )
    script = (folder / "linker.ld").read_text()
    assert "psram (rwx) : ORIGIN = 0x21000000, LENGTH = 16711680" in script
    assert '"mps2-an386, memory psram: 16711680 bytes are too few for arena' in script


@requires_arm_gcc
def test_item_17_a_board_without_sound_asks_for_it(tmp_path: Path) -> None:
    made = tinygen("mlperf", "sww", model_file(MODEL), *MAKING, "-t", "mps2-an505", "-o", tmp_path / "fw")
    assert made.code == 0, made.stderr
    ran = tinygen("mlperf", "run", tmp_path / "fw", "--data", shared_file(f"eval/{TRUTH}"))
    assert "make SOUND_PORT=my_sound.c with the functions of mlperf/sound/sound_port.h" in ran.stderr


def test_item_17_what_listens_is_the_wake_word(tmp_path: Path) -> None:
    refused = tinygen(
        "mlperf", "kws", model_file("kws_ref_model"), "--front-end", FRONT_END, "-t", "mps2-an386", "-o", tmp_path / "f"
    )
    assert refused.code in {2, 3}
    whole = [option for option in MAKING if option not in {"--stream", "time"}]
    refused = tinygen("mlperf", "sww", model_file(MODEL), *whole, "-t", "mps2-an386", "-o", tmp_path / "f")
    assert refused.code == 2
    assert "a call takes 15,360 samples, at most 2,048 were expected for streaming wake word" in refused.stderr
    slow = tmp_path / "slow.json"
    slow.write_text('{"kind": "log_mel", "sample_rate": 8000, "highest_hz": 4000}')
    options = ("--stream", "time", "--front-end", slow, "-t", "mps2-an386", "-o", tmp_path / "f")
    refused = tinygen("mlperf", "sww", model_file(MODEL), *options)
    assert refused.code == 2
    assert "--front-end: takes samples at 8,000 Hz, 16,000 Hz were expected for streaming wake word" in refused.stderr


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_item_17_official_track(board: str, tmp_path: Path) -> None:
    """Words are found as by the reference's features; activations are those of numpy, to the bit."""
    made = tinygen("mlperf", "sww", model_file(MODEL), *MAKING, "-t", board, "-o", tmp_path / "fw")
    assert made.code == 0, made.stderr
    ran = tinygen("mlperf", "run", tmp_path / "fw", "--data", _truth(tmp_path), "--json")
    assert ran.code == 0, ran.stderr
    listened = ran.document["listening"]
    (track,) = listened["tracks"]
    assert track["score"] == {"found": FOUND, "missed": [7.0], "false_positives": []}
    assert listened["is_met"] and abs(track["period_s"] - 0.032) < 1e-4
    samples = read_wave(shared_file("eval/sww_easy10s.wav"))
    options = Options(target=board, stream="time", front_end=LogMelFrontEnd(), kernels=Kernels.PORTABLE)
    graph = compile_model(model_file(MODEL), options).schedule.graph
    calls = samples[: 48 * BLOCK].reshape(48, BLOCK)
    expected = [
        arrays[graph.output_tensors[0]][0, 0] for arrays in reference.evaluate_calls(graph, [[x] for x in calls])
    ]
    assert track["activations"][:48] == expected
    assert len(track["activations"]) == len(samples) // BLOCK
    (tmp_path / TRACK).unlink()
    refused = tinygen("mlperf", "run", tmp_path / "fw", "--data", tmp_path / TRUTH)
    assert refused.code == 2
    assert f"{TRACK}: cannot be read (No such file or directory), a WAV file was expected." in refused.stderr


def _truth(folder: Path) -> Path:
    """The official track beside its truth file, under the name that stands there."""
    for name, source in ((TRACK, "eval/sww_easy10s.wav"), (TRUTH, f"eval/{TRUTH}")):
        (folder / name).write_bytes(shared_file(source).read_bytes())
    return folder / TRUTH


@pytest.mark.qemu
@requires_qemu
def test_item_17_serving_tracks(tmp_path: Path) -> None:
    """Firmware and interface board on a pty each, driven as the official runner does, twice."""
    made = tinygen("mlperf", "sww", model_file(MODEL), *MAKING, "-t", "mps2-an386", "-o", tmp_path / "fw")
    assert made.code == 0, made.stderr
    samples = read_wave(shared_file("eval/sww_easy10s.wav"))[: 40 * BLOCK]
    _write_wave(tmp_path / "begin.wav", samples.astype("<i2"))
    missing = tinygen("mlperf", "serve", tmp_path / "fw")
    assert (missing.code, missing.stderr.splitlines()[-1].split(":")[1]) == (2, " --tracks")
    with interruptible_process("mlperf", "serve", tmp_path / "fw", "--tracks", tmp_path, cwd=tmp_path) as serving:
        assert serving.stdout is not None and serving.stderr is not None
        paths = [serving.stdout.readline().strip() for _ in range(2)]
        hint = serving.stderr.readline()
        with open_pty(paths[0]) as first, open_pty(paths[1]) as second:
            device, board = Device(first), Device(second)
            assert device.identify().model == "sww01"
            for _ in range(2):
                assert device.command("stop") == ["m-[Not listening]"]
                assert device.command("start")[0].startswith("m-lap-us-")
                assert device.command("start") == ["e-[Already listening]"]
                board.command("record_detections")
                assert board.command("play begin.wav") == ["Attempting to play begin.wav", "succeeded."]
                activations = "".join(device.command("stop")).partition("target activations:")[2]
                assert len(json.loads(activations)) == 40
                assert len(board.command("print_detections")) == 2  # the first block alone
                assert board.command("print_dutycycle")[0] == "Duty cycle start times (s)"
        serving.send_signal(signal.SIGINT)
        assert serving.wait(20) == 130
    assert f"TINYGEN_SERIAL_PORTS={paths[0]}=0483:374B,{paths[1]}=0483:374E PYTHONPATH=" in hint
    assert "devices_sww.yaml" in hint
