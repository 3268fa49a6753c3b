"""The processes of a story: the service and the devices, whose output is read while they run."""
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time

ANSWER_SECONDS = 20  # how long a device may take to answer a command
ARRIVAL_SECONDS = 30  # how long a change may take to reach the other device
START_SECONDS = 30  # how long the service may take to listen


class Failure(Exception):
    """A step of the story failed."""


def end_with_parent():
    """Makes the system end this child when the story ends, for whatever reason (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Program:
    """A child process whose output is read line by line while it runs."""

    running = []

    def __init__(self, name, arguments, folder, environment=None):
        self.name = name
        self.errors_path = os.path.join(folder, name.replace(" ", "-") + ".errors")
        with open(self.errors_path, "ab") as errors:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env={**os.environ, **(environment or {})}, preexec_fn=end_with_parent)
        self.lines = []  # (seconds, text)
        self.has_ended = False
        self.arrival = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        Program.running.append(self)

    def _read(self):
        for line in self.process.stdout:
            with self.arrival:
                self.lines.append((time.monotonic(), line.decode("utf-8").rstrip("\n")))
                self.arrival.notify_all()
        with self.arrival:
            self.has_ended = True
            self.arrival.notify_all()

    def line(self, test, since, seconds, what):
        """Waits for a line after the given number of lines, and returns its index."""
        deadline = time.monotonic() + seconds
        with self.arrival:
            index = since
            while True:
                while index < len(self.lines):
                    if test(self.lines[index][1]):
                        return index
                    index += 1
                if self.has_ended:
                    raise Failure(f"{self.name} ended before {what}. {self.last_error()}")
                if not self.arrival.wait(max(0, deadline - time.monotonic())):
                    if time.monotonic() >= deadline:
                        raise Failure(f"{self.name} did not print {what} within {seconds} s. "
                                      + self.last_error())

    def last_error(self):
        with open(self.errors_path, encoding="utf-8", errors="replace") as file:
            text = file.read().strip()
        return f"It said: {text[-600:]}" if text else ""

    def kill(self):
        """Ends the process without warning, like a power cut."""
        self.process.kill()
        self.process.wait()
        Program.running.remove(self)


class Service(Program):
    def __init__(self, products, folder, port=0):
        self.products, self.folder = products, folder
        super().__init__("the service", [
            os.path.join(products, "stratus"), "serve", "--dev", "--port", str(port),
            "--data", os.path.join(folder, "service")], folder)
        index = self.line(lambda text: text.startswith("listening on http://"), 0, START_SECONDS,
                          "its address")
        self.listening_at, text = self.lines[index]
        self.url = text.removeprefix("listening on ").strip()
        self.port = int(self.url.rsplit(":", 1)[1])

    def again(self):
        return Service(self.products, self.folder, self.port)


class Device(Program):
    """A device of Alice or another user: `shopping` with its own data folder."""

    def __init__(self, products, folder, name, service, *options, user="alice"):
        self.products, self.folder, self.device, self.service = products, folder, name, service
        super().__init__(f"{user}'s {name}", [
            os.path.join(products, "shopping"), "--data", os.path.join(folder, name),
            "--list", "Groceries", *options], folder, {
                "STRATUS_URL": service.url, "STRATUS_API_TOKEN": "development",
                "STRATUS_DEV_USER": user, "STRATUS_DEVICE_ID": name})
        self.done = 0  # lines that commands have read

    def again(self, *options):
        return Device(self.products, self.folder, self.device, self.service, *options)

    def tell(self, command):
        """Types a command, and returns the lines of the answer."""
        with self.arrival:
            start = len(self.lines)
        try:
            self.process.stdin.write((command + "\n").encode("utf-8"))
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(f"{self.name} ended before '{command}'. {self.last_error()}") from None
        end = self.line(lambda text: text == ".", start, ANSWER_SECONDS,
                        f"an answer to '{command.splitlines()[0]}'")
        return [text for _, text in self.lines[start:end] if not text.startswith("* ")]

    def seen(self, text, since):
        """Waits until the device shows a change, and returns the time."""
        index = self.line(lambda line: line.startswith("* ") and text in line, since,
                          ARRIVAL_SECONDS, f"'{text}'")
        return self.lines[index][0]

    def items(self):
        """The items as shown: name and mark, in order."""
        rows = (re.match(r" *\d+  \[(.)\] (.*)", line) for line in self.tell("show"))
        return [(row.group(2), row.group(1)) for row in rows if row]

    def names(self):
        return [name for name, _ in self.items()]

    def quit(self):
        self.tell("quit")
        if self.process.wait(timeout=ANSWER_SECONDS) != 0:
            raise Failure(f"{self.name} did not end well. {self.last_error()}")
        Program.running.remove(self)


def require(condition, why):
    if not condition:
        raise Failure(why)


def until(condition, what, seconds=ARRIVAL_SECONDS):
    """Waits until a condition is true, and returns how many seconds that took."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            raise Failure(f"after {seconds} s still not so: {what}")
        time.sleep(0.02)
    return time.monotonic() - start
