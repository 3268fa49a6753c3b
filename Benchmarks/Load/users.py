"""Saves of 1,000 active users compared with those of 48, and the disk space of a user with ten records."""
import os
import statistics

import messages
from service import LIFTED, Service, progress

FEW, MANY = 48, 1_000
QUIET = 20  # users who only save their records; the size of their files is measured
RECORDS = 10
CONNECTIONS = 16
SAVES = 3_000  # in a turn
ZONE = "Items"

LEAST_RATIO = 0.8
MOST_BYTES = 60_000


def account(service, number):
    """A user without a password: a thousand hashes would take longer than the measurement."""
    lines = service.command("token", "create", "--user", f"active{number}", "--new-user",
                            "--container", messages.CONTAINER,
                            "--environment", messages.ENVIRONMENT)
    tokens = dict(line.split("=", 1) for line in lines.split())
    return messages.Account(tokens["STRATUS_API_TOKEN"], tokens["STRATUS_WEB_AUTH_TOKEN"], "")


def saves(accounts, number, identifiers):
    """One record for each user, in turns; the size of each database stays the same."""
    for index in range(SAVES):
        user = index % len(accounts)
        name = messages.first_names(f"user {user}", 1)
        yield messages.save(accounts[user], ZONE, name, [number], identifiers, "forceUpdate")


def measure(binary, folder, generator, rounds):
    """The lines of the table, and whether the figures are within their bounds."""
    service = Service(binary, os.path.join(folder, "users"), limits=LIFTED)
    try:
        accounts = []
        for number in range(MANY + QUIET):
            if number % 100 == 0:
                progress(f"{number} of {MANY} users")
            accounts.append(account(service, number))
            service.make_zone(accounts[-1], ZONE)
            for request in messages.batches(accounts[-1], ZONE, RECORDS, f"user {number}",
                                            per_request=RECORDS):
                service.ask(request)
        identifiers = messages.Names("saves of users")
        groups = {FEW: accounts[:FEW], MANY: accounts[:MANY]}
        for quiet in accounts[MANY:]:
            quiet.record_name = service.ask(messages.http(quiet, "users/caller"))["userRecordName"]
        rates = {count: [] for count in groups}
        for number in range(-1, rounds):  # the first turn warms
            for count, group in groups.items():
                progress(f"turn {number + 1} of {rounds}, {count} users")
                requests = list(saves(group, number + 1, identifiers))
                done = generator.replay(f"saves of {count} users", requests, service.port,
                                        service.process.pid, CONNECTIONS)
                if number >= 0:
                    rates[count].append(done.per_second)
        # Each file is closed, which moves its log into it.
        service.stop()
        sizes = [os.path.getsize(service.database_file(quiet)) for quiet in accounts[MANY:]]
    finally:
        service.process.kill()
    ratios = [many / few for few, many in zip(rates[FEW], rates[MANY])]
    ratio, bytes_ = statistics.median(ratios), statistics.median(sizes)
    lines = [f"Saves of one record, {SAVES:,} a turn by {CONNECTIONS} connections, of all users "
             f"in turn; least / median / greatest of {rounds} turns.", "",
             "| users | saves a second |", "|---|---|",
             *(f"| {count:,} | {three(rates[count], '.0f')} |" for count in groups),
             f"| {MANY:,} ÷ {FEW} | {three(ratios, '.2f')} |", "",
             verdict(f"{MANY:,} users lose at most {1 - LEAST_RATIO:.0%} against {FEW}",
                     f"{1 - ratio:.0%}", ratio >= LEAST_RATIO),
             verdict(f"a user of {RECORDS} records takes at most {MOST_BYTES // 1000} kB on the disk",
                     f"{bytes_ / 1000:.1f} kB, the largest of {len(sizes):,} "
                     f"{max(sizes) / 1000:.1f} kB", bytes_ <= MOST_BYTES)]
    return lines, ratio >= LEAST_RATIO and bytes_ <= MOST_BYTES


def verdict(bar, result, is_met):
    return f"Bar: {bar}. Result (median): {result}. {'Met' if is_met else 'MISSED'}."


def three(values, form):
    return " / ".join(format(value, form)
                      for value in (min(values), statistics.median(values), max(values)))
