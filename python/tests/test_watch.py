"""`racetrap.run` and `racetrap.watch`: whole programs, and a part of this one. The examples of both run where their package is there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import racetrap as rt
from needs import marked, needs

pytestmark = marked("wheel")
EXAMPLES = Path(__file__).parents[2] / "examples/python"

#: Loads PTX by the driver, and launches it: what every client does.
CLIENT = '''
import ctypes, sys
def main(threads):
    cuda = ctypes.CDLL("libcuda.so.1")
    def call(name, *args):
        status = getattr(cuda, name)(*args)
        assert status == 0, (name, status)
    ptx = b""".version 8.0
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
    device, context, module, function, at = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), ptx)
    call("cuModuleGetFunction", ctypes.byref(function), module, b"write")
    call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(4))
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(at), ctypes.c_void_p))
    call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, arguments, None)
    held = ctypes.c_int(-1)
    call("cuMemcpyDtoH_v2", ctypes.byref(held), at, ctypes.c_size_t(4))
    call("cuMemFree_v2", at)
    return held.value
'''


@pytest.fixture
def client(tmp_path, monkeypatch):
    (tmp_path / "a_client.py").write_text(CLIENT + "if __name__ == '__main__':\n    print('held', main(int(sys.argv[1])))\n    sys.exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "a_client.py"
    sys.modules.pop("a_client", None)


def test_a_script(client, capfd):
    report = rt.run(client, 1)
    assert (report.verdict, report.status, report.kernels) == ("clean", 3, ("write",)), str(report)
    assert "held 0" in capfd.readouterr().out
    report = rt.run(client, 2)
    (finding,) = [f for f in report.findings if f.rule == "data-race"]
    assert [place.line for place in finding.guilty] == [8, 8]
    assert f"{client}:" in " ".join(finding.notes), finding.notes
    with pytest.raises(rt.FindingsError):
        report.raise_for_findings()


def test_a_function(client):
    import a_client

    report = rt.run(a_client.main, 1)
    assert (report.verdict, report.result) == ("clean", 0), str(report)
    with pytest.raises(AssertionError, match="cuLaunchKernel"):
        rt.run(a_client.main, 4096)


def test_what_is_not_there(tmp_path):
    with pytest.raises(rt.Error, match="no script"):
        rt.run(tmp_path / "nothing.py")
    with pytest.raises(ValueError, match="sm_12"):
        rt.run(os.getcwd, device="sm_12")
    report = rt.run(os.getcwd)
    assert report.verdict == "inconclusive" and "never called" in report.summary


#: What a process of its own is needed for: it loads the library for good.
def alone(folder, text):
    (folder / "program.py").write_text("import racetrap as rt\n" + text)
    ran = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, cwd=folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_blocks(client):
    said = alone(
        client.parent,
        """
import a_client
with rt.watch() as first:
    try: first.verdict
    except rt.Error as error: print(error)
    assert a_client.main(1) == 0
print(first.verdict, first.kernels)
a_client.main(2)
with rt.watch() as second:
    a_client.main(2)
print(second.verdict, [f.rule for f in second.findings], second.findings[0].guilty[0].line)
with rt.watch() as third:
    pass
print(third.verdict, third.summary)
try:
    with rt.watch(first=1): pass
except rt.Error as error: print(error)
try:
    with rt.watch():
        with rt.watch(): pass
except rt.Error as error: print(error)
try:
    with rt.watch() as fourth:
        a_client.main(2)
        raise KeyError("its own")
except KeyError: print(fourth.verdict)
""",
    ).splitlines()
    assert said[0].startswith("the report is there when")
    assert said[1] == "clean ('write',)"
    # What was found before the block is seen again in it.
    assert said[2] == "findings ['data-race'] 8"
    assert said[3].startswith("inconclusive")
    assert "first=3" in said[4] and "nested" in said[5] and said[6] == "findings"


def test_a_driver_that_is_there_before(client, tmp_path):
    said = alone(
        client.parent,
        f"""
import ctypes, shutil
shutil.copy({str(Path(rt.__file__).parent / "_bin/libracetrap_cuda.so")!r}, "libcuda.so.535.1")
ctypes.CDLL("./libcuda.so.535.1")
try:
    with rt.watch(): pass
except rt.Error as error: print(error)
""",
    )
    assert "libcuda.so.535.1` was loaded before" in said and "racetrap exec -- python" in said


@pytest.mark.parametrize(("package", "script"), [("numba", "watch_numba.py"), ("triton", "watch_triton.py"), ("cupy", "watch_cupy.py")])
def test_examples(package, script, tmp_path):
    needs(package)
    if package == "cupy":
        needs("nvcc")
    ran = subprocess.run([sys.executable, str(EXAMPLES / script)], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # CuPy's kernels are texts of their own.
    assert "error[data-race]" in ran.stdout and (package == "cupy" or f"{script}:" in ran.stdout), ran.stdout
