"""W5: how long a change takes until another client is notified."""
import re
import select
import socket
import time
from statistics import median

import messages
from machine import Invalid
from peers import encoded

LISTENERS = 40  # each gives one sample a round
PAUSE_SECONDS = 1.5  # more than gatheringSeconds; after that the next change is notified immediately


class Wire:
    """A connection whose answers are examined as they arrive."""

    def __init__(self, port, request=b""):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.send(request)

    def send(self, request):
        self.received = b""
        self.socket.sendall(request)

    def receive(self):
        data = self.socket.recv(65536)
        if not data:
            raise Invalid(f"W5: a connection was closed after {self.received[:300]!r}.")
        self.received += data

    @property
    def has_answer(self):
        head, found, body = self.received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        return bool(found and length) and len(body) >= int(length.group(1))


def seconds_until(change, listener, is_notified, writer):
    """Sends a change, and returns the time until the listener is notified; also waits for the writer's answer."""
    start = time.perf_counter()
    notified_at = None
    writer.send(change)
    while notified_at is None or not writer.has_answer:
        ready = select.select([listener.socket, writer.socket], [], [], 10)[0]
        if not ready:
            raise Invalid("W5: no notification of a change came within 10 s.")
        for wire in (listener, writer):
            if wire.socket in ready and not (wire is listener and notified_at):
                wire.receive()
        if notified_at is None and is_notified(listener):
            notified_at = time.perf_counter()
    if b"200 OK" not in writer.received or b'"serverErrorCode"' in writer.received:
        raise Invalid(f"W5: a change was refused: {writer.received[:500]!r}")
    return notified_at - start


class Listener:
    """A second device of an account, which is notified of every change of its private database."""

    def __init__(self, works):
        self.account = works.account_with_zone()
        self.port = works.service.port

        def ask(path, body):
            return works.service.ask(messages.http(self.account, path, body, device="bench-reader"))
        device = {"apnsEnvironment": "production", "clientId": "bench-reader"}
        made = ask("tokens/create", device)
        ask("tokens/register", {**device, "apnsToken": made["apnsToken"]})
        ask("subscriptions/modify", {"operations": [{"operationType": "create", "subscription": {
            "subscriptionID": "all", "subscriptionType": "database", "firesOnce": False,
            "notificationInfo": {"shouldSendContentAvailable": True}}}]})
        self.poll = messages.raw_http("/courier/" + made["webcourierURL"].split("/courier/", 1)[1])

    def listen(self):
        return Wire(self.port, self.poll)


def was_notified(wire):
    if wire.has_answer and b'"nid"' not in wire.received:
        raise Invalid(f"W5: a poll was answered without a notification: {wire.received[:500]!r}")
    return wire.has_answer


def measure_notifications(works):
    work = "W5 change to notified"
    listeners = [Listener(works) for _ in range(LISTENERS)]
    names, identifiers = messages.Names("notified"), messages.Names("notifying")
    writer = Wire(works.service.port)
    for _ in range(works.rounds):
        waiting = [(listener, listener.listen()) for listener in listeners]
        time.sleep(PAUSE_SECONDS)  # By then all polls wait, and the changes of the round before are no longer gathered.
        with works.generator.observe(work, LISTENERS, works.service.process.pid):
            samples = [
                seconds_until(
                    messages.save(listener.account, "Items", [names.next()], [1], identifiers),
                    wire, was_notified, writer)
                for listener, wire in waiting
            ]
        add(works, work, "stratus", samples)


def measure_etcd_watch(works):
    work, seen = "W5 change to notified", 0
    watch = messages.raw_http("/v3/watch", messages.compact(
        {"create_request": {"key": encoded(b"watched")}}))
    listener, writer = Wire(works.etcd.port, watch), Wire(works.etcd.port)
    while b'"created":true' not in listener.received:
        listener.receive()
    put = messages.raw_http("/v3/kv/put", messages.compact(
        {"key": encoded(b"watched"), "value": encoded(b"changed")}))
    for _ in range(works.rounds):
        samples = []
        with works.generator.observe(work + ", etcd", LISTENERS, works.etcd.process.pid):
            for _ in range(LISTENERS):
                seen += 1
                samples.append(seconds_until(
                    put, listener, lambda wire: wire.received.count(b'"events"') >= seen, writer))
        add(works, work, "etcd", samples)
    works.figures.compare(work, "stratus, p50", "etcd, p50")


def add(works, work, name, samples):
    works.figures.add(work, f"{name}, p50", "ms", 1e3 * median(samples))
    works.figures.add(work, f"{name}, greatest", "ms", 1e3 * max(samples))
