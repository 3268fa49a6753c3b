"""The additional cost of a request whose database must be opened first."""
import os
import statistics
import time

import messages
from service import LIFTED, Service, progress

USERS = 48
OPEN = 16  # the smallest limit of open databases; eight more may be open for a short time
PASSES = 20
ZONE = "Items"
RECORDS = 100
MOST_MS = 1


def ask_in_turn(service, requests):
    """The seconds of each request; all users take turns."""
    seconds = []
    for _ in range(PASSES):
        for request in requests:
            began = time.perf_counter()
            service.ask(request)
            seconds.append(time.perf_counter() - began)
    return seconds


class Place:
    """A service with users who have some records each."""

    def __init__(self, binary, folder, open_databases):
        self.service = Service(binary, folder,
                               limits={**LIFTED, "openDatabases": open_databases})
        accounts = [self.service.new_account() for _ in range(USERS)]
        identifiers, kinds = messages.Names("opening"), ("create", "forceUpdate")
        for account in accounts:
            self.service.make_zone(account, ZONE)
            for request in messages.batches(account, ZONE, RECORDS, "stored", per_request=RECORDS):
                self.service.ask(request)
        names = messages.first_names("stored", 1)
        self.works = {
            "a look at the zones": lambda _: [
                messages.http(account, "zones/list") for account in accounts],
            "a save": lambda _: [
                messages.save(account, ZONE, names, [0], identifiers, kinds[1])
                for account in accounts],
        }


def measure(binary, folder, rounds):
    """The lines of the table, and whether the figures are within their bounds."""
    figures = {}
    places = {name: Place(binary, os.path.join(folder, name), count)
              for name, count in (("open", 2_000), ("opened", OPEN))}
    try:
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}")
            for work in places["open"].works:
                for name, place in places.items():
                    seconds = ask_in_turn(place.service, place.works[work](number))
                    figures.setdefault((work, name), []).append(
                        1_000 * statistics.median(seconds))
        for place in places.values():
            place.service.stop()
    finally:
        for place in places.values():
            place.service.process.kill()
    lines = [f"{USERS} users in turn, at most {OPEN} open beside 2,000; median of a round in ms, "
             f"least / median / greatest of {rounds} rounds.", "",
             "| request | open | opened for it | more |", "|---|---|---|---|"]
    dearest = 0
    for work in places["open"].works:
        columns = [figures[work, name] for name in places]
        more = [opened - open_ for open_, opened in zip(*columns)]
        lines.append(f"| {work} | " + " | ".join(map(text, [*columns, more])) + " |")
        dearest = max(dearest, statistics.median(more))
    is_met = dearest < MOST_MS
    lines += ["", f"Bar: a request whose database must be opened takes less than {MOST_MS} ms more. "
                  f"Result (median of the dearer request): {dearest:.2f} ms. "
                  f"{'Met' if is_met else 'MISSED'}."]
    return lines, is_met


def text(values):
    return (f"{min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f}")
