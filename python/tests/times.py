"""How long an import takes, and a check of a small kernel beyond its run: `python times.py` says so, and fails where it is far too long.
It is processor time that is measured, since a machine that runs other tests, too, takes longer by the clock."""

import resource
import subprocess
import sys

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


def spent():
    """Seconds of processor time of this process and of its children that have ended."""
    all = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in all)


def best(times, what):
    took = []
    for _ in range(times):
        start = spent()
        what()
        took.append(spent() - start)
    return min(took)


def program(text):
    return lambda: subprocess.run([sys.executable, "-c", text], check=True)


# Three times what is asked for fails: processors differ.
def judge(what, took, wanted):
    print(f"{what}: {1000 * took:.1f} ms (wanted: {wanted})")
    if 1000 * took > 3 * wanted:
        sys.exit(f"{what} takes far more than {wanted} ms")


judge("import racetrap", best(10, program("import racetrap")) - best(10, program("pass")), 150)
data = numpy.zeros(32, numpy.int32)
# One warp: of what this takes, the run is microseconds.
judge("racetrap.check of 32 threads", best(50, lambda: racetrap.check(PTX, grid=1, block=32, args=[data, 1])), 20)
