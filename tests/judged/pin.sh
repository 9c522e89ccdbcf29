#!/bin/sh
# Renews the PTX that is pinned beside each judged kernel, and beside those of tests/necessity: all that are stale, or those named.
#
#   tests/judged/pin.sh                            with nvcc on the path, or NVCC=/where/bin/nvcc
#   tests/judged/pin.sh tests/judged/buggy/a.cu
#
# The first two lines of a pin tell what it was made from: the flags, and the source's checksum by
# cksum(1), which tests/cli/judged.rs compares.
set -eu
cd "$(dirname "$0")/../.."
nvcc=${NVCC:-nvcc}
flags="-ptx -arch=sm_90 -lineinfo -std=c++17"

[ $# -gt 0 ] || set -- tests/judged/*/*.cu tests/necessity/*.cu
for source; do
    pin=${source%.cu}.ptx
    sum=$(cksum <"$source")
    if [ -f "$pin" ] && [ "$(sed -n 2p "$pin")" = "// source $sum" ]; then
        continue
    fi
    echo "$pin"
    "$nvcc" $flags -o "$pin.new" "$source"
    {
        echo "// nvcc $flags"
        echo "// source $sum"
        # File names that do not depend on the machine.
        sed -E -e "/\.file/s|\"$PWD/|\"|" -e '/\.file/s|"/[^"]*/include/|"cuda/include/|' \
            -e '/^[[:space:]]*\.file/s|"(, [0-9]+)+$|"|' "$pin.new"
    } >"$pin"
    rm "$pin.new"
done
