"""The emulated power monitor: its lines as the runner's patterns take them, and events where time stamps are."""

import os
import re
import socket

from tinygen.mlperf.power_monitor import BAUD, EnergyBench, PowerMonitor

# of the runner's script.py and power_manager_lpm.py
TIME_STAMP = re.compile(r"^TimeStamp:[ ><]([0-9]{3})s ([0-9]{3})ms, buff [0-9]{2}%$")
SAMPLE = re.compile(r"^\d{4}[+-]\d{2}$")
EVENT = re.compile(r"^event (\d+) ris$")
SETUP = ("htc", 'lcd 1 "MLPerf Tiny"', "pwr off", "acqtime inf", "trigdelay 0", "trigsrc sw", "eventsrc d7 fal",
         "output energy", "format ascii_dec", "freq 1k", "volt 1800m", "pwr on nostatus")  # fmt: skip


class Clock:
    """Seconds, as far as a test has let them go."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_every_command_of_the_runner_is_acknowledged() -> None:
    clock = Clock()
    monitor = PowerMonitor(clock)
    assert [monitor.answer(f"{command}\r") for command in SETUP] == [[f"ack {command}"] for command in SETUP]
    clock.now += 5
    assert (monitor.samples(), monitor.event(), monitor.events) == ([], [], 0)  # nothing is recorded yet
    assert monitor.answer("start\r") == ["ack start"]
    assert "Acquisition completed" in monitor.answer("stop\r")
    clock.now += 5
    assert monitor.samples() == []


def test_samples_and_events_are_where_the_time_says() -> None:
    """Outside of a measurement that of the host; inside that of the firmware, for which a busy host takes longer."""
    clock = Clock()
    monitor = PowerMonitor(clock)
    monitor.answer("start")
    lines = []
    for seconds, measured_us in ((0.25, None), (40, 1_500_000), (0.75, None)):
        clock.now += seconds / 2
        lines += monitor.samples()
        clock.now += seconds / 2
        lines += monitor.event(measured_us)
    stamps = [index for index, line in enumerate(lines) if TIME_STAMP.match(line)]
    samples = [line for line in lines if SAMPLE.match(line)]
    events = [(match[1], sum(map(bool, map(SAMPLE.match, lines[:index]))))
              for index, line in enumerate(lines) if (match := EVENT.match(line))]  # fmt: skip
    assert (len(samples), len(stamps)) == (2500, 3)
    assert events == [("00", 250), ("01", 1750), ("02", 2500)]
    assert len(lines) == len(samples) + len(stamps) + len(events)
    assert float(samples[0].replace("-", "e-")) == 1e-6  # 1 mW


def test_a_time_stamp_of_the_firmware_is_an_event() -> None:
    """And its lines come to the runner at the pace of energy mode, commands to the firmware at once."""
    pairs = [socket.socketpair() for _ in range(3)]
    firmware, interface, power = (outside.fileno() for _, outside in pairs)
    clock = Clock()
    inside = [end.fileno() for end, _ in pairs]
    bench = EnergyBench(inside[0], inside[1], inside[2], PowerMonitor(clock))
    os.write(power, b"start\r\n")
    os.write(interface, b"setbaud 9600%dut infer 1 0%name%")
    bench.turn()
    assert (os.read(firmware, 100), os.read(power, 100)) == (b"infer 1 0%", b"ack start\r\n")
    assert os.read(interface, 200).decode().split("\r\n") == [
        *("set baud to: 9600", "m-ready"),
        *("sent: dut infer 1 0", "m-ready"),
        *("e-[Unknown command: name]", "m-ready", ""),
    ]
    said = b"m-infer-start-1\r\nm-lap-us-4294966296\r\nm-lap-us-6123\r\nm-results-[m-lap-us-1]\r\nm-ready\r\n"
    os.write(firmware, said)
    bench.turn()
    told = os.read(power, 1000).decode().split("\r\n")
    assert (told[:2], told[-2:]) == (["event 00 ris", "TimeStamp: 000s 000ms, buff 00%"], ["event 01 ris", ""])
    assert len(told[2:-2]) == 7 and all(map(SAMPLE.match, told[2:-2]))
    received = b""
    turns = 0
    expected = b"".join(b"[dut]: " + line for line in said.splitlines(keepends=True))
    while len(received) < len(expected):
        clock.now += 10 / BAUD
        bench.turn()
        received += _pending(pairs[1][1])
        turns += 1
    assert received == expected and turns > len(said)
    for pair in pairs:
        for end in pair:
            end.close()


def _pending(end: socket.socket) -> bytes:
    end.setblocking(False)
    try:
        return end.recv(100)
    except BlockingIOError:
        return b""
