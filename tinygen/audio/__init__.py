"""Audio front ends: what makes features of samples, the same bytes in training and in firmware.

front_end = tinygen.audio.microfrontend(window_ms=30, step_ms=10, channels=40)
front_end.features(samples)                        # in numpy, for training
tinygen.compile("kws.tflite", front_end=front_end)  # in C: samples in, classes out
Path("mic.json").write_text(str(front_end))        # for `tinygen compile --front-end mic.json`
"""

from tinygen.audio.description import read_front_end
from tinygen.audio.front_end import FrontEnd
from tinygen.audio.log_mel import LogMelFrontEnd
from tinygen.audio.micro import MicroFrontEnd, microfrontend

__all__ = ["FrontEnd", "LogMelFrontEnd", "MicroFrontEnd", "microfrontend", "read_front_end"]
