# Compiles one CUDA file to PTX with NVRTC: the front end and the optimiser of a CUDA release as a library.
#
#   python3 nvrtc.py LIBRARY_FOLDER SOURCE OUTPUT OPTION…
#
# Prints NVRTC's messages to stderr. Exit status: 0 done, 1 refused, 2 the library can't be loaded.
import ctypes
import glob
import sys

folder, source, output, *options = sys.argv[1:]
try:
    # NVRTC opens its own built-ins by name; loading them first is what finds them beside it.
    for name in sorted(glob.glob(folder + "/libnvrtc-builtins.so*")):
        ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(sorted(glob.glob(folder + "/libnvrtc.so.*"))[-1])
except (IndexError, OSError) as error:
    print(f"can't load NVRTC from {folder}: {error}", file=sys.stderr)
    sys.exit(2)

# A kernel may include them for printf, which NVRTC has built in; it has no host headers.
empty = [b"cstdio", b"stdio.h"]
names = (ctypes.c_char_p * len(empty))(*empty)
texts = (ctypes.c_char_p * len(empty))(*[b""] * len(empty))

with open(source, "rb") as file:
    text = file.read()
program = ctypes.c_void_p()
status = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), len(empty), texts, names)
if status:
    print(f"nvrtcCreateProgram gave {status}", file=sys.stderr)
    sys.exit(1)
arguments = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
refused = nvrtc.nvrtcCompileProgram(program, len(options), arguments)


def read(what):
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.value


sys.stderr.buffer.write(read("ProgramLog"))
if refused:
    sys.exit(1)
with open(output, "wb") as file:
    file.write(read("PTX"))
