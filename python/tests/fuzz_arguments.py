"""Random arguments for `racetrap.check`: each is converted or refused with an `ArgumentError`, and whatever is passed to a kernel ends in a
report or a `racetrap.Error`. Nothing else is raised, and nothing crashes.

    python fuzz_arguments.py SECONDS [SEED]      SECONDS: of processor time
"""

import array
import ctypes
import decimal
import enum
import faulthandler
import fractions
import random
import sys
import time

import numpy as np
import racetrap
from racetrap._arguments import wire

PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry f(.param .u64 a, .param .u64 b, .param .align 8 .b8 c[16]) {
    .reg .b64 %a; .reg .b32 %t;
    ld.param.u64 %a, [a]; ld.param.u32 %t, [c];
    st.global.u8 [%a], %t;
    ret;
}
"""

TYPES = [*"?bBhHiIlLqQefdgFDGmMOSUV", ">i4", "<i4", ">f8", "=u2", "S3", "U2", "V7", "M8[ns]", [("a", "i1"), ("O", "f8")], [("a", "O")], [("x", ">i2")]]
TYPES += [np.dtype({"names": ["a", "b"], "formats": ["i4", "f8"], "offsets": [4, 16], "itemsize": 32}), np.dtype(("i4", (2, 3)))]
SIMPLE = [getattr(ctypes, name) for name in dir(ctypes) if name.startswith("c_") and isinstance(getattr(ctypes, name), type)]


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_double)]


class Odd(ctypes.BigEndianStructure):
    _fields_ = [("a", ctypes.c_int)]


class Bits(ctypes.Union):
    _fields_ = [("a", ctypes.c_uint8 * 3), ("b", ctypes.c_uint16)]


class Color(enum.IntEnum):
    RED = 7


class Says:
    """Says something of itself that need not be true."""

    def __init__(self, **names):
        self.__dict__.update(names)


class Raises:
    def __init__(self, error):
        self._error = error

    def __getattr__(self, name):
        if name.startswith("__") and name not in ("__array_interface__", "__cuda_array_interface__", "__dlpack__"):
            raise AttributeError(name)
        raise self._error(name)


def an_array(draw):
    shape = tuple(draw.choice([0, 1, 2, 3, 7]) for _ in range(draw.randrange(4)))
    try:
        value = np.zeros(shape, draw.choice(TYPES), order=draw.choice("CF"))
    except TypeError:
        return None
    if value.ndim and draw.random() < 0.3:
        value = value[:: draw.choice([-1, 2, 1])]
    if draw.random() < 0.2:
        value = value.T
    if draw.random() < 0.1:
        value = np.broadcast_to(value, (2, *value.shape))
    if draw.random() < 0.1 and value.dtype.itemsize and value.flags.c_contiguous and not value.dtype.hasobject:
        value = np.frombuffer(b"\1" + bytes(value.nbytes), np.uint8)[1:]
    if draw.random() < 0.2:
        value.flags.writeable = False
    return value


def a_number(draw):
    return draw.choice(
        [
            draw.randrange(-(1 << draw.choice([3, 31, 63, 64, 200])), 1 << draw.choice([3, 31, 63, 64, 20000])),
            draw.choice([float("nan"), float("inf"), -0.0, 5e-324, 1.7e308, draw.random()]),
            draw.random() < 0.5,
            complex(1, 2),
            decimal.Decimal("1.5"),
            fractions.Fraction(1, 3),
            Color.RED,
        ]
    )


def a_ctypes_value(draw):
    kind = draw.choice([*SIMPLE, Pair, Odd, Bits])
    wrap = draw.randrange(6)
    try:
        if wrap == 0:
            return (kind * draw.randrange(4))()
        if wrap == 1:
            return ctypes.pointer(kind())
        if wrap == 2:
            return ctypes.byref(kind())
        return kind()
    except TypeError:
        return None


def a_buffer(draw):
    data = bytes(draw.randrange(256) for _ in range(draw.choice([0, 1, 8, 12])))
    return draw.choice(
        [data, bytearray(data), memoryview(data), memoryview(bytearray(data))[::2], array.array(draw.choice("bBuhHiIlLqQfd")), array.array("i", [1, 2])]
    )


def what_speaks_of_itself(draw):
    held = np.arange(4, dtype=draw.choice(["i4", "f4", "u1"]))
    true = dict(held.__array_interface__)
    false = {**true, draw.choice(list(true)): draw.choice([None, -1, (), "x", (1 << 63, False), (1 << 70,), {}])}
    wild = {**true, "data": (draw.randrange(1 << 48), False), "shape": (draw.choice([1, 1 << 20, 1 << 50]),), "strides": None}
    keep = {"held": held}
    return draw.choice(
        [
            Says(__array_interface__=true, **keep),
            Says(__cuda_array_interface__=true, **keep),
            Says(__cuda_array_interface__=false, **keep),
            Says(__cuda_array_interface__=wild, **keep),
            Says(__cuda_array_interface__=draw.choice([None, 5, {}])),
            Says(__dlpack__=held.__dlpack__, __dlpack_device__=held.__dlpack_device__, **keep),
            Says(__dlpack__=lambda **_: draw.choice([None, 5]), __dlpack_device__=lambda: (draw.choice([1, 2, 99]), 0)),
            Says(__array_interface__={"shape": (1,), "typestr": draw.choice(["<i4", "|O", "??"])}),
            Raises(draw.choice([RuntimeError, ValueError, KeyError, TypeError])),
        ]
    )


def anything(draw):
    kinds = [an_array, an_array, a_number, a_ctypes_value, a_buffer, what_speaks_of_itself]
    value = draw.choice(kinds)(draw)
    others = [None, "", "i32[4]:iota", "5", "&0", "&9", "x=5", "\0", "i32[", "i32[999999999999]", "f32[2]:1,2", object(), type, [1], {}, np.float16(1), np.bool_(True), np.complex64(1), np.datetime64(1, "s"), np.str_("5")]
    return draw.choice(others) if draw.random() < 0.1 else value


def main(seconds, seed):
    faulthandler.enable()
    until, draw, tries, refused, ran = time.process_time() + seconds, random.Random(seed), 0, 0, 0
    np.seterr(all="ignore")
    while time.process_time() < until:
        state = draw.getstate()
        values = [anything(draw) for _ in range(draw.randrange(5))]
        if values and draw.random() < 0.2:
            values.append(values[0])
        tries += 1
        try:
            try:
                wired, buffers = wire(values)
                assert len(wired) == len(values) and all(len(b.bytes) == b.view.nbytes for b in buffers)
            except racetrap.ArgumentError:
                refused += 1
                continue
            if tries % 20 == 0:
                ran += 1
                try:
                    racetrap.check(PTX, grid=1, block=1, args=values, max_steps=100, schedules=1, timeout=5)
                except racetrap.Error:
                    pass
        except BaseException:
            print(f"seed {seed}, try {tries}: {[(type(v), repr(v)[:80]) for v in values]}", state[1][-1], file=sys.stderr)
            raise
    print(f"{tries} lists of arguments, {refused} refused, {ran} passed to a kernel, in {seconds:g} s of processor time, seed {seed}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
