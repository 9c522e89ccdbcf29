#!/usr/bin/env python3
"""How well kernels of public repositories are judged that are given alone: right, and with each barrier removed in turn.

    python3 benches/alone/barriers.py CLONES --racetrap target/release/racetrap [--only NAME] [--keep FOLDER]

CLONES is a folder with clones of the repositories below, each in a folder `owner+name`. Nothing of them is kept here. barriers.md has the rule
by which kernels are chosen, and what came out; barriers.json says which barriers a kernel needs.
"""

import argparse
import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import study

REPOSITORIES = [
    "PacktPublishing/Learn-CUDA-Programming",
    "brucefan1983/CUDA-Programming",
    "a-hamdi/GPU",
    "Tony-Tan/CUDA_Freshman",
]
MOST = 25  # kernels of a repository
REMOVED = 6  # barriers of a kernel
BARRIER = re.compile(r"\b(?:__syncthreads\(\s*\)|__syncwarp\([^()]*\)|\w+\.sync\(\s*\)|(?:\w+::)?sync\(\s*\w+\s*\))\s*;")
LIMIT = 120  # seconds


def is_kept(item):
    """What study.py keeps, and the toolkit's namespaces, without which its types have no names."""
    return bool(re.match(r"\s*using\s+namespace\s+(cooperative_groups|cg|nvcuda)\b", item)) or study.is_kept(item)


def kernels(repository, seen):
    """(file, name, source alone, sources without one barrier with the line where it was)"""
    for file in sorted(f for f in repository.files if f.endswith((".cu", ".cuh"))):
        text = repository.text(file)
        if "__global__" not in text or "__shared__" not in text or not BARRIER.search(text):
            continue
        own = [item for item in study.items(text) if is_kept(item)]
        everything = [i for i in study.items(repository.with_headers(file, text, set())) if is_kept(i)]
        for kernel in own:
            head = re.sub(r"__launch_bounds__\s*\([^)]*\)", "", kernel.split("{")[0])
            name = re.search(r"(\w+)\s*\(", head)
            plain = "__global__" in head and not re.match(r"\s*template", kernel) and "{" in kernel
            barriers = list(BARRIER.finditer(kernel))
            if not (plain and name and "__shared__" in kernel and barriers):
                continue
            body = re.sub(r"\s+", "", kernel[kernel.index("{") :])
            if body in seen:
                continue
            seen.add(body)
            kept = [i for i in everything if i == kernel or "__global__" not in i.split("{")[0]]
            before = "".join(i + "\n" for i in kept[: kept.index(kernel)])

            def alone(instead):
                return "\n".join(instead if i == kernel else i for i in kept) + "\n"

            without = []
            for one in barriers[:REMOVED]:
                line = (before + kernel[: one.start()]).count("\n") + 1
                without.append((line, alone(kernel[: one.start()] + ";" + kernel[one.end() :])))
            yield file, name.group(1), alone(kernel), without


def judged(racetrap, path, name, source):
    """Verdict, findings as (level, rule, lines), what was not seen, seconds."""
    with open(path, "w", encoding="utf8") as file:
        file.write(source)
    start = time.time()
    command = [racetrap, "check", path, "--entry", name, "--format", "json", "--no-cache"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "no end", [], "", LIMIT
    seconds = time.time() - start
    try:
        check = json.loads(done.stdout)["checks"][0]
    except (ValueError, KeyError, IndexError):
        return "refused", [], done.stderr.strip().split("\n")[0], seconds
    findings = []
    for one in check.get("findings", []):
        if one["level"] != "note":
            lines = [place["line"] for place in one.get("places", []) if place["role"] == "guilty"]
            findings.append((one["level"], one["rule"], lines))
    unseen = ", ".join(sorted(key for key, value in check.get("unseen", {}).items() if value))
    return check["verdict"], findings, unseen, seconds


def in_short(result):
    said = ", ".join(sorted({f"{level} {rule} {'/'.join(map(str, lines))}" for level, rule, lines in result[1]}))
    return f"{result[0]} {said or (result[2] if result[0] == 'refused' else '')}".strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones")
    parser.add_argument("--racetrap", default="racetrap")
    parser.add_argument("--only", help="kernels whose label has this in it")
    parser.add_argument("--keep", required=True, help="folder for the sources that are made")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    os.makedirs(arguments.keep, exist_ok=True)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "barriers.json"), encoding="utf8") as file:
        readings = json.load(file)
    seen, work, number = set(), [], 0
    for name in REPOSITORIES:
        for at, one in enumerate(kernels(study.Repository(arguments.clones, name), seen)):
            if at >= MOST:
                break
            number += 1
            work.append((number, name, *one))

    def each(one):
        number, repository, file, name, right, without = one
        label = f"{number:02} {repository} {file} {name}"
        if arguments.only and arguments.only not in label:
            return None
        path = os.path.join(arguments.keep, f"{number:02}_{name}")
        first = judged(arguments.racetrap, path + ".cu", name, right)
        rest = []
        if first[0] != "refused":
            for at, (line, source) in enumerate(without):
                rest.append((line, judged(arguments.racetrap, f"{path}_{at + 1}.cu", name, source)))
        return label, first, rest

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for one in pool.map(each, work):
            if one:
                label, first, rest = one
                number = label.split()[0]
                reading = readings["published"].get(number, "")
                spare = readings["spare"].get(number, [])
                print(f"{label}: {in_short(first)} [{first[2] if first[0] == 'clean' else ''}] {first[3]:.0f} s {reading}", flush=True)
                for at, (line, result) in enumerate(rest):
                    needed = "not needed, " if at + 1 in spare else ""
                    print(f"    - {needed}{at + 1} line {line}: {in_short(result)} [{result[2] if result[0] == 'clean' else ''}] {result[3]:.0f} s", flush=True)


if __name__ == "__main__":
    main()
