"""Runs the load generator `load.c` beside a measured process, and checks the measurement."""
import json
import os
import struct
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass

import machine
from machine import Processor


@dataclass
class Measurement:
    answers: int
    seconds: float
    p50_ms: float
    p99_ms: float
    generator_seconds: float  # of processor time
    measured_seconds: float  # of processor time
    machine: Processor

    @property
    def per_second(self):
        return self.answers / self.seconds


class Generator:
    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = folder
        self._path = os.path.join(folder, "requests")
        self.measurements = []

    def replay(self, work, requests, port, process_id, connections=1, expected=None):
        """Sends prepared requests; each connection sends the next one when it has its answer.

        `expected` is a text and how often each answer has it.
        """
        with open(self._path, "wb") as file:
            for request in requests:
                file.write(struct.pack("<I", len(request)) + request)
        arguments = [self.binary, str(port), str(connections), self._path]
        if expected:
            arguments += [expected[0], str(expected[1])]
        before = Processor.now()
        used_before = machine.processor_seconds(process_id)
        done = subprocess.run(arguments, capture_output=True, check=False)
        used = machine.processor_seconds(process_id) - used_before
        during = Processor.now().since(before)
        said = done.stderr.decode(errors="replace")
        if done.returncode:
            raise machine.Invalid(f"{work}: the load generator stopped: {said[-500:]}")
        result = json.loads(done.stdout)
        machine.require_good_answers(
            work, result["answers"], result["refused"], result["unexpected"], said[:700])
        machine.require_fast_generator(work, result["processor_seconds"], used)
        measurement = Measurement(
            result["answers"], result["seconds"], result["p50_ms"], result["p99_ms"],
            result["processor_seconds"], used, during)
        self.measurements.append((work, measurement))
        return measurement

    @contextmanager
    def observe(self, work, answers, process_id):
        """Measures what this program itself sends meanwhile, like a replay with that many answers."""
        before, start = Processor.now(), time.monotonic()
        used, own = machine.processor_seconds(process_id), time.process_time()
        yield
        self.measurements.append((work, Measurement(
            answers, time.monotonic() - start, 0, 0, time.process_time() - own,
            machine.processor_seconds(process_id) - used, Processor.now().since(before))))

    def _machine_by_work(self):
        totals = {}
        for work, measurement in self.measurements:
            totals[work] = totals.get(work, Processor(0, 0, 0)) + measurement.machine
        return totals

    def require_no_steal(self):
        """Checks each work as a whole, because a single replay is too short for a clock that counts in ticks."""
        for work, total in self._machine_by_work().items():
            machine.require_no_steal(work, total)

    def steal_shares(self):
        return [total.steal_share for total in self._machine_by_work().values()]

    def shares(self):
        """For each work, the generator's processor time as a share of the measured process's."""
        totals = {}
        for work, measurement in self.measurements:
            total = totals.setdefault(work, [0.0, 0.0])
            total[0] += measurement.generator_seconds
            total[1] += measurement.measured_seconds
        return {work: mine / theirs for work, (mine, theirs) in totals.items() if theirs > 0}

    def other_cores(self):
        """How many cores other programs used on average during the measurements."""
        seconds = sum(measurement.seconds for _, measurement in self.measurements)
        others = sum(
            measurement.machine.busy - measurement.generator_seconds - measurement.measured_seconds
            for _, measurement in self.measurements)
        return max(0.0, others / seconds) if seconds else 0.0
