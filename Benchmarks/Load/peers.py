"""The peers that the product is compared with: raw SQLite with the same rows, and Debian's etcd."""
import base64
import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import machine
import messages
from service import end_with_parent, wait_until

PUTS_PER_TRANSACTION = 128  # etcd's default limit


class RawSQLite:
    """`rows.c`: the same rows into the same tables, and nothing else."""

    def __init__(self, binary, folder):
        self.binary = binary
        self._folder = os.path.join(folder, "raw")

    def insert(self, work, database, transactions, files=1, is_used=False):
        """Transactions a second, in this many files, which take turns; a thousand at most.

        The files are as of a database that is new, or as of one that was used before.
        """
        shutil.rmtree(self._folder, ignore_errors=True)
        os.makedirs(self._folder)
        done = subprocess.run(
            [self.binary, database, self._folder, str(files), str(transactions), "1000",
             "used" if is_used else "fresh"],
            capture_output=True, check=False)
        if done.returncode:
            raise machine.Invalid(f"{work}: raw SQLite stopped: {done.stderr.decode()[-500:]}")
        result = json.loads(done.stdout)
        return result["transactions"] / result["seconds"]


class Etcd:
    """One etcd without changes, through its HTTP gateway."""

    def __init__(self, folder):
        self.port, peer_port = free_port(), free_port()
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{peer_port}"
        with open(os.path.join(folder, "etcd.errors"), "ab") as errors:
            self.process = subprocess.Popen(
                ["etcd", "--data-dir", os.path.join(folder, "etcd"),
                 "--listen-client-urls", client, "--advertise-client-urls", client,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", f"default={peer}"],
                stdout=errors, stderr=errors, preexec_fn=end_with_parent)
        wait_until(lambda: self._is_healthy(client), 30, "etcd answers")

    @staticmethod
    def _is_healthy(client):
        try:
            with urllib.request.urlopen(client + "/health", timeout=5) as answer:
                return json.load(answer).get("health") == "true"
        except (urllib.error.URLError, ConnectionError):
            return False  # It does not listen yet.

    def stop(self):
        self.process.terminate()
        self.process.wait()

    @staticmethod
    def put(name, number):
        return messages.raw_http("/v3/kv/put", messages.compact(pair(name, number)))

    @staticmethod
    def transactions(record_count, seed):
        names = messages.Names(seed)
        for start in range(0, record_count, PUTS_PER_TRANSACTION):
            puts = [{"request_put": pair(names.next(), number)}
                    for number in range(start, min(start + PUTS_PER_TRANSACTION, record_count))]
            yield messages.raw_http("/v3/kv/txn", messages.compact({"success": puts}))


def pair(name, number):
    """A record's name, and its fields as JSON."""
    fields = messages.fields(number)
    value = messages.compact({key: field["value"] for key, field in fields.items()})
    return {"key": encoded(name.encode()), "value": encoded(value)}


def encoded(data):
    return base64.b64encode(data).decode()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
