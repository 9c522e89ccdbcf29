"""`racetrap.judge`: right kernels, and the mistakes and cheats that it knows."""

import json
import subprocess
import sys
import time

import needs
import numpy as np
import pytest
import racetrap as rt

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def twice(store="st.global.u32 [%o], %v;", guard="@%p ret;", value="add.u32 %v, %v, %v;"):
    """Twice each element, from one array to another."""
    return (
        HEAD
        + f""".visible .entry twice(.param .u64 out, .param .u64 data, .param .u32 n) {{
    .reg .pred %p; .reg .b64 %o, %a, %at; .reg .b32 %i, %n, %b, %s, %t, %v;
    ld.param.u64 %o, [out]; ld.param.u64 %a, [data]; ld.param.u32 %n, [n];
    mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mov.u32 %t, %tid.x;
    mad.lo.u32 %i, %b, %s, %t;
    setp.ge.u32 %p, %i, %n;
    {guard}
    mul.wide.u32 %at, %i, 4; add.s64 %a, %a, %at; add.s64 %o, %o, %at;
    ld.global.u32 %v, [%a];
    {value}
    {store}
    ret;
}}
"""
    )


def judged(source):
    return rt.judge(
        source,
        reference=lambda out, data, n: 2 * data,
        inputs=lambda n, random: [np.zeros(n, np.int32), random.integers(0, 99, n, dtype=np.int32), n],
        launch=lambda n: {"grid": (n + 63) // 64, "block": 64},
        outputs=[0],
        sizes=(1, 31, 64, 200),
    )


def test_a_right_kernel_is_clean_with_its_coverage():
    judgement = judged(twice())
    assert judgement.verdict == "clean", str(judgement)
    assert judgement.coverage.startswith("sizes 1, 31, 64, 200;")


@pytest.mark.parametrize(
    ("source", "verdict", "why"),
    [
        (twice(value="add.u32 %v, %v, 1;"), "wrong", "elements are wrong"),
        (twice(store=""), "wrong", "never written"),
        (twice(store="st.global.u32 [%o], %v; st.global.u32 [%a], %v;"), "wrong", "an input, was changed"),
        (twice(store="st.global.u32 [%o], %v; ld.param.u64 %o, [out]; st.global.u32 [%o], %i;"), "race", "unordered"),
        (twice(guard=""), "memory", "outside all allocations"),
        # Right for a size that is tried first, and not beyond.
        (twice(guard="@%p ret; setp.ge.u32 %p, %i, 64; @%p ret;"), "wrong", "never written"),
    ],
    ids=["wrong", "unwritten", "input", "race", "memory", "beyond"],
)
def test_mistakes_and_cheats(source, verdict, why):
    judgement = judged(source)
    assert judgement.verdict == verdict, str(judgement)
    assert any(why in one.why for one in judgement.tries), str(judgement)


def test_what_could_not_be_run_is_not_clean():
    assert judged(HEAD + "nonsense\n").verdict == "not_run"


#: The first output holds the thread that came first, then the second …
TICKETS = (
    HEAD
    + """.visible .entry tickets(.param .u64 out, .param .u64 next) {
    .reg .b64 %o, %a, %at; .reg .b32 %k, %b, %s, %t, %i;
    ld.param.u64 %o, [out]; ld.param.u64 %a, [next];
    mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %b, %s, %t;
    atom.global.add.u32 %k, [%a], 1;
    mul.wide.u32 %at, %k, 4; add.s64 %o, %o, %at; st.global.u32 [%o], %i;
    ret;
}
"""
)


def test_a_result_that_depends_on_the_schedule():
    """Right in the order that is tried first."""
    judgement = rt.judge(
        TICKETS,
        reference=lambda out, next: np.arange(out.size),
        inputs=lambda n, random: [np.zeros(n, np.int32), np.zeros(1, np.int32)],
        launch=lambda n: {"grid": n // 32, "block": 32},
        sizes=(256,),
    )
    assert judgement.verdict in ("race", "wrong"), str(judgement)


def test_the_reference_result_is_in_no_memory_that_a_kernel_reaches():
    """A kernel that looks for it around its own buffers is outside of all memory."""
    for offset in (-65536, -4096, 4096, 65536):
        thief = twice(value=f"add.s64 %a, %a, {offset}; ld.global.u32 %v, [%a];")
        assert judged(thief).verdict == "memory"


def test_an_output_that_would_be_right_by_chance():
    """Nothing is written, and the reference says -1, which is what the memory is filled with at one size."""
    judgement = rt.judge(
        twice(store=""),
        reference=lambda out, data, n: np.full(n, -1),
        inputs=lambda n, random: [np.zeros(n, np.int32), random.integers(0, 99, n, dtype=np.int32), n],
        launch=lambda n: {"grid": (n + 63) // 64, "block": 64},
        sizes=(64, 200),
    )
    assert judgement.verdict == "wrong"


def test_the_time_is_over():
    judgement = rt.judge(
        twice(),
        reference=lambda out, data, n: 2 * data,
        inputs=lambda n, random: [np.zeros(n, np.int32), np.ones(n, np.int32), n],
        launch=lambda n: {"grid": (n + 63) // 64, "block": 64},
        budget=0.0,
    )
    assert judgement.verdict == "not_run" and "not run: 1, 31" in judgement.coverage


def test_ten_million_instructions_take_seconds():
    """10 million thread-instructions: 16 for each of 2^19 threads, and some more."""
    n = 1 << 19
    # Neither the first launch of the process nor NumPy's import counts.
    judged(twice())
    started = time.process_time()
    judgement = rt.judge(
        twice(),
        reference=lambda out, data, n: 2 * data,
        inputs=lambda n, random: [np.zeros(n, np.int32), random.integers(0, 99, n, dtype=np.int32), n],
        launch=lambda n: {"grid": (n + 255) // 256, "block": 256},
        sizes=(n,),
    )
    took = time.process_time() - started
    assert judgement.verdict == "clean", str(judgement)
    print(f"judged {judgement.tries[0].report.instructions} warp-instructions in {took:.2f} s of processor time")
    assert took < 6


REFERENCE = """
import numpy as np
def inputs(n, random):
    return [np.zeros(n, np.int32), random.integers(0, 99, n, dtype=np.int32), n]
def reference(out, data, n):
    return 2 * data
def launch(n):
    return {"grid": (n + 63) // 64, "block": 64}
"""


def command(folder, candidate, *more):
    (folder / "reference.py").write_text(REFERENCE)
    words = [sys.executable, "-m", "racetrap", "judge", str(candidate), str(folder / "reference.py"), *more]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder)


@pytest.mark.parametrize(
    ("source", "verdict", "status"),
    [(twice(), "clean", 0), (twice(store=""), "wrong", 1), (HEAD + "nonsense\n", "not_run", 3)],
    ids=["right", "wrong", "not_run"],
)
def test_the_command(tmp_path, source, verdict, status):
    (tmp_path / "candidate.ptx").write_text(source)
    ran = command(tmp_path, tmp_path / "candidate.ptx", "--json", "--seed", "7")
    assert ran.returncode == status, ran.stderr
    said = json.loads(ran.stdout)
    assert said["verdict"] == verdict and {one["size"] for one in said["tries"]} >= {1, 31}
    ran = command(tmp_path, tmp_path / "candidate.ptx")
    assert ran.stdout.startswith(f"{verdict}: sizes ")


def test_the_command_wants_files(tmp_path):
    ran = command(tmp_path, tmp_path / "missing.cu")
    assert ran.returncode == 2 and "missing.cu" in ran.stderr


@needs.marked("nvcc")
def test_host_code_of_a_candidate_is_not_run(tmp_path):
    """Neither when it is loaded, as `load_inline` would do it, nor when it is compiled."""
    spy = tmp_path / "was-here"
    candidate = tmp_path / "candidate.cu"
    candidate.write_text(
        "#include <cstdio>\n"
        f'struct Spy {{ Spy() {{ fclose(fopen("{spy}", "w")); }} }} spy;\n'
        f'__attribute__((constructor)) static void early() {{ fclose(fopen("{spy}", "w")); }}\n'
        "__global__ void twice(int *out, const int *data, int n)\n{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = 2 * data[i];\n}\n"
    )
    ran = command(tmp_path, candidate)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not spy.exists()
    candidate.write_text(candidate.read_text().replace("out[i] =", "out[i] = ="))
    ran = command(tmp_path, candidate)
    assert ran.returncode == 1 and ran.stdout.startswith("refused: "), ran.stdout
    candidate.write_text('#include "/etc/shadow"\n' + candidate.read_text())
    ran = command(tmp_path, candidate)
    assert ran.stdout.startswith("refused: ") and "root:" not in ran.stdout
