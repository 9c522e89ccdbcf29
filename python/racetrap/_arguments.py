"""Arguments: from what Python has to bytes, and back.

An array is anything with a buffer (NumPy, `array.array`, `bytearray`, ctypes arrays), with `__array_interface__` or with `__dlpack__` on the
CPU. It has to be contiguous in C's or Fortran's order: the kernel sees the bytes as they lie in memory. The same array passed twice is one
buffer; arrays that overlap otherwise are refused.
"""

from __future__ import annotations

import ctypes
import math
import re
import sys
from typing import Any, Union

from ._errors import ArgumentError
from ._native import Checked

Wire = Union["tuple[str, bytes]", str]

#: Element types by the letters of the buffer protocol (`struct`), native and of standard size.
_ELEMENTS = {
    ("i", 1): "i8",
    ("u", 1): "u8",
    ("i", 2): "i16",
    ("u", 2): "u16",
    ("i", 4): "i32",
    ("u", 4): "u32",
    ("i", 8): "i64",
    ("u", 8): "u64",
    ("f", 4): "f32",
    ("f", 8): "f64",
}
_LETTERS = {**dict.fromkeys("bhilqn", "i"), **dict.fromkeys("?cBHILQNP", "u"), "f": "f", "d": "f"}


class Buffer:
    """An array that a kernel gets the address of."""

    def __init__(self, view: memoryview, position: int, array: Any = None) -> None:
        """`array` is NumPy's, where the memory is one's."""
        if not (view.c_contiguous or (view.f_contiguous and array is not None)):
            raise ArgumentError(
                f"argument {position} is not contiguous in memory: pass a copy (`numpy.ascontiguousarray`)", "argument"
            )
        code = view.format.lstrip("@=<") if view.format else "B"
        kind = _LETTERS.get(code)
        # Half precision, complex numbers and structures go as whole numbers of their size or as bytes: kernels see memory.
        fitting = _ELEMENTS.get((kind or "u", view.itemsize))
        # Without the names of a structure's fields.
        letters = re.sub(":[^:]*:", "", view.format or "")
        if any(letter in letters for letter in ">!"):
            raise ArgumentError(f"argument {position} is big-endian", "argument")
        if any(letter in letters for letter in "O&X"):
            raise ArgumentError(f"argument {position} holds objects of Python or addresses", "argument")
        self.element = fitting or "u8"
        self._array = array
        self.view = view
        self.position = position
        self.bytes = view.tobytes(order="A")

    @property
    def span(self) -> tuple[int, int]:
        """Address and end of the memory."""
        if self.view.nbytes == 0 or self.view.readonly:
            return (0, 0)
        start = ctypes.addressof(self._memory())
        return (start, start + self.view.nbytes)

    def _memory(self) -> ctypes.Array[ctypes.c_char]:
        view = self.view
        if not view.c_contiguous:
            # Fortran's order: the bytes lie as they do in the transposed array.
            view = self._array.T.data
        return (ctypes.c_char * view.nbytes).from_buffer(view)

    def put(self, checked: Checked) -> None:
        """Writes what the kernel left."""
        if self.view.nbytes == 0:
            return
        left = checked.buffer(self.position)
        if left == self.bytes:
            return
        if self.view.readonly:
            raise ArgumentError(f"the kernel writes argument {self.position}, which is read-only", "argument")
        ctypes.memmove(self._memory(), left, len(left))


class _HostCopy:
    """What says `__cuda_array_interface__` of memory that the host can read and write, such as a pinned copy."""

    def __init__(self, interface: dict[str, Any]) -> None:
        try:
            (start, readonly), shape, kind = interface["data"], interface["shape"], interface["typestr"]
            strides = interface.get("strides")
            size = math.prod(shape) * int(re.sub(r"\D", "", kind.split("[")[0]) or 0)
        except (KeyError, TypeError, ValueError) as error:
            raise ArgumentError(f"a `__cuda_array_interface__` that is none: {error!r}", "argument") from error
        if strides is not None or not _is_hosts(start, max(size, 1), "r" if readonly else "rw"):
            raise ArgumentError("an array of a GPU's memory: pass a copy in the host's (`.get()`, `.cpu()`)", "argument")
        self.__array_interface__ = {"data": (start, readonly), "shape": shape, "typestr": kind, "version": 3}


def _is_hosts(start: int, size: int, access: str) -> bool:
    """Whether memory is this process's, by what the system says of it."""
    with open("/proc/self/maps") as lines:
        for line in lines:
            words = line.split()
            low, high = (int(end, 16) for end in words[0].split("-"))
            if low <= start and start + size <= high:
                return words[1].startswith(access) and not (len(words) > 5 and words[5].startswith("/dev/"))
    return False


def _view(value: Any) -> tuple[memoryview, Any] | None:
    """The memory of an array, and the array where it is NumPy's; nothing where the value is none."""
    try:
        numpys = sys.modules.get("numpy")
        return memoryview(value), value if numpys and isinstance(value, numpys.ndarray) else None
    except (TypeError, ValueError, BufferError):
        pass
    if hasattr(value, "__cuda_array_interface__") and not hasattr(value, "__array_interface__"):
        value = _HostCopy(value.__cuda_array_interface__)
    if hasattr(value, "__array_interface__"):
        import numpy

        try:
            array = numpy.asarray(value)
            return array.data, array
        except (TypeError, ValueError, BufferError) as error:
            raise ArgumentError(f"an array of a type that has no bytes to pass: {error}", "argument") from error
    if hasattr(value, "__dlpack__"):
        import numpy

        try:
            array = numpy.from_dlpack(value)
            return array.data, array
        except (RuntimeError, BufferError, TypeError) as error:
            raise ArgumentError(f"an array that is not in the host's memory, or of a type that NumPy has not: {error}", "argument") from error
    return None


def _number(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise ArgumentError(f"the number {value:#x} does not fit into 64 bits" if value.bit_length() < 999 else "a number is too large", "argument")
        return str(int(value))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else ("-inf" if value < 0 else "inf") if math.isinf(value) else repr(float(value))
    return None


def _numpy_scalar(value: Any) -> str | None:
    """A scalar of NumPy (an array of no dimensions is an array)."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    dtype = value.dtype
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.byteorder == ">" or dtype.hasobject or dtype.kind in "mMSU":
        raise ArgumentError(f"a scalar of the type {dtype} can't be passed", "argument")
    element = _ELEMENTS.get((dtype.kind, dtype.itemsize))
    number = _number(value.item()) if element else None
    # Half precision, complex numbers and structures by their bytes.
    return f"{number}:{element}" if number else _bytes(value.tobytes())


def _ctypes_scalar(value: Any) -> str | None:
    if isinstance(value, (ctypes.Structure, ctypes.Union)):
        return _bytes(bytes(value))
    if not isinstance(value, ctypes._SimpleCData):
        return None
    code = str(getattr(value, "_type_"))
    if code in "zZO":
        raise ArgumentError(f"a {type(value).__name__} is an address of the host's memory", "argument")
    held = value.value
    if code == "g":
        raise ArgumentError("a long double has no counterpart on a GPU", "argument")
    return _number(held) or _bytes(bytes(value))


def _bytes(data: bytes) -> str:
    """A structure that is passed by value."""
    if len(data) <= 8:
        return str(int.from_bytes(data, "little"))
    return "0x" + data.hex()


def wire(args: Any) -> tuple[list[Wire], list[Buffer]]:
    """Arguments as the native part takes them, and those that are written back.

    Raises `ArgumentError` for what can't be passed.
    """
    out: list[Wire] = []
    buffers: list[Buffer] = []
    for position, value in enumerate(args):
        text = _numpy_scalar(value) or _number(value) or _ctypes_scalar(value)
        if text is None and value is None:
            text = "0"
        if text is None and isinstance(value, str):
            # The notation of `racetrap check --arg`: `i32[1024]:random`.
            text = value
        if text is not None:
            out.append(text)
            continue
        try:
            view = _view(value)
        except ArgumentError as error:
            raise ArgumentError(f"argument {position}: {error}", "argument") from error
        except Exception as error:
            # What an object says of itself is its own code.
            raise ArgumentError(f"argument {position} is a {type(value).__name__} that can't be read: {error!r}", "argument") from error
        if view is None:
            raise ArgumentError(
                f"argument {position} is a {type(value).__name__}: pass a number, an array in the host's memory, a ctypes structure, "
                "or a text as `racetrap check --arg` takes it",
                "argument",
            )
        buffer = Buffer(view[0], position, view[1])
        start, end = buffer.span
        same = next((b for b in buffers if start < b.span[1] and b.span[0] < end), None)
        if same is not None and same.span != (start, end):
            raise ArgumentError(f"arguments {same.position} and {position} overlap in memory", "argument")
        if same is not None:
            out.append(f"&{same.position}")
            continue
        buffers.append(buffer)
        out.append((buffer.element, buffer.bytes) if buffer.bytes else "u8[1]:uninitialized")
    return out, [b for b in buffers if b.bytes]
