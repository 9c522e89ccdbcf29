"""The plugin: a finding is a failure with both lines, in each mode of the option."""

import pytest
from needs import needs

pytest_plugins = "pytester"

FILE = '''
import numpy, pytest
PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry write(.param .u64 out) {
    .reg .b64 %a; .reg .b32 %t;
    ld.param.u64 %a, [out];
    mov.u32 %t, %tid.x;
    st.global.u32 [%a], %t;
    ret;
}
"""

@pytest.mark.racetrap(schedules=2)
def test_racy(racetrap):
    report = racetrap.check(PTX, grid=1, block=2, args=[numpy.zeros(1, numpy.int32)])
    assert len(report.schedules) <= 2

def test_right(racetrap):
    racetrap.check(PTX, grid=1, block=1, args=[numpy.zeros(1, numpy.int32)])
'''


@pytest.mark.parametrize(
    ("mode", "outcomes"),
    [
        ("error", {"passed": 1, "failed": 1}),
        ("warn", {"passed": 2}),
        ("off", {"skipped": 2}),
    ],
)
def test_modes(pytester, mode, outcomes):
    pytester.makepyfile(FILE)
    result = pytester.runpytest_subprocess(f"--racetrap={mode}", "--junitxml=junit.xml")
    result.assert_outcomes(**outcomes)
    if mode == "warn":
        result.stdout.fnmatch_lines(["*RacetrapWarning: the kernel is not clean*"])
    if mode == "error":
        result.stdout.fnmatch_lines(["*error[[]data-race]*", "*st.global.u32*"])
        junit = (pytester.path / "junit.xml").read_text()
        assert 'name="racetrap.verdict" value="findings"' in junit
        assert 'name="racetrap.data-race" value="&lt;ptx&gt;:9, &lt;ptx&gt;:9"' in junit


def test_a_refused_source_is_a_failure_with_the_compilers_text(pytester):
    needs("nvcc")
    pytester.makepyfile("def test_refused(racetrap):\n    racetrap.check('__global__ void k() {\\n  int a = ;\\n}\\n')\n")
    result = pytester.runpytest_subprocess("--junitxml=junit.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*refused: *", "*kernel.cu(2): error: expected an expression*"])
    assert 'name="racetrap.verdict" value="refused"' in (pytester.path / "junit.xml").read_text()
