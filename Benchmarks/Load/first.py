"""A new device's first sync of many records from the service, over loopback.

The device is a real cache in a process of its own, which also counts what raw SQLite makes of the same rows.
"""
import os
import subprocess
import threading
import time

from machine import Invalid
from service import LIFTED
from sight import Devices

KILLS = 5


def measure(binary, folder, records):
    """Lines to print: the figures from pages without a service, then from the service."""
    devices = Devices(binary, folder, program="cache-bench", limits=LIFTED)
    try:
        environment = devices.environment()
        lines = ["Pages in the same process:", *run(devices, environment, "first", records)]
        run(devices, environment, "fill", records)
        start = time.monotonic()
        lines += ["From the service:", *run(devices, environment, "service", records)]
        # About half of it was raw SQLite.
        lines += kill(devices, environment, records, (time.monotonic() - start) / 2)
        return lines
    finally:
        devices.service.process.kill()


def kill(devices, environment, records, seconds):
    """Kills a device during its first sync and starts it again, several times; the last run completes the sync."""
    path = os.path.join(devices.folder, "killed.sqlite")
    there = []
    for number in range(KILLS + 1):
        process = subprocess.Popen([devices.program, "continue", str(records), path],
                                   env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        alarm = threading.Timer(seconds / (KILLS + 2), process.kill)
        if number < KILLS:
            alarm.start()
        output, errors = process.communicate()
        alarm.cancel()
        if number == KILLS and process.returncode:
            raise Invalid(f"After {KILLS} kills cache-bench failed: {errors.decode()[-500:]}")
        counts = [int(float(line.split(": ")[1])) for line in output.decode().splitlines()]
        if counts and there and counts[0] < there[-1]:
            raise Invalid(f"A killed device had {there[-1]} records, and then {counts[0]}.")
        there += counts
    if there[-1] != records:
        raise Invalid(f"After {KILLS} kills the device has {there[-1]} of {records} records.")
    return [f"Killed {KILLS} times; records at each start and at the end: "
            + ", ".join(map(str, there))]


def run(devices, environment, what, records):
    done = subprocess.run([devices.program, what, str(records)], env=environment,
                          capture_output=True, check=False)
    if done.returncode:
        raise Invalid(f"cache-bench {what} failed: {done.stderr.decode()[-500:]}")
    return done.stdout.decode().splitlines()
