"""How long an import takes, a check of a small kernel beyond its run, and a judgement of a kernel of 10^7 thread-instructions beside compiling:
`python times.py` says so, and fails where it is far too long.
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

TWICE = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 out, .param .u64 data, .param .u32 n) {
    .reg .pred %p; .reg .b64 %o, %a, %at; .reg .b32 %i, %n, %b, %s, %t, %v;
    ld.param.u64 %o, [out]; ld.param.u64 %a, [data]; ld.param.u32 %n, [n];
    mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mov.u32 %t, %tid.x;
    mad.lo.u32 %i, %b, %s, %t;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    mul.wide.u32 %at, %i, 4; add.s64 %a, %a, %at; add.s64 %o, %o, %at;
    ld.global.u32 %v, [%a]; add.u32 %v, %v, %v; st.global.u32 [%o], %v;
    ret;
}
"""
#: 16 instructions for each thread.
SIZE = 10_000_000 // 16


def judged():
    judgement = racetrap.judge(
        TWICE,
        reference=lambda out, data, n: 2 * data,
        inputs=lambda n, random: [numpy.zeros(n, numpy.int32), random.integers(0, 99, n, dtype=numpy.int32), n],
        launch=lambda n: {"grid": (n + 255) // 256, "block": 256},
        sizes=(SIZE,),
    )
    assert judgement.is_clean, str(judgement)
    assert 32 * judgement.tries[0].report.instructions >= 10_000_000


judge("racetrap.judge of 10^7 thread-instructions", best(3, judged), 2000)
