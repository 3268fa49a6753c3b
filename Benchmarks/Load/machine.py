"""What the machine did during a measurement, and whether the measurement counts."""
import os
from dataclasses import dataclass

GREATEST_STEAL_SHARE = 0.02  # of a work's processor time, which the hypervisor gave to other machines
GREATEST_GENERATOR_SHARE = 0.5  # of the measured process's processor time
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
CLEAR_SECONDS = 0.1  # of processor time; below this the count in ticks is too coarse


class Invalid(Exception):
    """The run must not be reported; the text says why."""


@dataclass
class Processor:
    """Seconds of processor time on all cores, since the start or between two moments."""

    busy: float
    idle: float
    stolen: float

    @staticmethod
    def now():
        with open("/proc/stat", encoding="ascii") as file:
            return Processor.parse(file.readline())

    @staticmethod
    def parse(line):
        """Reads the first line of /proc/stat: user nice system idle iowait irq softirq steal."""
        ticks = [int(word) / TICKS_PER_SECOND for word in line.split()[1:9]]
        return Processor(sum(ticks[:3] + ticks[5:7]), ticks[3] + ticks[4], ticks[7])

    def __add__(self, other):
        return Processor(self.busy + other.busy, self.idle + other.idle, self.stolen + other.stolen)

    def since(self, start):
        return Processor(self.busy - start.busy, self.idle - start.idle, self.stolen - start.stolen)

    @property
    def steal_share(self):
        total = self.busy + self.idle + self.stolen
        return self.stolen / total if total > 0 else 0.0


def processor_seconds(process_id):
    """The processor time of a process so far, of all its threads."""
    with open(f"/proc/{process_id}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def require_no_steal(work, processor):
    if processor.steal_share > GREATEST_STEAL_SHARE:
        raise Invalid(
            f"{work}: the hypervisor took {100 * processor.steal_share:.1f} % of the processor "
            f"time for others, more than {100 * GREATEST_STEAL_SHARE:.0f} %; "
            "run again when it is quieter.")


def require_good_answers(work, answers, refused, unexpected, first_bad):
    if refused:
        raise Invalid(f"{work}: {refused} of {answers} answers were errors or throttles. "
                      f"The first one: {first_bad}")
    if unexpected:
        raise Invalid(f"{work}: {unexpected} of {answers} answers do not have what was asked for. "
                      f"The first one: {first_bad}")


def require_fast_generator(work, generator_seconds, measured_seconds):
    """Checks that the load generator was not the bottleneck."""
    if measured_seconds < CLEAR_SECONDS:
        return
    share = generator_seconds / measured_seconds
    if share > GREATEST_GENERATOR_SHARE:
        raise Invalid(
            f"{work}: the load generator used {share:.2f} of the measured process's processor "
            f"time, more than {GREATEST_GENERATOR_SHARE}; it would be the bottleneck.")
