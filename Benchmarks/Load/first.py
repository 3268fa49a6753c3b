"""A new device's first sync of many records from the service, over loopback.

The device is a real cache in a process of its own, which also counts what raw SQLite makes of the same rows.
"""
import os
import subprocess

from machine import Invalid
from service import LIFTED
from sight import Devices


def measure(binary, folder, records):
    """Lines to print: the figures from pages without a service, then from the service."""
    devices = Devices(binary, folder, program="cache-bench", limits=LIFTED)
    try:
        environment = devices.environment()
        lines = ["Pages in the same process:", *run(devices, environment, "first", records)]
        run(devices, environment, "fill", records)
        lines += ["From the service:", *run(devices, environment, "service", records)]
        return lines
    finally:
        devices.service.process.kill()


def run(devices, environment, what, records):
    done = subprocess.run([devices.program, what, str(records)], env=environment,
                          capture_output=True, check=False)
    if done.returncode:
        raise Invalid(f"cache-bench {what} failed: {done.stderr.decode()[-500:]}")
    return done.stdout.decode().splitlines()
