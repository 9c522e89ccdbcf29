"""`racetrap.judge`: right kernels, and the mistakes and cheats that it knows."""

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
