"""One greedy client beside another user: how long the other user's requests take in the service."""
import http.client
import itertools
import json
import multiprocessing
import os
import socket
import threading
import time
from urllib.parse import quote, urlsplit

import messages
from service import LIFTED, Service, progress

CONNECTIONS = 8
QUIET_REQUESTS = 200
QUIET_PAUSE_SECONDS = 0.028  # slower than the default rate allows
WARMING_SECONDS = 1.0  # longer than the burst that a sender may have after a pause
REFUSED_PAUSE_SECONDS = 0.005  # less than the service asks it to wait
GREEDY_ADDRESS = "127.0.0.2"  # another address, like that of another machine
CHAIN = 4_800
BIG_FILTER_BYTES = 7_600_000
UPLOAD_BYTES = 8_000_000
PAGE_RECORDS, PAGE_RECORD_BYTES = 20, 800_000
# The daily transfer is limited for the container, not for a sender; all other limits are left as they are.
WITH_RATES = {"transferBytesPerDay": 0, "privateDatabaseBytes": 1_000_000_000_000}


class Connection:
    """Sends prepared requests from one address, and reconnects if the service has closed the connection."""

    def __init__(self, port, address):
        self._port, self._address = port, address
        self._socket = None

    def ask(self, request):
        """The status and the body; the status is 0 if the connection ended before an answer."""
        try:
            if not self._socket:
                self._socket = socket.create_connection(
                    ("127.0.0.1", self._port), timeout=120, source_address=(self._address, 0))
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(request)
            answer = http.client.HTTPResponse(self._socket)
            answer.begin()
            body = answer.read()
            if answer.will_close:
                self.close()
            return answer.status, body
        except (OSError, http.client.HTTPException):
            # Refused before everything was sent; the next request reconnects.
            self.close()
            return 0, b""

    def close(self):
        if self._socket:
            self._socket.close()
        self._socket = None


class Greed:
    """An endless supply of requests of one kind, different for each connection."""

    def __init__(self, service, account):
        self.service, self.account = service, account

    def prepare(self):
        pass

    def requests(self, number, connection):
        """The requests of connection `number`; it may first send requests to prepare them."""
        raise NotImplementedError

    @staticmethod
    def refused(request):
        """The same request with invalid credentials."""
        head, body = request.split(b"\r\n\r\n", 1)
        lines = head.replace(b"ckAPIToken=", b"ckAPIToken=no").replace(b"/assets/put/",
                                                                     b"/assets/put/no")
        return lines + b"\r\n\r\n" + body


class Batches(Greed):
    def prepare(self):
        self.service.make_zone(self.account, "Batches")

    def requests(self, number, connection):
        identifiers = messages.Names(f"batch operations {number}")
        for turn in itertools.count():
            names = [f"b{number}-{turn % 5}-{index}" for index in range(400)]
            yield messages.save(self.account, "Batches", names, range(turn, turn + 400),
                                identifiers, "forceUpdate")


class Pages(Greed):
    def prepare(self):
        self.service.make_zone(self.account, "Pages")
        for number in range(PAGE_RECORDS):
            record = {"recordName": f"p{number}", "recordType": "Item",
                      "fields": {"note": {"value": "x" * PAGE_RECORD_BYTES, "type": "STRING"}},
                      "zoneID": {"zoneName": "Pages"}}
            self.service.ask(messages.http(self.account, "records/modify", {
                "operations": [{"operationType": "create", "record": record}]}))

    def requests(self, number, connection):
        while True:
            yield messages.changes(self.account, "Pages")


class Filters(Greed):
    """Requests without a user: only with an API token."""

    def requests(self, number, connection):
        query = {"recordType": "Item", "filterBy": [
            {"comparator": "EQUALS", "fieldName": "title",
             "fieldValue": {"value": "hut " * (BIG_FILTER_BYTES // 4), "type": "STRING"}}]}
        address = (f"/database/1/{messages.CONTAINER}/{messages.ENVIRONMENT}/public/records/query"
                   f"?ckAPIToken={quote(self.account.api_token, safe='')}")
        request = messages.raw_http(address, messages.compact({"query": query}))
        while True:
            yield request


class Uploads(Greed):
    def prepare(self):
        self.service.make_zone(self.account, "Uploads")

    def requests(self, number, connection):
        asked = messages.http(self.account, "assets/upload", {
            "tokens": [{"recordType": "Item", "fieldName": "picture"}],
            "zoneID": {"zoneName": "Uploads"}})
        body = bytes(range(256)) * (UPLOAD_BYTES // 256)
        for turn in itertools.count():
            status, answer = connection.ask(asked)
            if status != 200:
                yield asked
                continue
            path = urlsplit(json.loads(answer)["tokens"][0]["url"]).path
            piece = f"{number} {turn}".encode()
            yield (f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
                   f"Content-Length: {len(body) + len(piece)}\r\n\r\n").encode() + body + piece


class Chains(Greed):
    """Shares a chain of records, each the parent of the next, and then ends the share."""

    def prepare(self):
        self.service.make_zone(self.account, "Chains")
        for start in range(0, CHAIN, 400):
            operations = [{"operationType": "create", "record": {
                "recordName": f"r{number}", "recordType": "Item",
                "fields": messages.fields(number), "zoneID": {"zoneName": "Chains"},
                **({"parent": {"recordName": f"r{number - 1}"}} if number else {})}}
                for number in range(start, start + 400)]
            self.service.ask(messages.http(self.account, "records/modify",
                                           {"operations": operations, "atomic": False}))

    def requests(self, number, connection):
        zone = {"zoneName": "Chains"}
        for turn in itertools.count():
            record = {"recordName": f"share{number}", "recordType": "cloudkit.share",
                      "zoneID": zone}
            if turn % 2:
                operation = {"operationType": "forceDelete", "record": record}
            else:
                operation = {"operationType": "create", "record": {
                    **record, "publicPermission": "NONE", "forRecord": {"recordName": "r0"}}}
            yield messages.http(self.account, "records/modify", {"operations": [operation]})


KINDS = {"batches": Batches, "pages": Pages, "filters": Filters, "uploads": Uploads,
         "chains": Chains}


def run_client(greed, port, interval, is_refused, ends, counts):
    """The greedy client, in its own process: several connections, each of which sends the next request after the last
    answer, or at most one in each interval. It represents another machine, so it has the lowest priority; measurements
    showed that no fewer of its requests are served than with the usual one."""
    os.nice(19)

    def work(number):
        connection = Connection(port, GREEDY_ADDRESS)
        served = refused = 0
        due = time.monotonic()
        source = greed.requests(number, connection)
        request = next(source)
        while not ends.is_set():
            status, _ = connection.ask(greed.refused(request) if is_refused else request)
            if status == 200:
                served += 1
            else:
                refused += 1
                time.sleep(REFUSED_PAUSE_SECONDS)
            if interval:
                due += interval
                ends.wait(max(0, due - time.monotonic()))
            # A client prepares its requests even if they are refused, and that work is done on these processors too.
            request = next(source)
        counts.put((served, refused))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Quiet:
    """The other user, who looks up and saves one record, in turns."""

    def __init__(self, service):
        self.account = service.new_account()
        service.make_zone(self.account, "Items")
        for request in messages.batches(self.account, "Items", 1_000, "quiet"):
            service.ask(request)
        self._names = messages.first_names("quiet", 100)
        self._identifiers = messages.Names("quiet operations")
        self._turn = 0
        self._connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)

    def request(self):
        self._turn += 1
        name = self._names[self._turn % 100]
        if self._turn % 2:
            return messages.http(self.account, "records/lookup", {
                "records": [{"recordName": name}], "zoneID": {"zoneName": "Items"}})
        return messages.save(self.account, "Items", [name], [self._turn], self._identifiers,
                             "forceUpdate")

    def times(self):
        """The milliseconds that reads and saves took in the service."""
        reads, saves = [], []
        for _ in range(QUIET_REQUESTS):
            head, body = self.request().split(b"\r\n\r\n", 1)
            method, address, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            self._connection.request(method, address, body, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            answer.read()
            taken = float(answer.headers["Server-Timing"].split("dur=")[1])
            (reads if "lookup" in address else saves).append(taken if answer.status == 200 else 1e6)
            time.sleep(QUIET_PAUSE_SECONDS)
        return reads, saves


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def beside(greed, port, quiet, interval, is_refused):
    """The quiet user's times beside a greedy client, the client's answers and refusals, and how long it ran."""
    context = multiprocessing.get_context("fork")
    ends, counts = context.Event(), context.Queue()
    client = context.Process(target=run_client,
                             args=(greed, port, interval, is_refused, ends, counts))
    began = time.monotonic()
    client.start()
    time.sleep(WARMING_SECONDS)
    times = quiet.times()
    ends.set()
    all_counts = [counts.get() for _ in range(CONNECTIONS)]
    client.join()
    served, refused = (sum(column) for column in zip(*all_counts))
    return times, served, refused, time.monotonic() - began


def measure(binary, folder, kinds, rounds):
    """The lines of the table; the ratios compare with the time beside an equal load that is refused."""
    lines = ["| rates | greedy kind | served a second | refused a second | reads: median, ms "
             "| ratio | p99, ms | ratio | saves: median, ms | ratio | p99, ms | ratio |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for name, limits in (("with", WITH_RATES), ("without", LIFTED)):
        service = Service(binary, f"{folder}/{name}", limits=limits,
                          arguments=("--server-timing",))
        try:
            for kind in kinds:
                lines.append(f"| {name} | {kind} | " + measure_kind(service, kind, rounds) + " |")
                progress(lines[-1])
            service.stop()
        finally:
            service.process.kill()
    return lines


def measure_kind(service, kind, rounds):
    quiet, greed = Quiet(service), KINDS[kind](service, service.new_account())
    greed.prepare()
    quiet.times()
    besides, refusals = ([], []), ([], [])
    served = refused = seconds = 0
    for _ in range(rounds):
        times, good, bad, took = beside(greed, service.port, quiet, 0, False)
        for known, new in zip(besides, times):
            known += new
        served, refused, seconds = served + good, refused + bad, seconds + took
        # An equal load that is refused: the same number of requests a second.
        interval = CONNECTIONS * took / max(good + bad, 1)
        times, _, _, _ = beside(greed, service.port, quiet, interval, True)
        for known, new in zip(refusals, times):
            known += new
    cells = [f"{served / seconds:.0f}", f"{refused / seconds:.0f}"]
    for greedy, equal in zip(besides, refusals):
        for share in (0.5, 0.99):
            value = percentile(greedy, share)
            cells += [f"{value:.2f}", f"{value / percentile(equal, share):.2f}"]
    return " | ".join(cells)
