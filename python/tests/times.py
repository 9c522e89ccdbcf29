"""How long an import takes, and a check of a small kernel beyond its run: `python times.py` says so, and fails where it is far too long."""

import subprocess
import sys
import time

import numpy
import racetrap

PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 n) {
    .reg .b64 %a, %o; .reg .b32 %t, %v, %n;
    ld.param.u64 %a, [data]; ld.param.u32 %n, [n];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, 4; add.s64 %a, %a, %o;
    ld.global.u32 %v, [%a]; add.u32 %v, %v, %n; st.global.u32 [%a], %v;
    ret;
}
"""


def best(times, what):
    took = []
    for _ in range(times):
        start = time.perf_counter()
        what()
        took.append(time.perf_counter() - start)
    return min(took)


def program(text):
    return lambda: subprocess.run([sys.executable, "-c", text], check=True)


#: Milliseconds that are asked for, and those that fail: a machine that is busy with others is slower.
def judge(what, took, wanted):
    print(f"{what}: {1000 * took:.1f} ms (wanted: {wanted})")
    if 1000 * took > 3 * wanted:
        sys.exit(f"{what} takes far more than {wanted} ms")


judge("import racetrap", best(10, program("import racetrap")) - best(10, program("pass")), 150)
data = numpy.zeros(32, numpy.int32)
# One warp: of what this takes, the run is microseconds.
judge("racetrap.check of 32 threads", best(50, lambda: racetrap.check(PTX, grid=1, block=32, args=[data, 1])), 20)
