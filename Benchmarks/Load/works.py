"""The works, measured in rounds in which the product and its peers take turns."""
import itertools

import messages
from notifications import measure_etcd_watch, measure_notifications
from sight import measure_sight

SAVED_IN_BATCHES = 10_000
SMALL, MIDDLE, LARGE = 1_000, 100_000, 1_000_000
REQUESTS_PER_ROUND = 300
SAVES_TO_WARM = 120
CHANGED = '"recordChangeTag"'  # once for each record of an answer


class Works:
    """What the works share: the service, the peers, the rounds, and the zones, which are filled once."""

    def __init__(self, service, generator, raw, etcd, figures, rounds, sizes):
        self.service, self.generator, self.figures = service, generator, figures
        self.raw, self.etcd, self.rounds, self.sizes = raw, etcd, rounds, sizes
        self._zones = {}  # size: (account, token before the last ten changes)

    def replay(self, work, requests, connections=1, expected=None):
        return self.generator.replay(work, requests, self.service.port, self.service.process.pid,
                                     connections, expected)

    def replay_etcd(self, work, requests, connections=1):
        return self.generator.replay(work, requests, self.etcd.port, self.etcd.process.pid,
                                     connections)

    def account_with_zone(self):
        account = self.service.new_account()
        self.service.make_zone(account, "Items")
        return account

    def zone_of(self, size):
        """An account whose zone has this many records, and a change token from before the last ten changes."""
        if size not in self._zones:
            account = self.account_with_zone()
            requests = messages.batches(account, "Items", size, f"zone {size}")
            while part := list(itertools.islice(requests, 250)):
                self.replay(f"filling a zone of {size}", part)
            token = self.service.zone_token(account, "Items")
            names = messages.first_names(f"zone {size}", 10)
            self.service.ask(messages.save(account, "Items", names, range(10),
                                           messages.Names(f"change {size}"), "forceUpdate"))
            self._zones[size] = (account, token)
        return self._zones[size]

    # W1

    def batch_saves(self):
        """10,000 records into a new zone of a new user, 400 a request, one connection."""
        work, unit = "W1 batch save", "records/s"
        for number in range(self.rounds):
            account = self.account_with_zone()
            requests = messages.batches(account, "Items", SAVED_IN_BATCHES, f"batch {number}")
            done = self.replay(work, requests,
                               expected=(CHANGED, messages.RECORDS_PER_REQUEST))
            self.figures.add(work, "stratus", unit, SAVED_IN_BATCHES / done.seconds)
            transactions = SAVED_IN_BATCHES // messages.RECORDS_PER_REQUEST
            rate = self.raw.insert(work, self.service.database_file(account), transactions)
            self.figures.add(work, "raw SQLite", unit, rate * messages.RECORDS_PER_REQUEST)
            self.figures.compare(work, "stratus", "raw SQLite")
            if self.etcd:
                done = self.replay_etcd(
                    work + ", etcd", self.etcd.transactions(SAVED_IN_BATCHES, f"etcd {number}"))
                self.figures.add(work, "etcd", unit, SAVED_IN_BATCHES / done.seconds)
                self.figures.compare(work, "stratus", "etcd")

    # W2

    def single_saves(self):
        """One record a request at 1, 16 and 64 connections: each a user's own, then one user's."""
        groups = [(1, 1), (16, 16), (64, 64), (16, 1), (64, 1)]
        accounts = {group: [self.account_with_zone() for _ in range(group[1])] for group in groups}
        for group in groups:  # until the logs have their usual length
            identifiers, names = messages.Names(f"warming {group}"), messages.Names(f"warm {group}")
            requests = [messages.save(account, "Items", [names.next()], [index], identifiers)
                        for index in range(SAVES_TO_WARM) for account in accounts[group]]
            self.replay("warming for W2", requests, group[0])
        for number in range(self.rounds):
            for group in groups:
                self._save_singles(number, *group, accounts[group])

    def _save_singles(self, number, connections, users, accounts):
        plural = "s" if connections > 1 else ""
        work = f"W2 one-record saves, {connections} connection{plural}"
        if users < connections:
            work += " of one user"
        count = 640 if connections == 1 else 3_200
        names, identifiers = (messages.Names(f"{work} {number} {what}") for what in "rn")
        requests = [
            messages.save(accounts[index % users], "Items", [names.next()], [index], identifiers)
            for index in range(count)
        ]
        done = self.replay(work, requests, connections, expected=(CHANGED, 1))
        self.figures.add(work, "stratus", "saves/s", done.per_second)
        self.figures.add(work, "stratus, p50", "ms", done.p50_ms)
        self.figures.add(work, "stratus, p99", "ms", done.p99_ms)
        database = self.service.database_file(accounts[0])
        saved = SAVES_TO_WARM + (number + 1) * count // users
        rate = self.raw.insert(work, database, saved, users, is_used=True)
        self.figures.add(work, "raw SQLite", "saves/s", rate)
        self.figures.compare(work, "stratus", "raw SQLite")
        if self.etcd and users == connections:
            puts = [self.etcd.put(names.next(), index) for index in range(count)]
            done = self.replay_etcd(work + ", etcd", puts, connections)
            self.figures.add(work, "etcd", "saves/s", done.per_second)
            self.figures.compare(work, "stratus", "etcd")

    # W3

    def ten_changes(self):
        """What changed since a token: ten records, in zones of several sizes."""
        work = "W3 ten changes"
        for size in self.sizes:
            self.zone_of(size)
        for _ in range(self.rounds):
            for size in self.sizes:
                account, token = self.zone_of(size)
                requests = [messages.changes(account, "Items", token)] * REQUESTS_PER_ROUND
                done = self.replay(work, requests, expected=(CHANGED, 10))
                self.figures.add(work, f"of {size:,}", "ms, p50", done.p50_ms)
                if size != SMALL:
                    self.figures.compare(work, f"of {size:,}", f"of {SMALL:,}")

    # W4

    def first_sync(self):
        """A new device fetches a zone of 100,000 records, page by page, on one connection."""
        work = "W4 first sync"
        account, _ = self.zone_of(MIDDLE)
        requests, page_records = self._pages(account)
        for _ in range(self.rounds):
            done = self.replay(work, requests, expected=(CHANGED, page_records))
            rate = len(requests) * page_records / done.seconds
            self.figures.add(work, f"100,000 records, {page_records} a page", "records/s", rate)

    def _pages(self, account):
        """The requests for all full pages, and how many records such a page has."""
        requests, counts, token, is_more = [], [], None, True
        while is_more:
            requests.append(messages.changes(account, "Items", token))
            page = self.service.ask(requests[-1])["zones"][0]
            token, is_more = page["syncToken"], page["moreComing"]
            counts.append(len(page["records"]))
        full = counts[0]
        return [request for request, count in zip(requests, counts) if count == full], full

    # W5

    def notifications(self):
        """From sending a change until another device's long poll has its notification."""
        measure_notifications(self)
        if self.etcd:
            measure_etcd_watch(self)

    # W6

    def queries(self):
        """An indexed query with ten results, and a page of 20 of a sorted one."""
        work = "W6 queries"
        for size in (SMALL, MIDDLE):
            self._have_indexes(size)
        for _ in range(self.rounds):
            for size in (SMALL, MIDDLE):
                account, _ = self.zone_of(size)
                numbers = range(REQUESTS_PER_ROUND)
                by_title = [messages.query_by_title(account, "Items", 7 * number % (size // 10))
                            for number in numbers]
                by_count = [messages.query_by_count(account, "Items", 31 * number % (size - 20))
                            for number in numbers]
                for name, requests, results in (
                        ("equality, 10 results", by_title, 10),
                        ("range and sort, page of 20", by_count, 20)):
                    done = self.replay(work, requests, expected=(CHANGED, results))
                    self.figures.add(work, f"{name}, of {size:,}", "ms, p50", done.p50_ms)
        for name in ("equality, 10 results", "range and sort, page of 20"):
            self.figures.compare(work, f"{name}, of {MIDDLE:,}", f"{name}, of {SMALL:,}")

    # W7

    def sight(self):
        """From a change on a device until another one has it; and a new device's first sync."""
        measure_sight(self, self.service.binary, self.generator.folder)

    def _have_indexes(self, size):
        """Repeats a query until its indexes exist, which are created at the first one."""
        account, _ = self.zone_of(size)
        for request, results in ((messages.query_by_title(account, "Items", 0), 10),
                                 (messages.query_by_count(account, "Items", 0), 20)):
            while len(self.service.ask(request)["records"]) < results:
                pass

    BY_NAME = {"W1": batch_saves, "W2": single_saves, "W3": ten_changes, "W4": first_sync,
               "W5": notifications, "W6": queries, "W7": sight}
