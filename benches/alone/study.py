#!/usr/bin/env python3
"""How well kernels of public repositories are judged that are given alone: right, and with their first barrier removed.

    python3 benches/alone/study.py CLONES --racetrap target/release/racetrap [--part N]

CLONES is a folder with clones of the repositories below, each in a folder `owner+name`. Nothing of them is kept here. README.md has the rule
by which kernels are chosen, and what came out.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
import time

REPOSITORIES = [
    "Liu-xiandong/How_to_optimize_in_GPU",
    "CoffeeBeforeArch/cuda_programming",
    "mark-poscablo/gpu-prefix-sum",
    "siboehm/SGEMM_CUDA",
    "yuhc/gpu-rodinia",
    "BBuf/how-to-optim-algorithm-in-cuda",
    "NVIDIA/cuda-samples",
    "olcf/cuda-training-series",
    "karpathy/llm.c",
]
MOST = 12  # kernels of a repository
HEADERS = set(
    """cuda_fp16.h cuda_runtime.h cooperative_groups.h cooperative_groups/reduce.h math.h stdint.h stdio.h cmath cstdint float.h assert.h
    mma.h cuda_bf16.h cfloat device_launch_parameters.h cuda.h stdlib.h cuda_pipeline.h cuda/barrier cuda/pipeline limits algorithm""".split()
)
TYPES = (
    r"(typedef|using|struct|enum|union|class|constexpr|static\s+constexpr|const\s|static\s+const\s"
    r"|template\s*<[^{;]*>\s*struct|namespace\s+\w+\s*=|extern\s+__shared__)"
)


def without_comments(text):
    def kept(match):
        token = match.group(0)
        return "\n" * token.count("\n") if token.startswith("/") else token

    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(pattern, kept, text, flags=re.S)


def items(text):
    """Directives, declarations and definitions of a file, in order."""
    found, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if text[at] == "#":
            end = re.compile(r"(?:[^\n\\]|\\.)*", re.S).match(text, at).end()
            found.append(text[at:end])
            at = end
            continue
        depth, end = 0, at
        while end < len(text):
            c = text[end]
            if c in "\"'":
                end += re.compile(r"(?:\\.|[^\\%s])*" % c, re.S).match(text, end + 1).end() - end
            elif c in "{(":
                depth += 1
            elif c in "})":
                depth -= 1
                if depth == 0 and c == "}":
                    if text[end + 1 :].lstrip().startswith(";"):
                        end = text.index(";", end)
                        break
                    head = text[at:end].split("{")[0]
                    is_type = re.search(r"\b(struct|class|enum|union)\b", head) and "(" not in head
                    if not is_type and "=" not in head.split("(")[0]:
                        break
            elif c == ";" and depth == 0:
                break
            end += 1
        found.append(text[at : end + 1])
        at = end + 1
    return found


def is_kept(item):
    """What a kernel may need: no host function is."""
    item = item.strip()
    if item.startswith("#"):
        include = re.match(r'#\s*include\s*[<"]([^>"]+)', item)
        return include.group(1) in HEADERS if include else not item.startswith("#pragma once")
    if re.match(r"using\s+(std::|namespace)", item):
        return False
    head = item.split("{")[0]
    words = ("__global__", "__device__", "__constant__")
    return any(word in head for word in words) or bool(re.match(TYPES, item))


class Repository:
    def __init__(self, clones, name):
        self.folder = os.path.join(clones, name.replace("/", "+"))
        if os.path.isdir(os.path.join(self.folder, "repo")):
            self.folder = os.path.join(self.folder, "repo")
        self.files = set(self.git("ls-tree", "-r", "--name-only", "HEAD").split("\n"))

    def git(self, *arguments):
        done = subprocess.run(["git", "-C", self.folder, *arguments], capture_output=True, check=False)
        return done.stdout.decode("utf8", "replace").replace("\r", "")

    def text(self, file):
        return without_comments(self.git("show", "HEAD:" + file))

    def with_headers(self, file, text, done):
        """The text with the repository's own headers in place of their names."""

        def header(match):
            path = os.path.normpath(os.path.join(os.path.dirname(file), match.group(1)))
            if path not in self.files:
                name = "/" + os.path.basename(path)
                same = [f for f in self.files if f.endswith(name) and f.split("/")[0] == file.split("/")[0]]
                if len(same) != 1:
                    return ""
                path = same[0]
            if path in done:
                return ""
            done.add(path)
            return self.with_headers(path, self.text(path), done)

        return re.sub(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"[^\n]*$', header, text, flags=re.M)

    def kernels(self, seen):
        """(file, name, source alone, source without the first barrier)"""
        for file in sorted(f for f in self.files if f.endswith((".cu", ".cuh"))):
            text = self.text(file)
            if not all(word in text for word in ("__global__", "__shared__", "__syncthreads")):
                continue
            own = [item for item in items(text) if is_kept(item)]
            everything = [item for item in items(self.with_headers(file, text, set())) if is_kept(item)]
            for kernel in own:
                head = re.sub(r"__launch_bounds__\s*\([^)]*\)", "", kernel.split("{")[0])
                name = re.search(r"(\w+)\s*\(", head)
                plain = "__global__" in head and not re.match(r"\s*template", kernel) and "{" in kernel
                if not (plain and name and "__shared__" in kernel and "__syncthreads()" in kernel):
                    continue
                body = re.sub(r"\s+", "", kernel[kernel.index("{") :])
                if body in seen:
                    continue
                seen.add(body)

                def alone(instead):
                    kept = [i for i in everything if i == kernel or "__global__" not in i.split("{")[0]]
                    return "\n".join(instead if i == kernel else i for i in kept) + "\n"

                without = kernel.replace("__syncthreads()", "", 1)
                yield file, name.group(1), alone(kernel), alone(without)


def judged(racetrap, folder, name, source):
    """Verdict, findings in short, what was not seen, seconds."""
    path = os.path.join(folder, name + ".cu")
    with open(path, "w", encoding="utf8") as file:
        file.write(source)
    start = time.time()
    command = [racetrap, "check", path, "--format", "json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.time() - start
    try:
        check = json.loads(done.stdout)["checks"][0]
    except (ValueError, KeyError, IndexError):
        error = done.stderr.strip().split("\n")[0]
        return "refused", error, "", seconds
    findings = {f"{f['level']} {f['rule']}" for f in check.get("findings", []) if f["level"] != "note"}
    unseen = ", ".join(sorted(key for key, value in check.get("unseen", {}).items() if value))
    return check["verdict"], ", ".join(sorted(findings)), unseen, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones")
    parser.add_argument("--racetrap", default="racetrap")
    parser.add_argument("--part", type=int, default=MOST, help="kernels of each repository, at most")
    arguments = parser.parse_args()
    seen = set()
    print("| repository | file | kernel | as it is | without its first barrier | not seen | s |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in REPOSITORIES:
            for number, (file, kernel, right, wrong) in enumerate(Repository(arguments.clones, name).kernels(seen)):
                if number >= min(MOST, arguments.part):
                    break
                first = judged(arguments.racetrap, folder, "right", right)
                second = judged(arguments.racetrap, folder, "wrong", wrong)
                said = [f"{one[0]} {one[1]}".strip() for one in (first, second)]
                seconds = f"{first[3] + second[3]:.1f}"
                print("|", " | ".join([name, file, kernel, *said, first[2], seconds]), "|", flush=True)


if __name__ == "__main__":
    main()
