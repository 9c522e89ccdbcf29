"""`racetrap.check`: verdicts, arguments, errors, and what a report shows. PTX alone, so that nothing but NumPy is needed."""

import array
import ctypes
import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import racetrap as rt

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
EVERY = (
    HEAD
    + """.visible .entry write(.param .u64 out) {
    .reg .b64 %a; .reg .b32 %t;
    ld.param.u64 %a, [out];
    mov.u32 %t, %tid.x;
    st.global.u32 [%a], %t;
    ret;
}
"""
)
#: Adds a number to each element: (address, number of 32 bits).
ADD = (
    HEAD
    + """.visible .entry add(.param .u64 data, .param .u32 n) {
    .reg .b64 %a, %o; .reg .b32 %t, %v, %n;
    ld.param.u64 %a, [data]; ld.param.u32 %n, [n];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, 4; add.s64 %a, %a, %o;
    ld.global.u32 %v, [%a]; add.u32 %v, %v, %n; st.global.u32 [%a], %v;
    ret;
}
"""
)
#: Copies the first 8 bytes of a structure of 16 to memory.
STRUCT = (
    HEAD
    + """.visible .entry take(.param .u64 out, .param .align 8 .b8 s[16]) {
    .reg .b64 %a, %v;
    ld.param.u64 %a, [out]; ld.param.u64 %v, [s+8];
    st.global.u64 [%a], %v;
    ret;
}
"""
)
FOREVER = HEAD + ".visible .entry f() {\n.reg .b32 %r;\nmov.u32 %r, 0;\nL: add.u32 %r, %r, 1;\nbra L;\n}\n"


def test_a_race_has_both_lines():
    report = rt.check(EVERY, "write", grid=1, block=2, args=[np.zeros(1, np.int32)])
    assert report.verdict == "findings" and not report.is_clean
    (finding,) = report.findings
    assert (finding.rule, finding.level) == ("data-race", "error")
    assert [place.line for place in finding.guilty] == [8, 8]
    assert {place.thread for place in finding.guilty} == {(0, 0, 0), (1, 0, 0)}
    assert finding.guilty[0].block == (0, 0, 0)
    # Where the arrays of the device begin.
    assert (finding.space, finding.bytes, finding.address % 256) == ("global", 4, 0) and finding.address >= 1 << 45
    # Without a source, a parameter's name is its index.
    assert {(place.address, place.element) for place in finding.guilty} == {(finding.address, "0")}
    assert finding.help.startswith("let only one thread write it")
    with pytest.raises(rt.FindingsError, match="data-race") as raised:
        report.raise_for_findings()
    assert raised.value.report is report


def test_a_clean_report_promises_something():
    report = rt.check(EVERY, grid=1, block=1, args=[np.zeros(1, np.int32)])
    report.raise_for_findings()
    assert (report.verdict, report.promise, report.findings) == ("clean", "every-schedule", ())


def test_accesses_are_counted():
    report = rt.check(ADD, grid=2, block=32, args=[np.zeros(32, np.int32), 1], schedule="lockstep")
    # A load and a store of 64 threads.
    assert report.accesses == 128, str(report)
    report = rt.check(ADD, grid=1, block=3, args=[np.zeros(32, np.int32), 1], schedule="lockstep")
    assert report.accesses == 6


def test_every_verdict_but_clean_raises_and_says_why():
    """No report that is not clean can be taken for one that is."""
    one = np.zeros(1, np.int32)
    unknown = HEAD + ".visible .entry f() {\n.reg .f32 %f<4>; .reg .u64 %t; .reg .s32 %x;\ntex.1d.v4.f32.s32 {%f0,%f1,%f2,%f3}, [%t, {%x}];\nret;\n}\n"
    reports = {
        "findings": rt.check(EVERY, grid=1, block=2, args=[one]),
        "unsupported": rt.check(unknown, grid=1, block=1),
        "inconclusive": rt.check(FOREVER, grid=1, block=1, timeout=0.2, max_steps=1 << 40),
        "refused": rt.CompileError("k.cu(1): error: expected a `;`", "refused").report,
    }
    for verdict, report in reports.items():
        assert report.verdict == verdict, f"{verdict}: {report}"
        assert not report.is_clean and report.promise is None
        with pytest.raises(rt.FindingsError, match="not clean"):
            report.raise_for_findings()
        assert not str(report).startswith("clean") and json.loads(report.to_json())["totals"]["ok"] == 0
        assert report.to_sarif() and "<html" in report.to_html()
    assert "expected a `;`" in str(reports["refused"]) and "expected a `;`" in reports["refused"].summary


def test_formats():
    report = rt.check(EVERY, grid=1, block=2, args=[np.zeros(1, np.int32)])
    assert "error[data-race]" in str(report) and "st.global.u32" in str(report)
    assert json.loads(report.to_json())["checks"][0]["verdict"] == "findings"
    assert json.loads(report.to_sarif())["version"] == "2.1.0"
    assert "<svg" in report.to_html() or "<html" in report.to_html()
    assert "srcdoc" in report._repr_html_()


@pytest.mark.parametrize(
    "data",
    [
        np.arange(4, dtype=np.int32),
        np.arange(4, dtype=np.uint32).reshape(2, 2),
        np.asfortranarray(np.arange(4, dtype=np.int32).reshape(2, 2)),
        array.array("i", range(4)),
        (ctypes.c_int * 4)(*range(4)),
        bytearray(np.arange(4, dtype=np.int32).tobytes()),
    ],
    ids=lambda data: type(data).__name__,
)
def test_arrays_are_written_back(data):
    before = np.frombuffer(np.asarray(data).tobytes(order="A"), np.int32).copy()
    rt.check(ADD, grid=1, block=4, args=[data, 7]).raise_for_findings()
    assert (np.frombuffer(np.asarray(data).tobytes(order="A"), np.int32) == before + 7).all()


def test_dlpack():
    class Other:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    data = np.arange(4, dtype=np.int32)
    rt.check(ADD, grid=1, block=4, args=[Other(data), 7]).raise_for_findings()
    assert (data == np.arange(4) + 7).all()


@pytest.mark.parametrize("number", [7, np.int32(7), np.uint32(7), ctypes.c_int(7)])
def test_numbers(number):
    data = np.zeros(4, np.int32)
    rt.check(ADD, grid=1, block=4, args=[data, number]).raise_for_findings()
    assert (data == 7).all()


def test_structures():
    class S(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int64)]

    out = np.zeros(1, np.int64)
    rt.check(STRUCT, grid=1, block=1, args=[out, S(1, -5)]).raise_for_findings()
    assert out[0] == -5


def test_one_array_twice_and_overlaps():
    data = np.arange(8, dtype=np.int32)
    two = HEAD + ".visible .entry f(.param .u64 a, .param .u64 b) {\n.reg .b64 %a;\nld.param.u64 %a, [b];\nst.global.u32 [%a], 9;\nret;\n}\n"
    rt.check(two, grid=1, block=1, args=[data, data]).raise_for_findings()
    assert data[0] == 9
    with pytest.raises(rt.ArgumentError, match="overlap"):
        rt.check(two, grid=1, block=1, args=[data[1:], data[:-1]])


def test_what_cannot_be_passed():
    with pytest.raises(rt.ArgumentError, match="not contiguous"):
        rt.check(ADD, grid=1, block=2, args=[np.zeros(8, np.int32)[::2], 1])
    with pytest.raises(rt.ArgumentError, match="objects of Python"):
        rt.check(ADD, grid=1, block=2, args=[np.zeros(8, object), 1])
    with pytest.raises(rt.ArgumentError, match="big-endian"):
        rt.check(ADD, grid=1, block=2, args=[np.zeros(8, ">i4"), 1])
    with pytest.raises(rt.ArgumentError, match="is a object"):
        rt.check(ADD, grid=1, block=2, args=[object(), 1])
    frozen = np.zeros(4, np.int32)
    frozen.flags.writeable = False
    with pytest.raises(rt.ArgumentError, match="read-only"):
        rt.check(ADD, grid=1, block=4, args=[frozen, 1])
    with pytest.raises(rt.ArgumentError, match="grid"):
        rt.check(ADD, grid=(1, 2, 3, 4), block=1)


def test_errors_have_a_class_and_the_whole_text():
    with pytest.raises(rt.Error) as raised:
        rt.check(HEAD + "no PTX\n")
    assert raised.value.kind == "input" and "no PTX" in str(raised.value)
    with pytest.raises(rt.Error, match="missing"):
        rt.check(EVERY, "missing", grid=1, block=1)
    with pytest.raises(rt.LaunchError):
        rt.check(EVERY, grid=1, block=4096)


def test_what_never_ends_is_not_clean():
    report = rt.check(FOREVER, grid=1, block=1, max_steps=1000)
    assert report.verdict != "clean"


def test_other_threads_run_meanwhile():
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    rt.check(ADD, grid=200, block=4, args=["i32[4]:zeros", 1], schedules=8)
    before = ticks
    started = time.monotonic()
    rt.check(ADD, grid=2000, block=4, args=["i32[4]:zeros", 1], schedules=8)
    took = time.monotonic() - started
    done.set()
    thread.join()
    assert ticks - before >= min(5, took / 0.05)


def test_an_interrupt_ends_it_at_once():
    program = (
        "import racetrap, signal\n"
        # Whoever runs tests in the background may ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"text = {ADD!r}\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    while True: racetrap.check(text, grid=4000, block=256, args=['i32[256]:zeros', 1], schedules=64)\n"
        "except KeyboardInterrupt: print('interrupted', flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    started = time.monotonic()
    assert child.stdout.readline() == "interrupted\n"
    assert time.monotonic() - started < 2
    child.kill()
    child.wait()


def test_arguments_are_converted_or_refused():
    """Random values of many kinds: each is converted to as many bytes as it has, or refused; nothing else is raised."""
    from racetrap._arguments import wire

    random = np.random.default_rng(1)
    types = [*"?bBhHiIlLqQefdgFDGSUVOmM", ">i4", "<i4", "=f8", [("a", "i1"), ("O", "f8")], [("a", "O")]]
    for _ in range(5000):
        dtype = types[random.integers(len(types))]
        shape = tuple(random.integers(0, 4, size=random.integers(0, 4)))
        try:
            value = np.zeros(shape, dtype, order="CF"[random.integers(2)])
        except TypeError:
            continue
        if value.ndim and random.integers(3) == 0:
            value = value[:: [2, -1, 1][random.integers(3)]]
        if random.integers(4) == 0 and value.ndim:
            value.flags.writeable = False
        try:
            wired, buffers = wire([value, value])
        except rt.ArgumentError:
            continue
        if buffers:
            assert len(buffers[0].bytes) == value.nbytes and len(wired) == 2
