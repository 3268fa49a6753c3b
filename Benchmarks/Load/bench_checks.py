"""Tests of the benchmark itself, mainly of the rules that make a run invalid."""
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.dirname(__file__))

import greedy
import instructions
import machine
import messages
from figures import Figures, rounded
from generator import Generator
from machine import Invalid, Processor


class PresetAnswers(BaseHTTPRequestHandler):
    """A service whose path says the answer: /STATUS/BODY."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        _, status, body = self.path.split("/", 2)
        self.send_response(int(status))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class GreedyChecks(unittest.TestCase):
    def test_refused_request_differs_in_its_credentials_alone(self):
        account = messages.Account("api", "web", "_a")
        request = messages.changes(account, "Items")
        refused = greedy.Greed.refused(request)
        self.assertEqual(refused.replace(b"ckAPIToken=noapi", b"ckAPIToken=api"), request)
        self.assertNotEqual(refused, request)

    def test_percentile_is_a_value_that_was_measured(self):
        values = [3.0, 1.0, 2.0, 100.0]
        self.assertEqual(greedy.percentile(values, 0.5), 3.0)
        self.assertEqual(greedy.percentile(values, 0.99), 100.0)


class ValidityChecks(unittest.TestCase):
    def test_steal_time_refuses_the_run(self):
        start = Processor.parse("cpu 100 0 100 1000 0 0 0 0 0 0")
        quiet = Processor.parse("cpu 200 0 100 1098 0 0 0 2 0 0").since(start)
        machine.require_no_steal("W1", quiet)
        stolen = Processor.parse("cpu 200 0 100 1090 0 0 0 10 0 0").since(start)
        with self.assertRaisesRegex(Invalid, "5.0 %"):
            machine.require_no_steal("W1", stolen)

    def test_busy_generator_refuses_the_run(self):
        machine.require_fast_generator("W3", 0.4, 1.0)
        with self.assertRaisesRegex(Invalid, "bottleneck"):
            machine.require_fast_generator("W3", 0.6, 1.0)

    def test_answers_without_what_was_asked_for_refuse_the_run(self):
        machine.require_good_answers("W2", 100, 0, 0, "")
        with self.assertRaisesRegex(Invalid, "1 of 100"):
            machine.require_good_answers("W2", 100, 0, 1, "{}")


class GeneratorChecks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.binary = os.path.join(cls.folder.name, "load")
        source = os.path.join(os.path.dirname(__file__), "load.c")
        subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", cls.binary, source],
                       check=True)
        cls.server = ThreadingHTTPServer(("127.0.0.1", 0), PresetAnswers)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        cls.folder.cleanup()

    def replay(self, *paths, expected=None):
        generator = Generator(self.binary, self.folder.name)
        requests = [messages.raw_http(path) for path in paths]
        return generator.replay(
            "check", requests, self.server.server_port, os.getpid(), 2, expected)

    def test_every_request_is_answered(self):
        measurement = self.replay(*["/200/aba"] * 7, expected=("a", 2))
        self.assertEqual(measurement.answers, 7)
        self.assertGreaterEqual(measurement.p99_ms, measurement.p50_ms)

    def test_throttle_refuses_the_run(self):
        with self.assertRaisesRegex(Invalid, "(?s)1 of 3 .*429"):
            self.replay("/200/a", "/429/slower", "/200/a")

    def test_error_in_a_body_refuses_the_run(self):
        with self.assertRaisesRegex(Invalid, "1 of 2 answers were errors"):
            self.replay("/200/a", '/200/{"serverErrorCode":"CONFLICT"}')

    def test_missing_record_refuses_the_run(self):
        with self.assertRaisesRegex(Invalid, "1 of 2 answers do not have"):
            self.replay("/200/aa", "/200/a", expected=("a", 2))


class InstructionChecks(unittest.TestCase):
    def test_totals_are_read(self):
        self.assertEqual(instructions.parse_totals("version: 1\ntotals: 1234567\n"), 1_234_567)
        with self.assertRaises(Invalid):
            instructions.parse_totals("version: 1\n")

    def test_rare_work_does_not_count(self):
        self.assertEqual(instructions.lower_quartile([10, 11, 12, 13, 14, 15, 90, 99]), 12)

    def test_more_than_three_percent_fails(self):
        _, is_cheap = instructions.compare({"zones/list": 1_029}, {"zones/list": 1_000})
        self.assertTrue(is_cheap)
        lines, is_cheap = instructions.compare({"zones/list": 1_031}, {"zones/list": 1_000})
        self.assertFalse(is_cheap)
        self.assertIn("Over 1.03: zones/list (1.031).", lines)

    def test_lost_route_fails(self):
        _, is_cheap = instructions.compare({}, {"zones/list": 1_000})
        self.assertFalse(is_cheap)


class FigureChecks(unittest.TestCase):
    def test_ratios_are_of_the_same_round(self):
        figures = Figures()
        for mine, other in ((10, 5), (40, 10), (9, 3)):
            figures.add("W1", "stratus", "records/s", mine)
            figures.add("W1", "etcd", "records/s", other)
        figures.compare("W1", "stratus", "etcd")
        lines = list(figures.lines())
        self.assertIn("| W1 | stratus | records/s | 9.00 | 10.00 | 40.00 |", lines)
        self.assertIn("| W1 | stratus ÷ etcd | 2.00 | 3.00 | 4.00 |", lines)

    def test_three_digits_are_reported(self):
        self.assertEqual([rounded(value) for value in (0.1234, 1.234, 12345)],
                         ["0.123", "1.23", "12,345"])


if __name__ == "__main__":
    unittest.main()
