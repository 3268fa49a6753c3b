#!/usr/bin/env python3
"""List the public symbols of each library product, or compare them with the committed lists, and say which have no
doc comment.

Usage: symbols.py FOLDER [--update]   (the folder with the built modules)

A symbol is a line: its path, and its declaration.
"""
import concurrent.futures
import difflib
import glob
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

LISTS = "Documentation/PublicSymbols"
# Re-export others and have no symbols of their own.
WITHOUT_SYMBOLS = {"CloudKit", "CoreLocation"}


def products():
    """The modules of the library products, and what they re-export."""
    with open("Package.swift", encoding="utf-8") as file:
        libraries = re.findall(r'\.library\(\s*name: "\w+",\s*targets: \[([^]]*)\]', file.read())
    modules = {name for targets in libraries for name in re.findall(r'"(\w+)"', targets)}
    return sorted(modules - WITHOUT_SYMBOLS | {"StratusLocation"})


def extract(module, built, maps, folder):
    """Makes the compiler describe a module, and returns the files that it writes."""
    architecture = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    command = [
        "swift", "symbolgraph-extract", "-module-name", module, "-I", f"{built}/Modules",
        "-target", f"{architecture}-unknown-linux-gnu", "-minimum-access-level", "public",
        "-skip-synthesized-members", "-skip-inherited-docs", "-output-dir", folder]
    for path in maps:
        command += ["-Xcc", f"-fmodule-map-file={path}"]
    subprocess.run(command, check=True)
    return sorted(glob.glob(f"{folder}/{module}.symbols.json")
                  + glob.glob(f"{folder}/{module}@*.symbols.json"))


def described(files):
    """A line for each symbol, and the place of each that needs a doc comment and has none.

    A witness has the comment of what it implements; what a macro made has no place.
    """
    found, bare = set(), set()
    for path in files:
        with open(path, encoding="utf-8") as file:
            graph = json.load(file)
        witnesses = {relation["source"] for relation in graph["relationships"]
                     if "sourceOrigin" in relation}
        for symbol in graph["symbols"]:
            declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
            name = ".".join(symbol["pathComponents"])
            found.add(name + "\t" + " ".join(declaration.split()))
            place = symbol.get("location")
            if place and "docComment" not in symbol \
                    and symbol["identifier"]["precise"] not in witnesses:
                path = os.path.relpath(place["uri"].removeprefix("file://"))
                bare.add(f"{path}:{place['position']['line'] + 1}: {name}")
    return sorted(found), sorted(bare)


def main():
    built, update = sys.argv[1], "--update" in sys.argv[2:]
    maps = glob.glob(f"{built}/*.build/module.modulemap") + [
        path for path in glob.glob(".build/checkouts/**/module.modulemap", recursive=True)
        if "/Sources/" in path]
    differences, bare = [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        modules = products()
        graphs = pool.map(lambda module: extract(module, built, maps, folder), modules)
        for module, files in zip(modules, graphs):
            path = f"{LISTS}/{module}.txt"
            symbols, without = described(files)
            now = [line + "\n" for line in symbols]
            bare += without
            if update:
                os.makedirs(LISTS, exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(now)
                continue
            before = []
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    before = file.readlines()
            differences += list(difflib.unified_diff(before, now, path, "as built", n=0))
    if not update:
        gone = {os.path.basename(path)[:-4] for path in glob.glob(f"{LISTS}/*.txt")} - set(modules)
        differences += [f"{LISTS}/{module}.txt: there is no such product\n" for module in gone]
    if differences:
        sys.stdout.writelines(differences)
        print("\nerror: The public symbols are not those of Documentation/PublicSymbols. If the change"
              "\nis meant, run Scripts/symbols --update, and commit the lists with a line in"
              "\nCHANGELOG.md.")
        return 1
    if bare:
        print("\n".join(bare))
        print("\nerror: The public symbols above have no doc comment. Say in one sentence what each is.")
        return 1
    print("The public symbols are written." if update else "The public symbols are as listed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
