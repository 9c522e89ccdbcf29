# Compiles one CUDA file to PTX with NVRTC: the front end and the optimiser of a CUDA release as a library.
#
#   python3 nvrtc.py LIBRARY_FOLDER SOURCE[=NAME] OUTPUT [header=NAME=FILE]… [instance=KERNEL<ARGUMENTS>]… OPTION…
#
# A header NAME has the text of FILE, whatever the include folders have; of an empty FILE, none.
#
# An instance is a template with its arguments, of which code is wanted.
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
headers = {"cstdio": b"", "stdio.h": b""}
for option in options:
    if option.startswith("header="):
        _, name, file = option.split("=", 2)
        headers[name] = open(file, "rb").read() if file else b""
instances = [option.partition("=")[2] for option in options if option.startswith("instance=")]
options = [option for option in options if not option.startswith(("header=", "instance="))]
names = (ctypes.c_char_p * len(headers))(*[name.encode() for name in headers])
texts = (ctypes.c_char_p * len(headers))(*headers.values())

# The text may be another one than that of the file by whose name lines are called.
source, _, called = source.partition("=")
with open(source, "rb") as file:
    text = file.read()
program = ctypes.c_void_p()
status = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, (called or source).encode(), len(headers), texts, names)
if status:
    print(f"nvrtcCreateProgram gave {status}", file=sys.stderr)
    sys.exit(1)
for instance in instances:
    status = nvrtc.nvrtcAddNameExpression(program, instance.encode())
    if status:
        print(f"nvrtcAddNameExpression gave {status}", file=sys.stderr)
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
