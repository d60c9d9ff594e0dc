"""Audio front ends: what makes features of samples, the same bytes in training and in firmware.

front_end = tinygen.audio.read_front_end(Path("mic.json"))
front_end.features(samples)                        # in numpy, for training
tinygen.compile("kws.tflite", front_end="mic.json")  # in C: samples in, classes out
"""

from tinygen.audio.description import read_front_end
from tinygen.audio.front_end import FrontEnd

__all__ = ["FrontEnd", "read_front_end"]
