"""Draws keys through the C library by ctypes: no build step.

    python3 keys.py [COUNT] [LIBRARY]

LIBRARY defaults to libownpool.so.0, found as the loader finds it.
"""

import ctypes
import os
import sys


class Stats(ctypes.Structure):
    """struct ownpool_stats of ownpool.h."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "threads_moved", "kernel_calls", "kernel_bytes", "private_calls", "private_bytes",
            "would_move_threads", "would_move_calls", "would_move_bytes", "refills", "reseeds",
        )
    ]


def load(path="libownpool.so.0"):
    library = ctypes.CDLL(path, use_errno=True)
    library.ownpool_fill.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.ownpool_uniform.argtypes = [ctypes.c_uint32]
    library.ownpool_uniform.restype = ctypes.c_uint32
    library.ownpool_stats.argtypes = [ctypes.POINTER(Stats), ctypes.c_size_t]
    library.ownpool_version.restype = ctypes.c_char_p
    return library


def key(library, length=32):
    buffer = ctypes.create_string_buffer(length)
    if library.ownpool_fill(buffer, length) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return buffer.raw


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    library = load(*sys.argv[2:3])
    for _ in range(count):
        print(key(library).hex(), library.ownpool_uniform(100))
    stats = Stats()
    if library.ownpool_stats(ctypes.byref(stats), ctypes.sizeof(stats)) != 0:
        raise OSError(ctypes.get_errno(), "ownpool_stats")
    print(f"{library.ownpool_version().decode()}: {stats.private_calls} private requests,"
          f" {stats.private_bytes} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
