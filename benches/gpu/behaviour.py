#!/usr/bin/env python3
"""Runs small programs under `racetrap exec --on gpu` and compares what is told with what they expect: graphs, very many launches and barriers,
copies of rows, crashes, hangs, child processes, and more findings than there is room for.

    benches/gpu/behaviour.py [--racetrap PROGRAM] [--nvcc PROGRAM] [NAME…]

A program says `// expect: ARGUMENT RESULT…` for each of its runs. RESULT is `clean`, `inconclusive` or the rules that are reported, and further
`watched=N` launches, `says=WORD` of the report's text, `timeout=SECONDS`. Exit status: 0 if all are as expected.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time


def run(racetrap, program, argument, timeout):
    """The report's text, its only check, and the exit status."""
    with tempfile.NamedTemporaryFile() as file:
        command = [racetrap, "exec", "--on", "gpu", "--format", "json", "--report", file.name]
        command += ["--timeout", timeout] if timeout else []
        ran = subprocess.run([*command, "--", program, argument], capture_output=True, text=True, timeout=120)
        text = file.read().decode()
    return text, json.loads(text)["checks"][0], ran


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--racetrap", default="racetrap")
    parser.add_argument("--nvcc", default="nvcc")
    args = parser.parse_args()
    folder = pathlib.Path(__file__).parent / "behaviour"
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for source in sorted(folder.glob("*.cu")):
            if args.names and source.stem not in args.names:
                continue
            program = f"{work}/{source.stem}"
            options = ["-O2", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]
            subprocess.run([args.nvcc, *options, "-o", program, source], check=True)
            for argument, wanted in re.findall(r"^// expect: (\S+) (.*)$", source.read_text(), re.M):
                words = wanted.split()
                keys = dict(word.split("=") for word in words if "=" in word)
                rules = {word for word in words if "=" not in word}
                began = time.monotonic()
                try:
                    text, check, ran = run(args.racetrap, program, argument, keys.get("timeout"))
                except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
                    print(f"FAILED {source.stem} {argument}: {error!r}", flush=True)
                    failed += 1
                    continue
                told = {finding["rule"] for finding in check["findings"]} or {check["verdict"]}
                right = told == rules and keys.get("says", "") in text
                if "watched" in keys:
                    right &= f"{int(keys['watched']):,} launches" in check["summary"] and "all watched" in check["summary"]
                failed += not right
                print(f"{'ok' if right else 'FAILED'} {source.stem} {argument}: {', '.join(sorted(told))}; {check['summary']}; "
                      f"status {ran.returncode}, {time.monotonic() - began:.1f} s", flush=True)
                if not right:
                    print(ran.stdout[-400:], ran.stderr[-800:], text[:3000], flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
