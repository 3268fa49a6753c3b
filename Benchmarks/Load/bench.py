#!/usr/bin/env python3
"""Measures the release build of `stratus serve`, in turns with its peers.

Documentation/Benchmarks.md says what each work does.

Usage: Scripts/bench [all|works|W1|…|W7|greedy|openings|users|first|instructions] [--quick] [--rounds N]
                     [--save FILE] [--compare FILE]

Needs nothing but Python's standard library. Exits with status 1, a sentence and no figures when the
run is invalid.
"""
import argparse
import http.client
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

import first
import greedy
import instructions
import openings
import users
from figures import Figures
from generator import Generator
from machine import Invalid
from peers import Etcd, RawSQLite
from service import LIFTED, Service, progress
from works import LARGE, MIDDLE, SMALL, Works


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/bench", description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", default="all",
                        choices=["all", "works", *Works.BY_NAME, "greedy", "openings",
                                 "users", "first", "instructions"])
    parser.add_argument("--kinds", default=",".join(greedy.KINDS),
                        help="of greedy clients, separated by commas")
    parser.add_argument("--quick", action="store_true", help="without 1,000,000 records and etcd")
    parser.add_argument("--rounds", type=int, default=5, help="turns of product and peers (5)")
    parser.add_argument("--records", type=int, default=1_000_000,
                        help="of a first sync (1,000,000)")
    parser.add_argument("--save", metavar="FILE", help="write instructions per request to a file")
    parser.add_argument("--compare", metavar="FILE",
                        help="fail where a route costs over 3 %% more than in the file")
    parser.add_argument("--stratus", metavar="FILE", required=True, help="the release build")
    parser.add_argument("--tools", metavar="FOLDER", required=True, help="where load and rows are")
    return parser.parse_args(arguments)


def measure_works(options, folder):
    figures = Figures()
    generator = Generator(os.path.join(options.tools, "load"), folder)
    raw = RawSQLite(os.path.join(options.tools, "rows"), folder)
    names = [options.what] if options.what in Works.BY_NAME else list(Works.BY_NAME)
    sizes = (SMALL, MIDDLE) if options.quick else (SMALL, MIDDLE, LARGE)
    service = Service(options.stratus, folder)
    etcd = None if options.quick or not {"W1", "W2", "W5"} & set(names) else Etcd(folder)
    try:
        works = Works(service, generator, raw, etcd, figures, options.rounds, sizes)
        for name in names:
            progress(f"{time.strftime('%H:%M:%S')} measuring {name}")
            Works.BY_NAME[name](works)
            generator.require_no_steal()
        if etcd:
            etcd.stop()
        service.stop()
    finally:
        for process in filter(None, (service, etcd)):
            process.process.kill()
    return figures, generator


def describe(options, began):
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True,
                            text=True, check=False).stdout.strip()
    yield (f"{time.strftime('%Y-%m-%d %H:%M')}, commit {commit}, {os.cpu_count()} cores, "
           f"{platform.system()} {platform.release()}, {options.rounds} rounds in turns, "
           f"{time.monotonic() - began:.0f} s in all.")
    yield "Lifted: " + ", ".join(f"{name}={value}" for name, value in LIFTED.items()) \
        + ". Everything else is default."
    if options.quick:
        yield "Quick: without 1,000,000 records and without etcd."


def describe_validity(generator):
    shares = ", ".join(f"{work} {share:.2f}" for work, share in generator.shares().items())
    yield f"The load generator's processor time, as a share of the measured process's: {shares}."
    steal = max(generator.steal_shares(), default=0.0)
    yield ("No answer was an error or a throttle. The hypervisor took at most "
           f"{100 * steal:.2f} % of a work's time; other programs used "
           f"{generator.other_cores():.1f} of {os.cpu_count()} cores.")


def run(options):
    began = time.monotonic()
    folder = tempfile.mkdtemp(prefix="stratus-bench-")
    try:
        lines, is_met = [], True
        if options.what == "greedy":
            lines = greedy.measure(options.stratus, folder, options.kinds.split(","),
                                   options.rounds)
        elif options.what == "openings":
            lines, is_met = openings.measure(options.stratus, folder, options.rounds)
        elif options.what == "first":
            lines = first.measure(options.stratus, folder, options.records)
        elif options.what == "users":
            generator = Generator(os.path.join(options.tools, "load"), folder)
            lines, is_met = users.measure(options.stratus, folder, generator, options.rounds)
        elif options.what != "instructions":
            figures, generator = measure_works(options, folder)
            lines = [*describe(options, began), "", *figures.lines(), "",
                     *describe_validity(generator)]
        is_cheap = True
        if options.what in ("all", "instructions"):
            counts = instructions.count(options.stratus, options.tools, folder)
            report, is_cheap = instructions.report(counts, options.save, options.compare)
            lines += ["", *report]
        print("\n".join(lines))
        return 0 if is_cheap and is_met else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    options = parse(sys.argv[1:])
    try:
        return run(options)
    except Invalid as invalid:
        print(f"bench: invalid: {invalid}", file=sys.stderr)
    except (OSError, http.client.HTTPException) as error:
        print(f"bench: invalid: the measured process cannot be reached ({error}).", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
