#!/usr/bin/env python3
"""Builds and runs public CUDA programs that copy asynchronously, wait for mbarriers, form clusters or multiply with tensor cores, and prints a table.

    benches/realcode/run.py --clones DIR [--keep DIR] [--only TEXT] [--out docs/real-code.md]

The rule, written before the first run. PROGRAMS below is the whole list, with the smallest sizes that each program's command line accepts (its own sizes
where it has none, at least two tiles in the direction of the sum, so that a pipeline goes round). A program stays in the list whatever comes out. It is:

- `own/`: programs in this folder, one for each header of CUDA's C++ library that synchronises or copies (`<cuda/barrier>`, `<cuda/pipeline>`, cooperative
  groups, CUB's block and device algorithms), each for sm_80 and sm_90 and compared with the host. The headers are NVIDIA's.
- `cuda-samples/`: the samples whose sources name clusters, tensor maps, `cuda::barrier`, `cuda::pipeline` or `memcpy_async`.
- `cutlass/`: CuTe's tutorials for sm_80 and sm_90 (all but the one for sm_70), and the examples 00, 14, 15, 16, 24, 35, 41, 47 for sm_80 and 48, 49, 50, 51,
  54, 57, 62, 63, 88, 111, 113 for sm_90: products, convolution, attention, grouped and stream-K, sparse, and a state-space model.
- `thunderkittens/`: the lessons on products for Hopper (`kernels/gemm/educational_h100`) that multiply with `wgmma`, from 04 on.
- `triton/`: kernels in `triton_kernels.py`, compiled by Triton for sm_90; `--triton FILE` names what that program has printed.

`public/` has bugs of this kind from public trackers, each reduced to a small program in words of our own, with the bug and (`-DFIXED`) without. Its head says
which rule must tell it. `before` is right if that rule and no other is found, with both guilty lines among those marked `//~`; `after` if the run is clean and
the result the host's.

Nothing is fetched. DIR has a folder `cutlass` and a folder `cuda-samples`, of NVIDIA's repositories of these names, and `ThunderKittens` (a checkout, or an archive of one with the commit in a file `COMMIT`). Programs are built unmodified under `racetrap build`. Where a
tutorial has no reference of its own, `cute_reference.cu` includes its source, calls its `gemm` and compares with the host; `thunderkittens_reference.cu` does so
for lessons, whose own comparison needs a product of 4096.

`result` is what the program itself prints of a comparison with a CPU (or, for some of CUTLASS, with a plain kernel that also runs in the simulator): `right`,
`WRONG`, or `not compared`. `verdict` is racetrap's, with findings by rule. `instructions` are warp-instructions of all launches. `seconds` are of the whole
run, detection and all further schedules included, in a build of the development profile on two cores.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from processes import run  # noqa: E402
ROOT = HERE.parents[1]


@dataclasses.dataclass
class Program:
    """One line of the table: where its source is, what it is compiled for, and how it is called."""

    name: str
    source: str
    device: str
    arguments: str = ""
    flags: tuple = ()
    clone: str = ""
    command: tuple = ()


def own(name, *devices, arguments="", flags=()):
    return [Program(f"own/{name}", f"{name}.cu", device, arguments, flags) for device in devices or ("sm_80", "sm_90")]


CUTLASS = ("-I{clone}/include", "-I{clone}/tools/util/include", "-I{clone}/examples/common", "--expt-relaxed-constexpr")


def cutlass(example, source, device, arguments="", flags=()):
    folder = f"examples/{example}"
    return Program(f"cutlass/{example}/{source}", f"{folder}/{source}.cu", device, arguments, (*CUTLASS, f"-I{{clone}}/{folder}", *flags), "cutlass")


def tutorial(source, device, arguments, element="float", output=None, transposed="NT"):
    """A tutorial of CuTe through `cute_reference.cu`."""
    flags = (*CUTLASS, f'-DEXAMPLE="{{clone}}/examples/cute/tutorial/{source}.cu"', f"-DELEMENT={element}", f"-DOUTPUT={output or element}")
    name = f"cutlass/cute/{source} {transposed}"
    return Program(name, "cute_reference.cu", device, f"{arguments} {transposed[0]} {transposed[1]}", flags, "cutlass")


def lesson(number, arguments):
    """A lesson of ThunderKittens' through `thunderkittens_reference.cu`."""
    source = f"kernels/gemm/educational_h100/level_{number}"
    flags = ("-std=c++20", "-O3", "--expt-extended-lambda", "--expt-relaxed-constexpr", "-DKITTENS_HOPPER", "-DNDEBUG", "-I{clone}/include", "-I{clone}/prototype")
    flags += (f'-DEXAMPLE="{{clone}}/{source}.cu"', "-I{clone}/kernels/gemm/educational_h100")
    return Program(f"thunderkittens/{source}", "thunderkittens_reference.cu", "sm_90a", arguments, flags, "ThunderKittens")


def sample(name, device, arguments="", which=""):
    folder = next(f for f in SAMPLES if f.endswith("/" + name))
    return Program(f"cuda-samples/{name}{which}", f"{folder}/{name}.cu", device, arguments, ("-I{clone}/Common",), "cuda-samples")


SAMPLES = [f"Samples/3_CUDA_Features/{name}" for name in ("globalToShmemAsyncCopy", "bf16TensorCoreGemm", "tf32TensorCoreGemm", "dmmaTensorCoreGemm")]

PROGRAMS = [
    *own("barrier"),
    *own("pipeline"),
    *own("memcpy_async"),
    *own("groups"),
    *own("cluster", "sm_90"),
    *own("bulk", "sm_90"),
    *own("cub_block"),
    *own("cub_device"),
    *[sample("globalToShmemAsyncCopy", "sm_80", f"-wA=128 -hA=64 -wB=64 -hB=128 -kernel={kernel}", f" {kernel}") for kernel in range(6)],
    sample("bf16TensorCoreGemm", "sm_80"),
    sample("tf32TensorCoreGemm", "sm_80"),
    sample("dmmaTensorCoreGemm", "sm_80"),
    tutorial("sgemm_1", "sm_80", "128 128 32"),
    tutorial("sgemm_1", "sm_80", "128 128 32", transposed="TN"),
    tutorial("sgemm_2", "sm_80", "128 128 32"),
    tutorial("sgemm_sm80", "sm_80", "128 128 32"),
    tutorial("sgemm_sm80", "sm_80", "128 128 192", element="cute::half_t", transposed="TN"),
    tutorial("hopper/wgmma_sm90", "sm_90a", "128 128 256", element="cute::half_t"),
    tutorial("hopper/wgmma_sm90", "sm_90a", "128 128 256", element="cute::half_t", transposed="TN"),
    tutorial("hopper/wgmma_tma_sm90", "sm_90a", "256 128 320", element="cute::half_t"),
    tutorial("hopper/wgmma_tma_sm90", "sm_90a", "256 128 320", element="cute::half_t", transposed="TN"),
    cutlass("cute/tutorial", "tiled_copy", "sm_80"),
    cutlass("cute/tutorial", "tiled_copy_if", "sm_80"),
    cutlass("00_basic_gemm", "basic_gemm", "sm_80", "64 64 64"),
    cutlass("14_ampere_tf32_tensorop_gemm", "ampere_tf32_tensorop_gemm", "sm_80", "--m=128 --n=128 --k=96 --iterations=1"),
    cutlass("15_ampere_sparse_tensorop_gemm", "ampere_sparse_tensorop_gemm", "sm_80"),
    cutlass("16_ampere_tensorop_conv2dfprop", "ampere_tensorop_conv2dfprop", "sm_80", "--n=1 --h=8 --w=8 --c=32 --k=32 --r=3 --s=3 --ref-check --iterations=1"),
    cutlass("24_gemm_grouped", "gemm_grouped", "sm_80", "--m=64 --n=64 --k=64 --groups=2 --iterations=1"),
    cutlass("35_gemm_softmax", "gemm_softmax", "sm_80", "--m=128 --n=128 --k=64 --batch_count=1 --iterations=0"),
    cutlass("41_fused_multi_head_attention", "fused_multihead_attention_fixed_seqlen", "sm_80", "--seq_length=64 --seq_length_kv=64 --head_number=1 --batch_size=1 --head_size=64 --head_size_v=64 --iterations=1"),
    cutlass("47_ampere_gemm_universal_streamk", "ampere_gemm_universal_streamk", "sm_80", "--m=256 --n=128 --k=160 --iterations=1"),
    cutlass("48_hopper_warp_specialized_gemm", "48_hopper_warp_specialized_gemm", "sm_90a", "--m=256 --n=128 --k=192 --iterations=1"),
    cutlass("49_hopper_gemm_with_collective_builder", "49_collective_builder", "sm_90a", "--m=128 --n=128 --k=128 --l=1"),
    cutlass("50_hopper_gemm_with_epilogue_swizzle", "50_hopper_gemm_with_epilogue_swizzle", "sm_90a", "--m=128 --n=128 --k=128 --l=1"),
    cutlass("51_hopper_gett", "51_hopper_gett", "sm_90a", "--modeC=m,n,l --modeA=m,k,l --modeB=k,n,l --extents=m:128,n:128,k:64,l:1"),
    cutlass("54_hopper_fp8_warp_specialized_gemm", "54_hopper_fp8_warp_specialized_gemm", "sm_90a", "--m=128 --n=128 --k=256 --iterations=1"),
    cutlass("57_hopper_grouped_gemm", "57_hopper_grouped_gemm", "sm_90a", "--m=128 --n=128 --k=128 --groups=2 --iterations=1"),
    cutlass("62_hopper_sparse_gemm", "62_hopper_sparse_gemm", "sm_90a", "--m=128 --n=128 --k=128 --l=1 --iterations=1 --warmup=0"),
    cutlass("63_hopper_gemm_with_weight_prefetch", "63_hopper_gemm_with_weight_prefetch", "sm_90a", "--m=128 --n=128 --k=256 --iterations=1"),
    cutlass("88_hopper_fmha", "88_hopper_fmha", "sm_90a", "--b=1 --h=1 --d=64 --q=128 --k=128 --iterations=1 --verify"),
    cutlass("111_hopper_ssd", "111_hopper_ssd", "sm_90a", "--B=1 --E=64 --H=1 --G=1 --C=2 --iterations=1"),
    cutlass("113_hopper_gemm_activation_fusion", "113_hopper_gemm_fused_act", "sm_90a", "--m=128 --n=128 --k=128 --l=1 --iterations=1"),
    *[lesson(number, "256") for number in ("04", "05", "06", "07", "08")],
]

RIGHT = re.compile(r"\bpass(ed)?\b|\bsuccess\b|\bright\b|verification OK|Result = PASS|copy succeeded", re.I)
WRONG = re.compile(r"\bfailed\b|\bfail\b|\bFAILED\b|\bwrong\b|mismatch|incorrect|\bdoes not match", re.I)


def commit(clone):
    if (clone / "COMMIT").exists():
        return (clone / "COMMIT").read_text().strip()[:8]
    result = subprocess.run(["git", "-C", clone, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def build(options, program, folder):
    """Whether the program's binary is there, and what the compiler says if not. A binary that was made by the same command is kept."""
    clone = options.clones / program.clone
    source = (clone if program.clone and "reference" not in program.source else HERE) / program.source
    if not source.exists():
        return False, f"there is no {program.source} in this clone"
    flags = [flag.replace("{clone}", str(clone)) for flag in program.flags]
    standard = [] if any(flag.startswith("-std") for flag in flags) else ["-std=c++17"]
    flags += [f"-I{folder.resolve()}" for folder in options.include]
    number = program.device.removeprefix("sm_")
    nvcc = ["nvcc", "-gencode", f"arch=compute_{number},code=sm_{number}", *standard, "-lineinfo", "-lcuda", *flags, "-o", "program", str(source)]
    command = ["nice", str(options.racetrap), "build", "--", *nvcc]
    # The program's own sources: headers of clones don't change.
    stamp = json.dumps([nvcc, source.stat().st_mtime])
    if (folder / "program").exists() and (folder / "stamp").exists() and (folder / "stamp").read_text() == stamp:
        return True, ""
    status, output, _ = run(command, folder, options.build_timeout)
    if status != 0:
        why = next((line for line in output.splitlines() if "error" in line), "the compiler's time was up" if status is None else output[-200:])
        return False, why
    (folder / "stamp").write_text(stamp)
    return True, ""


def result(output, status):
    if WRONG.search(output):
        return "WRONG"
    return "right" if RIGHT.search(output) and status is not None else "not compared"


def line(options, program):
    """One line of the table."""
    folder = options.keep / re.sub(r"\W+", "_", f"{program.name} {program.device}")
    folder.mkdir(parents=True, exist_ok=True)
    row = {"name": program.name, "device": program.device, "arguments": program.arguments, "commit": commit(options.clones / program.clone) if program.clone else ""}
    compiled, why = build(options, program, folder)
    if not compiled:
        return {**row, "compiled": "no", "stop": why}
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    command = [str(options.racetrap), "exec", "--format", "json", "--report", str(report), "--timeout", str(options.timeout)]
    command += ["--also", f"text={folder / 'report.txt'}", "--", "./program", *program.arguments.split()]
    status, output, seconds = run(command, folder, options.timeout + 60)
    (folder / "output.txt").write_text(output)
    row |= {"compiled": "yes", "seconds": seconds, "status": status}
    if not report.exists():
        return {**row, "result": result(output, status), "verdict": "no report", "stop": output.strip()[-200:]}
    check = json.loads(report.read_text())["checks"][0]
    found = collections.Counter(finding["rule"] for finding in check["findings"] if not finding.get("accepted"))
    counted = re.search(r"([\d,]+) warp-instructions", check["summary"])
    ended = re.search(r"inconclusive|unsupported", check["verdict"])
    return {
        **row,
        "result": result(output, status),
        "verdict": check["verdict"],
        "findings": ", ".join(f"{count} × {rule}" for rule, count in sorted(found.items())),
        "instructions": counted[1] if counted else "",
        "stop": check["summary"] if ended else ("" if status in (0, 1) else f"exit status {status}"),
    }


def public(options, source):
    """A pair of the second table."""
    text = source.read_text().splitlines()
    head = next(line for line in text if line.startswith(("// told: ", "// not told: ")))
    marked = {number for number, line in enumerate(text, 1) if "//~" in line}
    row = {"name": source.stem, "where": text[0].split(":")[0].removeprefix("// "), "expected": head.removeprefix("// ")}
    for which, flags in (("before", ()), ("after", ("-DFIXED",))):
        program = Program(f"public/{source.stem} {which}", f"public/{source.name}", "sm_90a", flags=flags)
        got = line(options, program)
        folder = options.keep / re.sub(r"\W+", "_", f"{program.name} {program.device}")
        if got["compiled"] != "yes" or not (folder / "report.json").exists():
            row[which] = got.get("stop", "no report")
            continue
        findings = json.loads((folder / "report.json").read_text())["checks"][0]["findings"]
        rules = sorted({finding["rule"] for finding in findings if finding["level"] == "error"})
        lines = [{place["line"] for place in f["places"] if place["role"] == "guilty" and place["file"].endswith(source.name)} for f in findings if f["level"] == "error"]
        row[which] = ", ".join(rules) or got["verdict"]
        if which == "after":
            row["good_after"] = got["verdict"] == "clean" and got["result"] == "right"
        elif head.startswith("// told: "):
            row["good_before"] = ", ".join(rules) == head.removeprefix("// told: ") and all(of <= marked for of in lines)
        else:
            row["good_before"] = not rules
    return row


def public_table(rows):
    yield "| bug | from | before | both lines, nothing else | after | clean and right |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        good = ["yes" if row.get(f"good_{which}") else "NO" for which in ("before", "after")]
        if row["expected"].startswith("not told"):
            good[0] = row["expected"] if row.get("good_before") else "NO"
        yield f"| {row['name']} | {row['where']} | {cell(row['before'])} | {cell(good[0])} | {cell(row['after'])} | {good[1]} |"


def put(page, name, lines):
    """Renews a part of a page."""
    begin, end = f"<!-- {name}: generated by `benches/realcode/run.py` -->", f"<!-- end of {name} -->"
    text = page.read_text()
    head, tail = text[: text.index(begin) + len(begin)], text[text.index(end) :]
    page.write_text(head + "\n" + "\n".join(lines) + "\n" + tail)


# Folders that say nothing of a program: what is printed begins behind them.
FOLDERS = [pathlib.Path.cwd()]


def cell(text):
    for folder in FOLDERS:
        text = str(text).replace(f"{folder}/", "")
    return text.replace("|", "\\|").replace("\n", " ")


def short(text, most=280):
    """A stop's text without the arguments of templates, which fill pages: its end, where the place and the reason are."""
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>…]*(?:<…>[^<>…]*)*>", "<…>", text)
    return text if len(text) <= most else "… " + text[-most:]


def table(rows):
    yield "| program | commit | target | compiled | result | verdict | findings | instructions | seconds | what stops it |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        seconds = f"{row['seconds']:.1f}" if "seconds" in row else ""
        name = f"{row['name']} `{row['arguments']}`" if row["arguments"] else row["name"]
        cells = [name, row["commit"], row["device"], row["compiled"], row.get("result", ""), row.get("verdict", ""), row.get("findings", "")]
        cells += [row.get("instructions", ""), seconds, short(row.get("stop", ""))]
        yield "| " + " | ".join(map(cell, cells)) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=pathlib.Path, required=True, help="folder with the clones")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for binaries, reports and earlier lines")
    parser.add_argument("--only", default="", help="programs whose line contains this text; the others' lines stay as an earlier run with the same --keep found them")
    parser.add_argument("--triton", type=pathlib.Path, help="what `triton_kernels.py` has printed")
    parser.add_argument("--out", type=pathlib.Path, help="page in which to renew the table")
    parser.add_argument("--racetrap", type=pathlib.Path, default=ROOT / "target/debug/racetrap")
    parser.add_argument("--include", type=pathlib.Path, action="append", default=[], help="folder with headers of other libraries, such as cuRAND's (can be given again)")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a run")
    parser.add_argument("--build-timeout", type=int, default=900, help="seconds for a compilation")
    options = parser.parse_args()
    options.clones, options.racetrap = options.clones.resolve(), options.racetrap.resolve()
    FOLDERS.insert(0, options.clones)
    options.keep = (options.keep or pathlib.Path(tempfile.mkdtemp())).resolve()
    rows = []
    for program in PROGRAMS:
        kept = options.keep / re.sub(r"\W+", "_", f"{program.name} {program.device}") / "row.json"
        if options.only not in f"{program.name} {program.device}":
            if kept.exists():
                rows.append(json.loads(kept.read_text()))
            continue
        row = line(options, program)
        kept.write_text(json.dumps(row))
        rows.append(row)
        print(" | ".join(cell(row.get(k, "")) for k in ("name", "device", "compiled", "result", "verdict", "findings", "instructions", "seconds", "stop")), flush=True)
    for text in options.triton.read_text().splitlines() if options.triton else []:
        if text.startswith("{"):
            row = json.loads(text)
            rows.append({**row, "device": "sm_90", "arguments": "", "commit": row["version"], "compiled": "yes"})
    bugs = []
    for source in sorted((HERE / "public").glob("*.cu")):
        kept = options.keep / f"public {source.stem}.json"
        if options.only in f"public/{source.stem}":
            row = public(options, source)
            kept.write_text(json.dumps(row))
            print(json.dumps(row), flush=True)
        if kept.exists():
            bugs.append(json.loads(kept.read_text()))
    if options.out:
        put(options.out, "table", table(rows))
        put(options.out, "bugs", public_table(bugs))


if __name__ == "__main__":
    main()
