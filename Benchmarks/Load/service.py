"""The product: the release build of `stratus serve` on a fresh folder."""
import ctypes
import glob
import http.client
import json
import os
import select
import signal
import subprocess
import sys
import time

import messages
from machine import Invalid

# Only limits that would refuse the load; everything that affects an answer has its default.
LIFTED = {
    "requestsPerSecond": 1_000_000, "requestsInBurst": 1_000_000,
    "requestsPerSecondPerAddress": 1_000_000, "requestsInBurstPerAddress": 1_000_000,
    "transferBytesInBurst": 1_000_000_000_000, "transferBytesInBurstPerAddress": 1_000_000_000_000,
    "transferBytesInBurstPerToken": 1_000_000_000_000, "privateDatabaseBytes": 1_000_000_000_000,
}
IDLE_SECONDS = 30  # less than connectionIdleSeconds


def end_with_parent():
    """Makes the system end this child when the benchmark ends, for whatever reason (Linux)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Service:
    """A running service whose record type is deployed to production."""

    def __init__(self, binary, folder, wrapper=(), environment=None, start_seconds=60,
                 limits=None, arguments=()):
        self.binary = binary
        os.makedirs(folder, exist_ok=True)
        self.data = os.path.join(folder, "data")
        self._account_count = 0
        self._deploy_schema(folder)
        lifted = LIFTED if limits is None else limits
        words = [word for name, value in lifted.items() for word in ("--limit", f"{name}={value}")]
        with open(os.path.join(folder, "service.errors"), "ab") as errors:
            self.process = subprocess.Popen(
                [*wrapper, binary, "serve", "--data", self.data, "--port", "0", *words,
                 *arguments],
                stdout=subprocess.PIPE, stderr=errors, preexec_fn=end_with_parent,
                env={**os.environ, **(environment or {})})
        self.port = self._listening_port(start_seconds)
        self._asked_at = time.monotonic()
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def command(self, *arguments, given=""):
        """Runs a command of the product on the data folder, and returns its output."""
        done = subprocess.run([self.binary, *arguments, "--data", self.data], input=given.encode(),
                              capture_output=True, check=False)
        if done.returncode:
            raise Invalid(f"stratus {' '.join(arguments)} failed: {done.stderr.decode()[-500:]}")
        return done.stdout.decode()

    def _deploy_schema(self, folder):
        schema = os.path.join(folder, "bench.schema")
        with open(schema, "w", encoding="utf-8") as file:
            file.write(messages.SCHEMA)
        container = ("--container", messages.CONTAINER)
        self.command("schema", "import", schema, *container)
        self.command("schema", "deploy", *container)

    def new_account(self):
        """Creates an account with its tokens, as an operator does while the service runs."""
        self._account_count += 1
        email = f"person{self._account_count}@example.org"
        name = self.command("user", "create", "--email", email,
                            given="correct horse battery staple\n").strip()
        lines = self.command("token", "create", "--user", email, "--container", messages.CONTAINER,
                             "--environment", messages.ENVIRONMENT)
        tokens = dict(line.split("=", 1) for line in lines.split())
        return messages.Account(tokens["STRATUS_API_TOKEN"], tokens["STRATUS_WEB_AUTH_TOKEN"], name)

    def _listening_port(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise Invalid(f"stratus serve did not listen within {seconds} s.")
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on http://"):
            raise Invalid(f"stratus serve did not start: {line}")
        return int(line.rsplit(":", 1)[1])

    def ask(self, request):
        """Sends one prepared request, and returns the JSON of the answer. Any error in it ends the run."""
        head, body = request.split(b"\r\n\r\n", 1)
        if time.monotonic() - self._asked_at > IDLE_SECONDS:
            # The service may have closed the connection. The next request opens another one.
            self._connection.close()
        self._asked_at = time.monotonic()
        method, address, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        self._connection.request(method, address, body or None,
                                 {"Content-Type": "application/json"} if body else {})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200 or b'"serverErrorCode"' in text:
            raise Invalid(f"{address.split('?')[0]} was refused with status {answer.status}: "
                          + text.decode(errors="replace")[:500])
        return json.loads(text) if text else {}

    def make_zone(self, account, zone):
        self.ask(messages.http(account, "zones/modify", {
            "operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}]}))

    def zone_token(self, account, zone):
        """The current change token of a zone."""
        answer = self.ask(messages.http(account, "zones/lookup", {"zones": [{"zoneName": zone}]}))
        return answer["zones"][0]["syncToken"]

    def database_file(self, account):
        """The file of an account's private database."""
        pattern = os.path.join(self.data, "databases", "**", account.record_name + ".sqlite")
        found = glob.glob(pattern, recursive=True)
        if len(found) != 1:
            raise Invalid(f"{account.record_name} has {len(found)} databases instead of one.")
        return found[0]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Invalid("stratus serve did not stop within 60 s.") from None


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Invalid(f"not within {seconds} s: {what}")
        time.sleep(0.01)


def progress(text):
    print(text, file=sys.stderr, flush=True)
