"""Instructions per request of the main routes, counted by valgrind's callgrind."""
import glob
import json
import os
import re
import subprocess

import messages
from machine import Invalid
from service import Service, progress

GREATEST_RATIO = 1.03
ZONE = "Items"
STORED = 2_000  # records in the zone
WARMING = 20  # requests of a route before counting begins
STRETCHES = 12  # counted separately, because a checkpoint or a timer may happen during one


class Callgrind:
    """`stratus serve` under callgrind, with a count of the instructions since the last reading."""

    def __init__(self, binary, tools, folder):
        self._output = os.path.join(folder, "callgrind")
        self.service = Service(
            binary, folder, start_seconds=300,
            wrapper=("valgrind", "--quiet", "--tool=callgrind", "--fair-sched=yes",
                     f"--callgrind-out-file={self._output}"),
            environment={"SWIFT_DETERMINISTIC_HASHING": "1",
                         "LD_PRELOAD": os.path.join(tools, "sigsuspend.so")})

    def count(self):
        """The instructions since the last count."""
        for path in glob.glob(self._output + "*"):
            os.remove(path)
        done = subprocess.run(
            ["callgrind_control", "--dump", str(self.service.process.pid)], capture_output=True,
            text=True, check=False)
        paths = glob.glob(self._output + "*")
        if done.returncode or len(paths) != 1:
            raise Invalid(f"callgrind made {len(paths)} dumps: {(done.stdout + done.stderr)[-300:]}")
        with open(paths[0], encoding="utf-8", errors="replace") as file:
            return parse_totals(file.read())


def parse_totals(text):
    found = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
    if not found:
        raise Invalid("callgrind's dump has no totals.")
    return int(found.group(1))


class Routes:
    """The routes that are counted: for each the number of requests, and a function that makes request `n`."""

    def __init__(self, service):
        self._account = service.new_account()
        self._names, self._identifiers = messages.Names("counted"), messages.Names("counting")
        service.make_zone(self._account, ZONE)
        for request in messages.batches(self._account, ZONE, STORED, "stored", per_request=200):
            service.ask(request)
        self._stored = messages.first_names("stored", STORED)
        self._token = service.zone_token(self._account, ZONE)
        service.ask(self._saving(10, names=self._stored[:10], kind="forceUpdate"))
        self._device = {"apnsEnvironment": "production", "clientId": "bench-writer"}
        self._push_token = service.ask(self._http("tokens/create", self._device))["apnsToken"]

    def _http(self, path, body=None):
        return messages.http(self._account, path, body)

    def _saving(self, count, names=None, kind="create"):
        names = names or [self._names.next() for _ in range(count)]
        return messages.save(self._account, ZONE, names, range(count), self._identifiers, kind)

    def _looking_up(self, names):
        return self._http("records/lookup", {
            "records": [{"recordName": name} for name in names], "zoneID": {"zoneName": ZONE}})

    def all(self):
        account, stored = self._account, self._stored
        subscription = {"subscriptionID": "all", "subscriptionType": "database", "firesOnce": False,
                        "notificationInfo": {"shouldSendContentAvailable": True}}
        return {
            "users/caller": (20, lambda _: self._http("users/caller")),
            "zones/list": (20, lambda _: self._http("zones/list")),
            "zones/lookup": (20, lambda _: self._http(
                "zones/lookup", {"zones": [{"zoneName": ZONE}]})),
            "changes/database": (20, lambda _: self._http("changes/database", {})),
            "changes/zone, 10 changes": (
                20, lambda _: messages.changes(account, ZONE, self._token)),
            "changes/zone, first page": (5, lambda _: messages.changes(account, ZONE)),
            "records/lookup, 1 record": (
                20, lambda number: self._looking_up([stored[number % STORED]])),
            "records/lookup, 200 records": (5, lambda _: self._looking_up(stored[:200])),
            "records/query, equality, 10 results": (
                20, lambda number: messages.query_by_title(account, ZONE, number % (STORED // 10))),
            "records/query, sorted, page of 20": (
                20, lambda number: messages.query_by_count(account, ZONE, number % (STORED // 2))),
            "records/modify, 1 record": (20, lambda _: self._saving(1)),
            "records/modify, 200 records": (5, lambda _: self._saving(200)),
            "tokens/register": (20, lambda _: self._http(
                "tokens/register", {**self._device, "apnsToken": self._push_token})),
            "tokens/create": (20, lambda _: self._http("tokens/create", self._device)),
            "subscriptions/modify": (20, lambda _: self._http("subscriptions/modify", {
                "operations": [{"operationType": "create", "subscription": subscription}]})),
        }


def count(binary, tools, folder):
    """Instructions per request, by route."""
    own_folder = os.path.join(folder, "instructions")
    os.makedirs(own_folder)
    callgrind = Callgrind(binary, tools, own_folder)
    service, counts = callgrind.service, {}
    try:
        for route, (request_count, request) in Routes(service).all().items():
            progress(f"counting {route}")
            for number in range(WARMING):
                service.ask(request(number))
            callgrind.count()
            stretches = []
            for stretch in range(STRETCHES):
                for number in range(request_count):
                    service.ask(request(WARMING + stretch * request_count + number))
                stretches.append(callgrind.count() / request_count)
            counts[route] = round(lower_quartile(stretches))
        service.stop()
    finally:
        service.process.kill()
    return counts


def lower_quartile(values):
    """Timers add instructions to only a few stretches, which hardly changes this figure."""
    return sorted(values)[len(values) // 4]


def report(counts, save_path=None, compare_path=None):
    """The lines of the table, and whether no route costs more than allowed."""
    if save_path:
        with open(save_path, "w", encoding="utf-8") as file:
            json.dump(counts, file, indent=2)
            file.write("\n")
    if not compare_path:
        lines = ["| route | instructions a request |", "|---|---|"]
        return lines + [f"| `{route}` | {value:,} |" for route, value in counts.items()], True
    with open(compare_path, encoding="utf-8") as file:
        return compare(counts, json.load(file))


def compare(counts, before):
    lines = ["| route | before | now | ratio |", "|---|---|---|---|"]
    dear = []
    for route, value in counts.items():
        if route not in before:
            lines.append(f"| `{route}` | – | {value:,} | – |")
            continue
        ratio = value / before[route]
        lines.append(f"| `{route}` | {before[route]:,} | {value:,} | {ratio:.3f} |")
        if ratio > GREATEST_RATIO:
            dear.append(f"{route} ({ratio:.3f})")
    lost = [route for route in before if route not in counts]
    if dear:
        lines += ["", f"Over {GREATEST_RATIO}: " + "; ".join(dear) + "."]
    if lost:
        lines += ["", "Not counted any more: " + "; ".join(lost) + "."]
    return lines, not dear and not lost
