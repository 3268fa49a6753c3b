"""W7: how soon a change on one device is seen on another one, and how soon a new device is in sync.

Both devices are real caches with default settings, in a process of their own; the service has default
limits and default files.
"""
import os
import subprocess
import threading
import time
from statistics import median

import messages
from machine import Invalid
from service import Service, end_with_parent

CHANGES = 200
SERIES = {"one every 2 s": 2, "one every 100 ms": 0.1, "back to back": 0}
# Records of one person's two caches; what Alice adds to a shopping list until Bob's screen shows it.
FORMS = [("series", "changes", list(SERIES)),
         ("shopping", "changes on Bob's screen", ["one every 2 s", "back to back"])]
PATIENCE_SECONDS = 60


def percentile(samples, share):
    """The smallest sample that this share of the samples does not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Devices:
    """A program with caches, each time for a new user of a service."""

    def __init__(self, binary, folder, program="sight", limits=None):
        self.program = os.path.join(os.path.dirname(binary), program)
        if not os.path.exists(self.program):
            raise Invalid(f"Build the product {program} too: {self.program} is not there.")
        self.folder = os.path.join(folder, program)
        self.service = Service(binary, self.folder, limits=limits or {})
        self._users = 0

    def second_user(self):
        """Another user's token."""
        return self.environment()["STRATUS_WEB_AUTH_TOKEN"]

    def environment(self, second=None):
        """What a new user's program needs; the second user is the one with whom they share."""
        self._users += 1
        email = f"device{self._users}@example.org"
        self.service.command("user", "create", "--email", email,
                             given="correct horse battery staple\n")
        lines = self.service.command("token", "create", "--user", email, "--container",
                                     messages.CONTAINER, "--environment", "development")
        tokens = dict(line.split("=", 1) for line in lines.split())
        return {**os.environ, **tokens, "SECOND_WEB_AUTH_TOKEN": second or "",
                "STRATUS_URL": f"http://127.0.0.1:{self.service.port}",
                "STRATUS_ENVIRONMENT": "development", "TMPDIR": self.folder + "/",
                "STRATUS_KEY_FOLDER": os.path.join(self.folder, f"keys{self._users}"),
                "STRATUS_OPERATION_FOLDER": os.path.join(self.folder, f"work{self._users}")}

    def run(self, seconds, *arguments):
        """The program's output, and the time from its start to its first line."""
        second = self.second_user() if arguments[0] == "shopping" else None
        environment = self.environment(second)
        start = time.perf_counter()
        process = subprocess.Popen([self.program, *arguments], env=environment,
                                   stdout=subprocess.PIPE, preexec_fn=end_with_parent)
        alarm = threading.Timer(seconds, process.kill)
        alarm.start()
        first = process.stdout.readline()
        took = time.perf_counter() - start
        rest = process.stdout.read()
        process.wait()
        alarm.cancel()
        if process.returncode:
            raise Invalid(f"W7: sight {' '.join(arguments)} ended with {process.returncode}, "
                          f"after {time.perf_counter() - start:.0f} s.")
        return (first + rest).decode().split(), took


def measure_sight(works, binary, folder):
    work = "W7 change seen"
    devices = Devices(binary, folder)
    try:
        for _ in range(works.rounds):
            output, seconds = devices.run(PATIENCE_SECONDS, "first")
            if output != ["synced"]:
                raise Invalid(f"W7: the first sync ended with {output}.")
            works.figures.add(work, "first sync, from the process's start", "ms", 1e3 * seconds)
        for what, words, names in FORMS:
            for name in names:
                pause = SERIES[name]
                output, _ = devices.run(CHANGES * pause + PATIENCE_SECONDS, what, str(CHANGES),
                                        str(pause))
                samples = [float(word) for word in output]
                if len(samples) != CHANGES:
                    raise Invalid(f"W7: {len(samples)} of {CHANGES} changes were seen.")
                text = f"{CHANGES} {words}, {name}"
                works.figures.add(work, f"{text}, p50", "ms", median(samples))
                works.figures.add(work, f"{text}, p99", "ms", percentile(samples, 0.99))
                works.figures.add(work, f"{text}, greatest", "ms", max(samples))
        devices.service.stop()
    finally:
        devices.service.process.kill()
