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
# The package of the macros is not built with the others, because it would build swift-syntax: its symbols are read from
# the source.
MACROS = ("StratusMacros", "Macros/Sources/StratusMacros")
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


def public_declarations(path):
    """Each public declaration of a file as (line, path of the symbol, declaration, whether it has a doc comment).

    Only of the kinds that the macros' module has; another kind is an error, so that none is left out.
    """
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    scope = []
    for number, line in enumerate(lines):
        extension = re.match(r"extension (\w+)", line)
        if extension:
            scope = [extension[1]]
        elif line.startswith("}"):
            scope = []
        if not re.match(r"\s*([@\w()]+ )*(public|open) ", line):
            continue
        if not re.search(r"\bpublic (macro|func) ", line):
            sys.exit(f"error: {path}:{number + 1}: Scripts/symbols.py reads public macros and functions"
                     "\nonly. Teach public_declarations() this kind of declaration.")
        first = number
        # Its attributes, which may have several lines, begin after the doc comment or an empty line.
        while first and lines[first - 1].strip() and not re.search(r"^\s*//|[{}]$", lines[first - 1]):
            first -= 1
        text = " ".join(part.strip() for part in lines[first:])
        declaration = text[:end_of_declaration(text, text.index("public "))].strip()
        declaration = re.sub(r"([(\[]) | (?=[)\]])", r"\1", declaration.replace("public ", "", 1))
        name = ".".join(scope + [name_of(declaration)])
        has_comment = first > 0 and lines[first - 1].strip().startswith("///")
        yield number + 1, name, declaration, has_comment


def end_of_declaration(text, start):
    """Where a declaration's body begins: at a brace, or at an equals sign outside of parentheses."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] in "([") - (text[index] in ")]")
        if depth == 0 and (text[index] == "{" or text[index - 1:index + 2] == " = "):
            return index
    return len(text)


def name_of(declaration):
    """A function's or macro's name with the labels of its parameters, as in `property(_:_:default:)`."""
    name, rest = re.search(r"\b(?:macro|func) (\w+)(?:<[^(]*>)?\((.*)", declaration, re.DOTALL).groups()
    depth, parameters = 0, [""]
    for character in rest.replace("->", ""):
        if character == ")" and depth == 0:
            break
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            parameters.append("")
        else:
            parameters[-1] += character
    labels = [parameter.split()[0].rstrip(":") for parameter in parameters if parameter.strip()]
    return f"{name}({''.join(label + ':' for label in labels)})"


def declared(folder):
    """As ``described``, of a module that is not built."""
    found, bare = set(), set()
    for path in sorted(glob.glob(f"{folder}/**/*.swift", recursive=True)):
        for line, name, declaration, has_comment in public_declarations(path):
            found.add(name + "\t" + declaration)
            if not has_comment:
                bare.add(f"{path}:{line}: {name}")
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
        lists = dict(zip(modules, map(described, graphs)))
        lists[MACROS[0]] = declared(MACROS[1])
        for module, (symbols, without) in lists.items():
            path = f"{LISTS}/{module}.txt"
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
        gone = {os.path.basename(path)[:-4] for path in glob.glob(f"{LISTS}/*.txt")} - set(lists)
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
